#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "sluice/runtime/huge_page_files.hpp"
#include "sluice/runtime/node_map.hpp"
#include "sluice/runtime/packet_socket.hpp"
#include "sluice/runtime/peer_link.hpp"

namespace sluice::runtime {

class Doorbell;

struct MatcherServerOptions {
  /// Where clients connect to this machine's first matcher (those of the others: node_map.hpp); in a
  /// directory that only this user can enter. Removed at the end.
  std::string socket_path;
  /// One more name of it, for processes of a run of root that have become other users. Empty: there is none.
  std::string door_path = {};
  /// The line to the coordinator, of matcher 0. Its end is the end of the matchers.
  std::optional<PacketSocket> coordinator;
  /// To the other matchers; null: there is one only.
  std::unique_ptr<PeerLink> link = nullptr;
  NodeMap nodes = {};
  /// Wakes it when a matcher of the same machine sends something; shared with the link, which rings others'.
  std::shared_ptr<Doorbell> bell = nullptr;
  /// Where large segments are made; nothing: they are memory files as others are.
  std::optional<HugePageFiles> huge_pages = std::nullopt;
  /// How long it may sleep while nothing comes: what other machines send wakes nobody.
  std::chrono::microseconds longest_sleep{2000};
};

/// One matcher: owns segments and serves processes of its node from one event loop that sleeps while
/// nothing happens. Rank 0 has the registry, and the line to the coordinator.
/// docs/design/matchers-and-ranks.md.
class MatcherServer {
 public:
  /// Listens from here on. Throws IoError.
  explicit MatcherServer(MatcherServerOptions options);
  ~MatcherServer();
  MatcherServer(const MatcherServer&) = delete;
  MatcherServer& operator=(const MatcherServer&) = delete;

  /// Serves until the coordinator says `shutdown` or is gone. Throws Error when another rank is lost.
  void run();

 private:
  class Server;
  std::unique_ptr<Server> server_;
};

}  // namespace sluice::runtime
