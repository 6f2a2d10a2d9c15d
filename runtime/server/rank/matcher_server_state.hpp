#pragma once
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <memory>

#include "client_answers.hpp"
#include "client_requests.hpp"
#include "coordinator_line.hpp"
#include "link_loop.hpp"
#include "registry_inbox.hpp"
#include "shared_gets.hpp"
#include "sluice/runtime/matcher_server.hpp"
#include "written_files.hpp"

namespace sluice::runtime {

/// The parts of a matcher server, and its event loop. Each part has its own file. The parts refer to each
/// other; none calls another before all are constructed.
class MatcherServer::Server final : private EventLog {
 public:
  explicit Server(MatcherServerOptions options);
  ~Server() override;
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  void run();

 private:
  void run_with_link();
  [[nodiscard]] bool turn_link();
  void note_failure(const std::exception& error);
  [[nodiscard]] MatcherStatus counters() const;
  void tell(EventNotice notice);
  void tell_made(matcher::SegmentId segment, const std::string& trouble);

  void event(const std::string& text) override { tell({text, false}); }
  void detail(const std::string& text) override { tell({text, true}); }
  void take(const BeginRound& begin);
  void do_round(const StartServing& start, std::uint64_t round);
  void end_component(const std::string& component, std::uint64_t round);
  void do_round(const ShutDown& end, std::uint64_t round);
  void do_round(const TakeSent& what, std::uint64_t round);
  void tell_of_removals(std::size_t before);
  [[nodiscard]] bool is_ready() const {
    return base_.rank() != 0 || (coordinator_ && coordinator_->has_registry());
  }

  boost::asio::io_context loop_{1};
  std::unique_ptr<PeerLink> link_;  ///< null for a single matcher
  NodeMap nodes_;
  SegmentStore store_{
      disk_worker_,
      {[this](matcher::SegmentId segment, const std::string& trouble) { tell_made(segment, trouble); },
       [this](matcher::SegmentId segment) {
         tree_.send_up(SpillDone{segment, true});
       }}};
  NeighbourSegments neighbours_;
  RelayTree tree_;
  MatcherBase base_;
  ReaderHistory history_;
  StepViews views_;
  std::unique_ptr<SharedGets> shared_;  ///< null for a single matcher
  Gets gets_;
  ClientRequests requests_;
  ClientConnections clients_;
  ClientSegments segments_;
  DeferredGets deferred_;
  ClientAnswers answers_;
  SegmentOrders orders_;
  ProcessLooks looks_;
  NodeDrains drains_;
  NodeImages images_;
  PublishedFiles published_;
  WrittenFiles written_;
  RegistryInbox inbox_;
  std::unique_ptr<CoordinatorLine> coordinator_;  ///< only at matcher 0
  std::unique_ptr<LinkLoop> link_loop_;           ///< null for a single matcher
  std::uint64_t failures_ = 0;                    ///< of handlers
  bool is_ending_ = false;                        ///< the registry no longer needs this matcher
  boost::asio::steady_timer removal_timer_{loop_};
  DiskWorker disk_worker_{loop_};  ///< destroyed before the store that it works for
};

}  // namespace sluice::runtime
