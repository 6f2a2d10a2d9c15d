#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "doorbell.hpp"
#include "sluice/runtime/node_map.hpp"
#include "sluice/runtime/peer_link.hpp"

namespace sluice::runtime {

/// The matchers as an MPI job: MPI itself, the places of all ranks, and the link. A process has one job; it
/// outlives all its users.
class MatcherJob {
 public:
  /// Initializes MPI; collective over the job. `first_socket`: the socket of each machine's first matcher.
  /// Throws Error.
  MatcherJob(std::string first_socket, std::uint32_t virtual_nodes);
  /// Does not end MPI: finish() does.
  ~MatcherJob();
  MatcherJob(const MatcherJob&) = delete;
  MatcherJob& operator=(const MatcherJob&) = delete;

  [[nodiscard]] const NodeMap& nodes() const noexcept { return nodes_; }
  [[nodiscard]] std::uint32_t rank() const noexcept { return rank_; }
  [[nodiscard]] const std::shared_ptr<Doorbell>& bell() const noexcept { return bell_; }
  /// Whether all other matchers are on this machine, so that all their messages ring the bell.
  [[nodiscard]] bool is_on_one_machine() const noexcept { return is_on_one_machine_; }
  /// Returns the link to the other matchers. Call it once.
  [[nodiscard]] std::unique_ptr<PeerLink> link();

  /// Finalizes MPI; collective. Do not call it after an error: then the launcher ends the other ranks.
  void finish();

 private:
  std::string first_socket_;
  std::uint32_t rank_ = 0;
  NodeMap nodes_;
  bool is_on_one_machine_ = true;
  std::shared_ptr<Doorbell> bell_;  ///< shared with the event loop that watches it
};

}  // namespace sluice::runtime
