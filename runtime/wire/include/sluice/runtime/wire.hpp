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

/// "create", "opened", …; "unknown" for a value that is not a message type.
[[nodiscard]] std::string_view message_name(MessageType type) noexcept;

/// Encodes the fields of a message struct of protocol.hpp. Integers are little-endian, and bool is one byte.
/// Strings have a u32 length, byte arrays a u64 length, and lists a u32 number of elements. A variant has one
/// byte for its alternative.
template <class Message>
[[nodiscard]] std::vector<std::byte> encode(const Message& message);

/// The inverse of encode(). All bytes must be used. Throws Error(NC_EIO) with the place of the damage. Checks
/// that the bytes exist before it trusts a length.
template <class Message>
[[nodiscard]] Message decode(std::span<const std::byte> fields);

}  // namespace sluice::runtime
