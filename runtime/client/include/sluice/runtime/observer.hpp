#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sluice/runtime/handshake.hpp"
#include "sluice/runtime/packet_socket.hpp"
#include "sluice/runtime/protocol.hpp"

namespace sluice::runtime {

/// Looks at a run without being a part of it: nobody waits for an observer, and it waits for nobody. One call
/// at a time.
class Observer {
 public:
  /// Says hello over a connection to the matcher at `socket_path`. `component`: not the attached_name for one
  /// that is a reader of rules: the run keeps steps for it. Throws Error.
  Observer(PacketSocket socket, const std::string& socket_path,
           const std::string& component = std::string(matcher::attached_name));

  /// The published files that can be had; see ListRequest. `request.after` is not used. Waits only for what
  /// is newer than something. Throws Error.
  [[nodiscard]] Listing list(ListRequest request);
  /// The files that processes of this matcher write or have written, also those that nobody else sees yet.
  /// Throws Error.
  [[nodiscard]] Listing list_written(const std::string& directory);
  /// What the run does now. Throws Error.
  [[nodiscard]] RunView watch(const WatchRequest& request);
  /// The newest published step as a file; for a reader of its rule, it counts as read. Throws Error:
  /// NC_ENOENT when there is none now; a reader waits for it.
  [[nodiscard]] FileImage image(const DatasetKey& key, const std::string& path);
  /// An open that opens nothing (Purpose::change, hide). Throws Error with the answer.
  void ask(const Open& open);
  /// Of the connection.
  [[nodiscard]] int descriptor() const noexcept { return socket_.descriptor(); }
  [[nodiscard]] bool is_alive() const noexcept { return socket_.is_alive(); }

 private:
  [[nodiscard]] Listing list_parts(ListRequest request);
  [[nodiscard]] ReceivedMessage exchange(MessageType type, std::vector<std::byte> fields,
                                         MessageType expected);

  PacketSocket socket_;
  std::uint32_t last_tag_ = 0;
};

/// Connects to the matcher at `socket_path`. Throws Error.
[[nodiscard]] Observer observe(const std::string& socket_path,
                               const std::string& component = std::string(matcher::attached_name));

}  // namespace sluice::runtime
