#pragma once
#include <cstdint>
#include <string>

#include "sluice/runtime/packet_socket.hpp"
#include "sluice/runtime/protocol.hpp"

namespace sluice::runtime {

/// The first message of a connection of this process. `process_token` is the same for all its connections.
[[nodiscard]] Hello hello_of_process(const std::string& component, std::uint64_t process_token);

/// The matcher's answer to Hello. Throws Error: the matcher's error, or NC_EIO when the matcher at
/// `socket_path` is another build of Sluice.
[[nodiscard]] Welcome welcome_of(const ReceivedMessage& answer, const std::string& socket_path);

/// The bytes of a file; without a descriptor the file on disk that has them (ImageMade::path).
struct FileImage {
  FileDescriptor file;  ///< of a memory file, which cannot be changed
  ImageMade made;
};
/// The answer to an open that wants bytes. Throws Error(NC_EIO) when it is damaged.
[[nodiscard]] FileImage image_of(ReceivedMessage answer);

/// Throws the Error that an answer of type `error` carries. An unknown status becomes NC_EIO.
void throw_if_error(const ReceivedMessage& answer);

}  // namespace sluice::runtime
