#pragma once
#include <atomic>
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
#include "sluice/runtime/packet_socket.hpp"
#include "sluice/runtime/plan_cache.hpp"
#include "sluice/runtime/protocol.hpp"
#include "sluice/runtime/rules.hpp"
#include "sluice/runtime/segment_cache.hpp"
#include "sluice/runtime/step_logs.hpp"
#include "sluice/runtime/wire.hpp"
#include "sluice/runtime/write_log.hpp"

namespace sluice::runtime {

/// This process's line to its matcher: connections (made when they are needed, one exchange at a time on
/// each), mapped segments, and what is known of the steps that are open. Any threads. It starts no thread,
/// installs no signal handler, prints nothing, and nothing is sent by its destructor.
///
/// All functions that talk throw Error: what the matcher answered, or NC_EIO when the connection is lost
/// (then every later call fails at once), the versions differ, or the process is a forked child of the one
/// that made the session (it makes its own). What fails in this process alone, because it has no descriptor
/// or no memory left or asks for too much in one message, is the error of that call, before anything was sent
/// or after everything was received: the next call finds all as it was.
class Session : public SegmentSource {
 public:
  explicit Session(const ClientEnvironment& environment);
  ~Session() override;

  /// Makes sure that there is a connection.
  void connect();
  /// The node of this process's matcher; known when it is connected.
  [[nodiscard]] std::uint32_t node() const noexcept { return node_; }

  /// Sends a request and waits for its answer, however long that takes, asleep.
  [[nodiscard]] Created create(const Create& request);
  [[nodiscard]] Opened open(const Open& request, bool for_writing);
  [[nodiscard]] Described inquire(const Inquire& request);
  [[nodiscard]] Plans get(const Get& request);
  /// The same where the matcher may hold the answer back until somebody has put what is asked for.
  [[nodiscard]] Plans get_when_put(const Get& request);
  /// Tells the header, if there is one, and asks for segments before anything is put into them, all at once.
  /// None: the matcher has no memory to spare.
  [[nodiscard]] std::vector<std::optional<WritableSegment>> prepare(const HeaderUpdate* header,
                                                                    std::span<const NeedSegment> segments);
  void sync(const Sync& request);
  void remove(const Remove& request);
  [[nodiscard]] WritableSegment need_segment(const NeedSegment& request) override;

  /// Returns when some of the disk has been given back since, or may have been. Throws Error(NC_ENO_SPACE)
  /// when nobody can give any.
  [[nodiscard]] Room await_room(const AwaitRoom& request);

  /// Without an answer.
  void announce_put(const PutNotice& notice);
  void publish(const Publish& request);
  void discard(const Discard& request);
  void close_read(const CloseRead& request);
  /// Tells of a file that is none of the matcher's: once for each rule, and of some that no rule covers.
  void tell_of(const OrdinaryFile& file);

  [[nodiscard]] SegmentCache& segments() noexcept { return segments_; }
  [[nodiscard]] PlanCache& plans() noexcept { return plans_; }
  /// Where the step's logs are; lives as long as someone holds it (shared by all that have the step open in
  /// this process).
  [[nodiscard]] std::shared_ptr<StepLogs> step_logs(std::uint64_t step);

  /// Steps that are alike: of one rule, with the same variables (none: reopened, and not defined anew).
  struct StepKind {
    std::uint32_t rule = 0;
    matcher::Fingerprint structure;  ///< matcher::structure_of the header
    auto operator<=>(const StepKind&) const = default;
  };
  /// What this process put in the last step of that kind: the next one asks for as much at once. None: it is
  /// the first.
  [[nodiscard]] std::optional<LogSize> expected_size(const StepKind& kind) const;
  void remember_size(const StepKind& kind, LogSize size);

  /// A write log that was published, for the next step of the dataset, should the same processes write it.
  struct KeptLog {
    std::uint64_t step = 0;
    std::uint32_t rank = 0;  ///< this process's in the group
    std::uint32_t size = 0;
    std::unique_ptr<WriteLog> log;
  };
  void keep_log(const DatasetKey& key, KeptLog log);
  /// The step whose log was kept, if the process had that place in a group of that size; 0: none.
  [[nodiscard]] std::uint64_t kept_log_of(const DatasetKey& key, const Member& member) const;
  /// It is kept no longer. Null: there is none.
  [[nodiscard]] std::unique_ptr<WriteLog> take_log(const DatasetKey& key);

  /// The names that a directory had when this process first asked, as `list` gives them. Where a run puts
  /// many files, they are not gone through with each of them.
  [[nodiscard]] const std::vector<std::string>& first_listing(
      const std::string& directory, const std::function<std::vector<std::string>()>& list);

  /// True in a forked child.
  [[nodiscard]] bool is_foreign() const noexcept { return fork_guard_.is_child(); }
  /// Whether the matcher is still there, as far as is known without waiting.
  [[nodiscard]] bool is_alive();

 private:
  struct Connection {
    PacketSocket socket;
    bool is_clean = true;  ///< nothing is on its way
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
  /// Made before a connection is taken: what goes wrong with it is no concern of the connection.
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
  [[nodiscard]] std::vector<ReceivedMessage> exchange(std::vector<Question> questions);
  [[nodiscard]] std::vector<ReceivedMessage> exchange_on(Connection& connection, const Packet& packet);
  void send_on(Connection& connection, const OutgoingMessage& message);
  [[nodiscard]] std::optional<ReceivedMessage> receive_on(Connection& connection, const Packet& packet,
                                                          DescriptorReserve* reserve);
  [[nodiscard]] SegmentGrant take_grant(ReceivedMessage& answer);
  [[nodiscard]] WritableSegment writable_segment(const NeedSegment& request, const SegmentGrant& grant);
  [[nodiscard]] std::optional<SegmentGrant> take_owed(const NeedSegment& request);
  void forget_owed(std::uint64_t step);
  void post(MessageType type, std::vector<std::byte> fields);
  [[nodiscard]] bool take_notice(ReceivedMessage& message);
  void store_segment(ReceivedMessage& message, const SegmentGrant& grant);
  void expect_usable() const;
  [[noreturn]] void lose(const std::string& reason);

  static constexpr std::size_t plan_cache_bytes = std::size_t{64} << 20;

  const std::string socket_path_;
  const std::string component_;
  const std::uint64_t process_token_;
  const ForkGuard fork_guard_;
  std::atomic<bool> is_lost_ = false;
  std::atomic<std::uint32_t> node_ = 0;
  std::atomic<std::uint32_t> last_tag_ = 0;
  SegmentCache segments_;
  PlanCache plans_{plan_cache_bytes};
  mutable std::mutex mutex_;                                        ///< of what follows
  std::map<std::string, std::vector<std::string>> first_listings_;  ///< by directory; never changed
  std::string lost_reason_;
  std::vector<std::unique_ptr<Connection>> idle_;  ///< the one that was used last is at the end
  int first_thread_ = 0;                           ///< that made a call which may wait
  bool is_used_by_several_threads_ = false;
  std::map<std::uint64_t, std::weak_ptr<StepLogs>> step_logs_;
  std::map<StepKind, LogSize> expected_sizes_;
  std::set<std::tuple<std::uint32_t, bool, std::string>> told_files_;  ///< rule, whether written, path
  /// What was granted and could not be mapped: the next that is needed for the same.
  struct OwedUse {
    std::uint64_t step = 0;
    SegmentUse use{};
    auto operator<=>(const OwedUse&) const = default;
  };
  std::multimap<OwedUse, SegmentGrant> owed_;
  std::map<DatasetKey, KeptLog> kept_logs_;
};

/// A number that nobody else draws: a process token, a group's id.
[[nodiscard]] std::uint64_t random_number();

}  // namespace sluice::runtime
