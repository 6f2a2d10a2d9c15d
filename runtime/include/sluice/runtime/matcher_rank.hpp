#pragma once
#include <memory>
#include <string>

#include "sluice/runtime/packet_socket.hpp"

namespace sluice::runtime {

struct MatcherRankOptions {
  /// Where clients connect; in a directory that only this user can enter. Removed at the end.
  std::string socket_path;
  /// The line to the coordinator. Its end is the end of the matcher.
  PacketSocket coordinator;
};

/// One matcher rank: owns the segments and the registry, and serves the processes of its node and the
/// coordinator from one event loop that sleeps while nothing happens. docs/architecture.md, "Messages".
class MatcherRank {
 public:
  /// Listens from here on. Throws IoError.
  explicit MatcherRank(MatcherRankOptions options);
  ~MatcherRank();
  MatcherRank(const MatcherRank&) = delete;
  MatcherRank& operator=(const MatcherRank&) = delete;

  /// Serves until the coordinator says `shutdown` or is gone.
  void run();

 private:
  class Server;
  std::unique_ptr<Server> server_;
};

}  // namespace sluice::runtime
