#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sluice/runtime/packet_socket.hpp"
#include "sluice/runtime/protocol.hpp"

namespace sluice::runtime {

/// The bytes of a published file.
struct NewestImage {
  FileDescriptor image;     ///< of a memory file, which cannot be changed; not valid: see `path`
  std::uint64_t bytes = 0;  ///< of the image
  std::string path = {};    ///< the file on disk that has the bytes
};

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
  /// The newest published step as a file. Throws Error: NC_ENOENT when there is none now.
  [[nodiscard]] NewestImage newest_image(const DatasetKey& key, const std::string& path);
  /// The same, for a reader of its rule: the step counts as read. Waits for a step if none was published.
  [[nodiscard]] NewestImage read_image(const DatasetKey& key, const std::string& path);
  /// The observer is about to change or remove the file. Throws Error: NC_EPERM where the run has it,
  /// NC_ENOENT where the disk has it.
  void change_file(const ChangeFile& request);
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
