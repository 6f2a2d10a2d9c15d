#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "sluice/runtime/fork_guard.hpp"
#include "sluice/runtime/handshake.hpp"
#include "sluice/runtime/log_range_map.hpp"
#include "sluice/runtime/offer_page.hpp"
#include "sluice/runtime/packet_socket.hpp"
#include "sluice/runtime/plan_cache.hpp"
#include "sluice/runtime/protocol.hpp"
#include "sluice/runtime/rules.hpp"
#include "sluice/runtime/segment_cache.hpp"
#include "sluice/runtime/wire.hpp"
#include "sluice/runtime/write_log.hpp"

namespace sluice::runtime {

/// The link of this process to its matcher: connections, mapped segments, and the state of the open steps.
/// Connections are made on demand, and each carries one exchange at a time. Any threads. A session starts no
/// thread, installs no signal handler and prints nothing. Its destructor sends nothing.
///
/// All functions that communicate throw Error with the matcher's answer, or NC_EIO. NC_EIO means that the
/// connection is lost (then every later call fails at once), or that the versions differ. It also means that
/// the process is a forked child of the session's process; a child makes a session of its own. A failure in
/// this process alone concerns only that call: no descriptor or memory is left, or one message is too large.
/// Nothing was sent then, or everything was received, so the next call finds the session unchanged.
class Session : public SegmentSource {
 public:
  /// `process_token`: that of the process's other connections, which make one process with these; 0: none.
  explicit Session(const ClientEnvironment& environment, std::uint64_t process_token = 0);
  ~Session() override;

  /// Makes a connection unless there is one.
  void connect();
  /// The node of this process's matcher; known after connect().
  [[nodiscard]] std::uint32_t node() const noexcept { return node_; }

  /// To create, read, write or describe. Sleeps until the answer comes, however long that takes.
  [[nodiscard]] Opened open(const Open& request);
  [[nodiscard]] Plans get(const Get& request);
  /// To read bytes: the step is open until the answer.
  [[nodiscard]] FileImage image(Open request);
  /// As get(), but the matcher may hold the answer back until other processes have put the requested data.
  [[nodiscard]] Plans get_when_put(const Get& request);
  /// Sends the header, if there is one, and requests segments before the first put, all in one message. An
  /// element is empty when the matcher has no memory to spare.
  [[nodiscard]] std::vector<std::optional<WritableSegment>> prepare(const HeaderRequest* header,
                                                                    std::span<const SegmentRequest> segments);
  void sync(const SyncRequest& request);
  void remove(const DatasetKey& key, const std::string& path = {});
  [[nodiscard]] WritableSegment need_segment(const SegmentRequest& request) override;

  /// Waits until disk space has been returned, or may have been. Returns Done::given_back. Throws
  /// Error(NC_ENO_SPACE) when no process can free any.
  [[nodiscard]] std::uint64_t await_disk(const DiskRequest& request);

  /// An exchange of libsluice_files about a file that this process writes or changes by the C library:
  /// open_file, an open that opens nothing, file_holders. The last has no answer.
  [[nodiscard]] ReceivedMessage ask_about_file(MessageType type, std::vector<std::byte> fields);

  /// Has no answer.
  void announce_put(const PutNotice& notice);
  /// Has no answer.
  void tell_of_log(const LogNotice& notice);
  /// Has no answer.
  void close(const Close& close);
  // Steps that the registry offers ahead: session_offers.cpp, docs/design/offers.md.

  /// An offered step. Its segments are mapped.
  struct Offer {
    std::shared_ptr<const Mapping> page;  ///< shared with the cache of segments
    std::uint32_t slot = 0;
    std::uint32_t rank = 0;
    std::uint64_t step = 0;
    std::uint64_t control = 0;
    std::optional<WritableSegment> table, data;
    bool has_sent_header = false;  ///< by a message, so that the mail does not have the last one
  };
  /// The next step that is offered to this process as a rank of such a group. Empty when there is none.
  [[nodiscard]] std::optional<Offer> find_offer(std::uint32_t rule, const Member& member) noexcept;
  /// Rank 0: creates the step, if it is still offered. After this call, whatever a process asks the matcher
  /// comes after the create. Returns false when the group has to send open.
  [[nodiscard]] bool take_offer(const Offer& offer, const Open& request) noexcept;
  /// Rank 0, of a step that was taken: the header, in the same way. Returns false when it has to be sent.
  [[nodiscard]] bool post_header(Offer& offer, const HeaderRequest& request) const;
  /// As close(), of a step that was taken. Only the last process of the group sends a message, if somebody
  /// waits or few offers are left.
  void close(const Offer& offer, const PublishRequest& request);

  // Reads that the registry offers ahead: session_reads.cpp, docs/design/offers.md.

  /// The read of a step that its writers have completed.
  struct Read {
    std::shared_ptr<const Mapping> page, written;  ///< shared with the cache of segments
    std::uint64_t page_id = 0;
    std::uint32_t slot = 0;
    std::uint32_t rank = 0;
    std::uint64_t step = 0;
    Opened opened = {};  ///< what the answer to the open would be
  };
  /// The read of the newest step of that name, if it is offered to this process as a rank of such a group.
  /// Waits for the step, for a millisecond at most. Empty when the group has to send open.
  [[nodiscard]] std::optional<Read> find_read(const DatasetKey& key, const Member& member) noexcept;
  /// The group has sent open and got the step: was it worth while to look for it before?
  void note_asked(std::uint32_t rule, const Member& member, std::uint64_t step) noexcept;
  /// Rank 0: opens the step for the group, if its read is still offered. Before, what was found means
  /// nothing. Returns false when the group has to send open.
  [[nodiscard]] bool take_read(const Read& read, const Open& request) noexcept;
  /// The same of a read that was taken. Only the last process of the group sends a message, if
  /// somebody waits.
  void close(const Read& read, const ReadEnd& request);

  /// Waits until the registry has taken the messages that this thread has sent.
  void await_taken();
  /// Reports an ordinary file: once for each rule, and only some files that no rule covers.
  void tell_of(const OrdinaryFile& file);
  /// Processes usually make a collective call within this time of each other.
  static constexpr std::chrono::milliseconds time_until_told{2000};
  /// Reports that this process waits in a collective call for others, until the returned object is destroyed.
  class GatheringNotice;
  [[nodiscard]] std::unique_ptr<GatheringNotice> tell_of(Gathering gathering);

  /// Has no answer.
  void complain(const Complaint& complaint) { post(MessageType::note, encode(Note{complaint})); }
  /// Tells people who watch the run of a large copy, from its construction to its destruction.
  class ReportedCopy;

  [[nodiscard]] SegmentCache& segments() noexcept { return segments_; }
  [[nodiscard]] PlanCache& plans() noexcept { return plans_; }
  /// The most threads by which this process may copy the data of a get.
  [[nodiscard]] int copy_threads() const noexcept { return copy_threads_; }
  /// The positions of the step's log data. All users that have the step open in this process share the map;
  /// it lives as long as one of them holds it. The map contains the ranges from get() and open() when these
  /// return.
  [[nodiscard]] std::shared_ptr<LogRangeMap> step_logs(std::uint64_t step);

  /// Steps that are alike: of one rule, with the same variables. Without variables: reopened, and not defined
  /// anew.
  struct StepKind {
    std::uint32_t rule = 0;
    matcher::Fingerprint structure;  ///< matcher::structure_of the header
    auto operator<=>(const StepKind&) const = default;
  };
  /// The bytes that this process put in the last step of that kind. The next step requests as much at once.
  /// Empty for the first step.
  [[nodiscard]] std::optional<LogSize> expected_size(const StepKind& kind) const;
  void remember_size(const StepKind& kind, LogSize size);

  /// A published write log, kept for the next step of the dataset if the same processes write it.
  struct KeptLog {
    std::uint64_t step = 0;
    std::uint32_t rank = 0;  ///< the rank of this process in the group
    std::uint32_t size = 0;
    std::unique_ptr<SegmentSource> source;  ///< the log's source; null: the session
    std::unique_ptr<WriteLog> log;
  };
  void keep_log(const DatasetKey& key, KeptLog log);
  /// Takes the log out of the cache. Its step is 0 when none was kept, or when this process had another rank
  /// or a group of another size.
  [[nodiscard]] KeptLog take_log(const DatasetKey& key, const Member& member);

  /// The names in a directory when this process first asked, as returned by `list`. A run that puts many
  /// files does not list the directory for each of them.
  [[nodiscard]] const std::vector<std::string>& first_listing(
      const std::string& directory, const std::function<std::vector<std::string>()>& list);

  /// True in a forked child.
  [[nodiscard]] bool is_forked_child() const noexcept { return fork_guard_.is_child(); }
  /// The descriptor of a connection that nobody uses now, which stays the session's; -1: there is none.
  [[nodiscard]] int idle_connection();
  /// Whether the matcher still ran some milliseconds ago, as far as is known without waiting.
  [[nodiscard]] bool is_alive();
  /// The id of a group that makes a call together; no other process draws it. Positive, for reductions.
  [[nodiscard]] std::uint64_t new_group() noexcept { return (next_group_ += 2) >> 1; }

 private:
  struct Connection {
    PacketSocket socket;
    bool is_clean = true;  ///< no message is under way
  };
  struct Question {
    MessageType type;
    std::vector<std::byte> fields;
    MessageType expected;  ///< or `error`
  };
  struct ExpectedAnswer {
    MessageType question;
    MessageType answer;  ///< or `error`
    std::uint32_t tag = 0;
  };
  /// A packet is made before a connection is taken, so its errors do not affect the connection.
  struct Packet {
    OutgoingMessage message;
    std::vector<ExpectedAnswer> answers;
  };
  class Lease;

  [[nodiscard]] std::unique_ptr<Connection> take_connection();
  [[nodiscard]] std::unique_ptr<Connection> make_connection();
  void return_connection(std::unique_ptr<Connection> connection);
  [[nodiscard]] std::uint32_t new_tag() noexcept;
  [[nodiscard]] Packet packet_of(std::vector<Question> questions);
  void keep_another_connection();
  [[nodiscard]] ReceivedMessage exchange(MessageType type, std::vector<std::byte> fields,
                                         MessageType expected);
  void exchange(MessageType type, std::vector<std::byte> fields, MessageType expected,
                const std::function<void(const ReceivedMessage&)>& take);
  [[nodiscard]] std::vector<ReceivedMessage> exchange(std::vector<Question> questions);
  [[nodiscard]] std::vector<ReceivedMessage> exchange_on(Connection& connection, const Packet& packet);
  void send_on(Connection& connection, const OutgoingMessage& message);
  [[nodiscard]] std::optional<ReceivedMessage> receive_on(Connection& connection, const Packet& packet,
                                                          DescriptorReserve* reserve);
  [[nodiscard]] SegmentGrant take_grant(ReceivedMessage& answer);
  [[nodiscard]] WritableSegment map_segment(std::uint64_t segment);
  [[nodiscard]] WritableSegment writable_segment(const SegmentRequest& request, const SegmentGrant& grant);
  [[nodiscard]] std::optional<SegmentGrant> take_owed(const SegmentRequest& request);
  void forget_owed(std::uint64_t step);
  void note_ranges(std::uint64_t step, std::span<const LogRange> ranges);
  void note_opened(const Opened& opened);
  void forget_opened(std::uint64_t step);
  void post(MessageType type, std::vector<std::byte> fields);
  /// Unless somebody has told, and the registry has not looked since.
  void tell_of_mail(OfferPage::Bell& bell) {
    if (bell.is_called.exchange(1) == 0) post(MessageType::batch, encode(Batch{}));
  }
  [[nodiscard]] bool take_notice(ReceivedMessage& message);
  void store_segment(ReceivedMessage& message, const SegmentGrant& grant);
  void read_notices();
  static constexpr std::int64_t longest_look_us = 1000;
  [[nodiscard]] std::optional<OffersNotice> reads_of(std::uint32_t rule, const Member& member);
  [[nodiscard]] bool look_for(const DatasetKey& key, const OfferPage& reads, const OfferPage& writes,
                              Read& read);
  [[nodiscard]] std::optional<std::chrono::microseconds> time_to_look(const DatasetKey& key,
                                                                      const OfferPage& reads,
                                                                      const OfferPage& writes, Read& read);
  /// The dataset of the step in a slot of a writers' page.
  struct KnownKey {
    std::uint64_t step = 0;
    DatasetKey key = {};
  };
  [[nodiscard]] static const DatasetKey& key_of(const OfferPage& writes, std::uint32_t slot,
                                                std::uint64_t step, KnownKey& known);
  [[nodiscard]] bool copy_opened(const OfferPage& writes, std::uint32_t slot, Read& read);
  void keep_known(std::vector<LogRange>& ranges);
  void expect_usable() const;
  [[noreturn]] void lose(const std::string& reason);

  static constexpr std::size_t plan_cache_bytes = std::size_t{64} << 20;

  const std::string socket_path_;
  const std::string component_;
  const std::uint64_t process_token_;
  const int copy_threads_;
  const ForkGuard fork_guard_;
  std::atomic<bool> is_lost_ = false;
  std::atomic<std::uint32_t> node_ = 0;
  std::atomic<std::uint32_t> last_tag_ = 0;
  std::atomic<std::uint64_t> last_copy_ = 0;
  std::atomic<std::uint64_t> next_group_;
  SegmentCache segments_;
  PlanCache plans_{plan_cache_bytes};
  mutable std::mutex mutex_;                                        ///< protects the following members
  std::map<std::string, std::vector<std::string>> first_listings_;  ///< by directory; never changed
  std::string lost_reason_;
  std::vector<std::unique_ptr<Connection>> idle_;  ///< the last used connection is at the end
  int first_thread_ = 0;                           ///< the thread that made a call that may wait
  bool is_used_by_several_threads_ = false;
  std::map<std::uint64_t, std::weak_ptr<LogRangeMap>> step_logs_;
  std::size_t most_step_logs_ = 16;  ///< then those that nobody uses are dropped
  /// Maps of steps that received ranges when they were opened, until the first close; shared with the users
  /// that have the steps open.
  std::map<std::uint64_t, std::shared_ptr<LogRangeMap>> opened_logs_;
  std::map<StepKind, LogSize> expected_sizes_;
  std::set<std::tuple<std::uint32_t, bool, std::string>> reported_files_;  ///< rule, whether written, path
  /// A granted segment that could not be mapped. The next request for the same use gets it.
  struct OwedUse {
    std::uint64_t step = 0;
    SegmentUse use{};
    auto operator<=>(const OwedUse&) const = default;
  };
  std::multimap<OwedUse, SegmentGrant> owed_;
  std::map<DatasetKey, KeptLog> kept_logs_;
  std::vector<OffersNotice> offers_;
  std::atomic<bool> may_ask_for_offers_ = true;  ///< the last question has brought some
  std::mutex taking_;                            ///< one thread at a time takes an offer or a read
  std::map<std::uint64_t, std::vector<KnownKey>> known_keys_;  ///< by readers' page and slot
  std::atomic<std::int64_t> look_time_us_ = longest_look_us;
  std::atomic<bool> are_steps_small_ = true;  ///< the last step came at once
  std::int64_t looks_again_ms_ = 0;           ///< whether the matcher is alive
};

/// Wakes the readers that sleep at the page.
void ring(OfferPage::Bell& bell) noexcept;

/// Has a connection of its own, so the end is never received before the begin. The matcher therefore knows
/// that the process may act, whatever its other threads wait for.
class Session::GatheringNotice {
 public:
  GatheringNotice(Session& session, Gathering gathering);
  ~GatheringNotice();
  GatheringNotice(const GatheringNotice&) = delete;
  GatheringNotice& operator=(const GatheringNotice&) = delete;

 private:
  void send();

  Session& session_;
  Gathering gathering_;
  const std::unique_ptr<Lease> connection_;
};

/// A large copy that goes on. What cannot be sent is not told, and the copy goes on.
class Session::ReportedCopy {
 public:
  ReportedCopy(Session& session, std::uint64_t step, bool is_put) noexcept;
  ~ReportedCopy() { tell(true); }
  ReportedCopy(const ReportedCopy&) = delete;
  ReportedCopy& operator=(const ReportedCopy&) = delete;

 private:
  void tell(bool is_over) noexcept;

  Session& session_;
  CopyNotice notice_;
};

/// A random number that no other caller gets: a process token, or a group's id.
[[nodiscard]] std::uint64_t random_number();

}  // namespace sluice::runtime
