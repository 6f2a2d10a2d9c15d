#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sluice/runtime/handshake.hpp"
#include "sluice/runtime/name_counts.hpp"
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
  /// False: the run has no file in the directory, so that no list of it has one.
  [[nodiscard]] bool may_have_files(const std::string& directory) const {
    return !names_ || names_->may_have_files(directory);
  }
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
  [[nodiscard]] ReceivedMessage exchange(MessageType type, std::vector<std::byte> fields,
                                         MessageType expected);

  PacketSocket socket_;
  std::optional<NameCounts> names_;
  std::uint32_t last_tag_ = 0;
};

/// Connects to the matcher at `socket_path`. Throws Error.
[[nodiscard]] Observer observe(const std::string& socket_path,
                               const std::string& component = std::string(matcher::attached_name));

}  // namespace sluice::runtime
