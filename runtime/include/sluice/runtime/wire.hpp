#pragma once
// The encoding of the messages of protocol.hpp: the fields of a struct, in wire order, without the packet's
// header (packet_socket.hpp).
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sluice/runtime/protocol.hpp"

namespace sluice::runtime {

/// "create", "opened", …; "unknown" for a value that is no message type.
[[nodiscard]] std::string_view message_name(MessageType type) noexcept;

/// The fields of a message struct of protocol.hpp: integers little-endian, bool as one byte, strings with a
/// u32 length, byte arrays with a u64 length, lists with a u32 number of elements.
template <class Message>
[[nodiscard]] std::vector<std::byte> encode(const Message& message);

/// The inverse; all bytes must be used. Throws Error(NC_EIO) that says what is damaged, and where; no length
/// is believed before the bytes that it promises are known to be there.
template <class Message>
[[nodiscard]] Message decode(std::span<const std::byte> fields);

}  // namespace sluice::runtime
