#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "doorbell.hpp"
#include "drain_worker.hpp"
#include "get_answer.hpp"
#include "known_steps.hpp"
#include "landing_patterns.hpp"
#include "local_processes.hpp"
#include "match_exchange.hpp"
#include "neighbour_segments.hpp"
#include "node_exchange.hpp"
#include "registry_desk.hpp"
#include "relay_tree.hpp"
#include "segment_store.hpp"
#include "sluice/runtime/matcher_rank.hpp"
#include "used_logs.hpp"
#include "watched_socket.hpp"

namespace sluice::runtime {

/// What is behind MatcherRank: connections of clients, and the way between them and the registry, which is
/// here (matcher 0) or at the other end of the tree of relays. matcher_rank.cpp: the loop and the
/// coordinator; client_connections.cpp: connections; client_requests.cpp: what clients ask, and their gets;
/// held_gets.cpp: gets that wait for puts; drains.cpp: steps that become files; shared_gets.cpp: gets where
/// there are other matchers; registry_items.cpp: what the registry says.
class MatcherRank::Server final {
 public:
  explicit Server(MatcherRankOptions options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  void run();

 private:
  using ClientId = std::uint64_t;

  /// A connection of a client process.
  struct Client {
    ClientId id = 0;
    std::unique_ptr<WatchedSocket> socket;
    LocalProcess* process = nullptr;                        ///< after hello
    std::string end_reason;                                 ///< it is to be closed
    std::unordered_set<matcher::SegmentId> known_segments;  ///< that were named on this connection
    std::unordered_set<std::uint64_t> known_files;          ///< whose descriptors went over it
    std::vector<matcher::SegmentId> dropped_segments;  ///< of those, the ones it has not been told to drop
    std::unordered_map<matcher::StepId, ToldRanges> told;
    bool is_known_to_registry = false;  ///< for sure: it has been answered by it

    [[nodiscard]] std::string name() const;
    [[nodiscard]] const std::string& trouble() const {
      return end_reason.empty() ? socket->trouble() : end_reason;
    }
  };
  /// A get that may have to wait for puts.
  struct WaitingGet {
    ClientId client = 0;
    std::uint32_t tag = 0;
    Get request;
    bool is_held = false;  ///< the registry knows that it waits for puts
  };

  // matcher_rank.cpp
  void run_with_link();
  void watch_bell();
  bool turn_link();
  void leave_link();
  void on_coordinator();
  void handle_coordinator(const ReceivedMessage& message);
  void start_registry(const ReceivedMessage& message);
  void tell_ready(std::uint32_t tag);
  void take_for_registry(const RelayItem& item);
  void start_round(Round round, const std::string& text, std::function<void()> when_done,
                   std::uint64_t wanted_bytes = 0);
  void finish_round(std::uint64_t round);
  void shut_down(std::function<void()> when_done);
  enum class Interest { notice, detail };  ///< for whom an event is
  void event(const std::string& text, Interest interest = Interest::notice);
  [[nodiscard]] MatcherStatus counters() const;

  // client_connections.cpp
  void watch_listener();
  void accept_clients();
  void turn_away();
  void add_client(PacketSocket socket);
  void on_client(ClientId id);
  void drain(ClientId id, std::size_t max_messages);
  void drain_component(const std::string& component);
  enum class EndKind { told, untold };  ///< whether the registry is to hear of it
  void end_client(ClientId id, const std::string& trouble, EndKind kind = EndKind::told);
  void end_troubled_clients();
  [[nodiscard]] std::vector<ClientId> client_ids() const;
  [[nodiscard]] Client* find(ClientId id);

  // client_requests.cpp
  void handle_client(Client& client, ReceivedMessage& message);
  void greet(Client& client, const ReceivedMessage& message);
  void pass_on(Client& client, ReceivedMessage& message);
  void note_close(Client& client, const ReceivedMessage& message);
  void begin_get(Client& client, std::uint32_t tag, Get request);
  void continue_get(WaitingGet waiting);
  void with_view(std::uint64_t step, ClientId connection, ViewReceiver receiver);
  [[nodiscard]] std::uint32_t new_query() noexcept;
  void answer_get_of(Client& client, WaitingGet& waiting);
  void send(Client& client, MessageType type, std::uint32_t tag, std::vector<std::byte> fields);
  void send_error(Client& client, std::uint32_t tag, int status, const std::string& text);
  void send_segment(Client& client, std::uint32_t tag, matcher::SegmentId segment);
  void introduce_segment(Client& client, matcher::SegmentId segment);
  void send_grant(Client& client, std::uint32_t tag, matcher::SegmentId segment);
  void announce_drops(Client& client);
  void collect_destroyed_segments();
  void lend_to_neighbour(Client& client, matcher::SegmentId segment);
  void serve_waiting_neighbours(matcher::SegmentId segment);

  // shared_gets.cpp
  void start_exchange();
  void take_exchange_packet(std::uint32_t from, std::span<const std::byte> packet);
  void begin_shared_get(WaitingGet waiting);
  void land_shared_get(ClientId id, std::uint32_t tag, MatchedGet matched);
  void with_known_connection(ClientId id, matcher::StepId step, std::function<void()> then);
  void hold_shared_get(WaitingGet waiting, int varid);
  void with_growing_ranges(const StepViewPointer& view, std::function<void()> then);
  void answer_shared_get(ClientId id, std::uint32_t tag, const MatchedGet& matched,
                         const std::vector<LandingPart>& landed);
  void lease_landing(const NodeExchange::LeaseRequest& request, NodeExchange::LeaseReceiver receiver);
  void take_lease(const RelayItem& item);
  void fetch_ahead(KnownStep& known);
  void forget_step(matcher::StepId step);
  // held_gets.cpp
  void await_puts(matcher::StepId step);
  void hold_get(WaitingGet& waiting, int varid);
  void retry_gets(matcher::StepId step);
  void release_get(WaitingGet& waiting);
  void forget_held_get(ClientId client, std::uint32_t tag);

  // drains.cpp
  void begin_drain(const RelayItem& item);
  void start_drain(matcher::StepId step);
  void send_drain_tables(matcher::StepId step);
  void drain_part_of(const RelayItem& item);
  void finish_drain(const RelayItem& item);
  void note_drain_stage(matcher::StepId step, DrainStage stage, const DrainReport& report);
  void tell_drain(matcher::StepId step, const matcher::DrainProgress& progress);
  void end_drain(matcher::StepId step, const DrainReport& report);

  // registry_items.cpp
  void take_from_registry(RelayItem item);
  [[nodiscard]] bool is_held(const RelayItem& item) const;
  void take_held_items();
  void carry_out(const RelayItem& item);
  void make_or_clear(const RelayItem& item);
  void make_spilled(const RelayItem& item);
  void look_at(const RelayItem& item);
  void look_at(const matcher::LookRequest& request, std::chrono::milliseconds pause);
  enum class Timing { at_once, held };  ///< whether data had to land first
  void destroy(matcher::SegmentId segment, Timing timing = Timing::at_once);
  /// Ahead of a directory that has not been named by the user.
  static constexpr const char* spill_here_or_elsewhere = "or elsewhere: ";
  void use_spill_directory(const std::string& directory);
  void find_spill_directory(const std::string& first_choice);
  void make_memory_ahead(std::uint64_t bytes);
  void tell_of_pages();
  void tell_of_warm_memory();
  void take_answer(RelayItem item);
  void deliver_answer(const RelayItem& item);
  void deliver_opened(Client& client, const RelayItem& item);
  void finish_opened(const RelayItem& item);
  void count_records_of(const RelayItem& item);
  void tell_opened(const RelayItem& item, std::int64_t least_records);
  void take_view(const RelayItem& item);
  void do_round(const RelayItem& item);

  boost::asio::io_context loop_{1};
  std::string run_mark_;  ///< runtime::run_mark()
  std::string socket_path_;
  FileDescriptor listener_;
  boost::asio::posix::stream_descriptor listener_watch_;
  boost::asio::steady_timer accept_pause_;
  FileDescriptor spare_;  ///< to be given up for as long as it takes to tell a process that there is no other
  boost::asio::steady_timer idle_timer_;
  static constexpr std::chrono::milliseconds least_retry_pause{1};
  boost::asio::steady_timer retry_timer_;  ///< of held gets, where there are other matchers
  std::chrono::milliseconds retry_pause_;
  std::unique_ptr<PeerLink> link_;  ///< null: there is one matcher only
  std::chrono::microseconds longest_sleep_;
  NodeMap nodes_;
  std::shared_ptr<Doorbell> bell_;  ///< shared with the link
  boost::asio::posix::stream_descriptor bell_watch_;
  std::unique_ptr<WatchedSocket> coordinator_;  ///< at matcher 0
  SegmentStore store_;
  NeighbourSegments neighbours_;
  KnownSteps known_steps_;
  UsedLogs used_logs_;
  LandingPatterns landing_patterns_;
  LocalProcesses processes_;
  std::map<ClientId, Client> clients_;
  std::set<ClientId> troubled_;
  ClientId next_client_ = 1;
  std::map<std::uint32_t, ViewReceiver> waiting_views_;                  ///< by the number of their query
  std::map<std::uint32_t, NodeExchange::LeaseReceiver> waiting_leases_;  ///< likewise
  std::map<matcher::StepId, std::list<WaitingGet>> held_gets_;  ///< until something is put, or the step ends
  std::uint32_t next_query_ = 1;
  std::uint64_t requests_ = 0;
  std::map<std::uint64_t, std::function<void()>> rounds_;  ///< at matcher 0: what follows them
  std::map<matcher::SegmentId, std::vector<ClientId>> waiting_neighbours_;
  std::string start_trouble_;      ///< at matcher 0: why the run cannot begin
  bool is_ending_ = false;         ///< the registry needs this matcher no more
  bool is_shutting_down_ = false;  ///< at matcher 0
  RelayTree tree_;
  std::optional<MatchExchange> matching_;  ///< where there are other matchers
  std::optional<NodeExchange> moving_;
  std::deque<RelayItem> held_items_;             ///< about segments that data still lands in
  std::optional<RegistryDesk> desk_;             ///< at matcher 0, after coordinator_hello
  std::map<matcher::StepId, DrainTask> drains_;  ///< that this matcher has a part in
  DrainWorker drain_worker_{
      loop_,
      {[this](matcher::StepId step, const matcher::DrainProgress& progress) { tell_drain(step, progress); },
       [this](matcher::StepId step, DrainStage stage, const DrainReport& report) {
         note_drain_stage(step, stage, report);
       }}};
};

}  // namespace sluice::runtime
