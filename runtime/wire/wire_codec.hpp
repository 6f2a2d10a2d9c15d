#pragma once
// Encodes and decodes messages, for wire.cpp and for other files with structs of their own. A struct S needs
// a function `void fields(auto& a, Is<S> auto& m)` in this namespace. It names the fields in wire order, once
// for both directions. SLUICE_MESSAGE(S) after it instantiates encode and decode.
#include <algorithm>
#include <bit>
#include <boost/container/small_vector.hpp>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime {

static_assert(std::endian::native == std::endian::little, "messages are little-endian, and so are the hosts");

template <class T, class U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

/// The name of a struct in errors.
template <class Message>
constexpr std::string_view struct_name() {
  // "… [with Message = Hello; …]", possibly with a namespace. This saves a second list of all names.
  constexpr std::string_view text = __PRETTY_FUNCTION__;
  constexpr std::string_view before = "Message = ";
  constexpr std::string_view behind = text.substr(text.find(before) + before.size());
  constexpr std::string_view name = behind.substr(0, behind.find_first_of(";]"));
  constexpr std::size_t colon = name.rfind(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

/// Appends fields.
class Encoder {
 public:
  template <class... Fields>
  void operator()(const Fields&... values) {
    (put(values), ...);
  }
  [[nodiscard]] std::vector<std::byte> take() {
    bytes_.resize(used_);
    return std::move(bytes_);
  }

 private:
  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void put(T value) { append(&value, sizeof value); }
  void put(const std::string& value) {
    put(static_cast<std::uint32_t>(value.size()));
    append(value.data(), value.size());
  }
  void put(const std::vector<std::byte>& value) {
    put(static_cast<std::uint64_t>(value.size()));
    append(value.data(), value.size());
  }
  void put(const std::vector<std::int64_t>& value) {
    put(static_cast<std::uint32_t>(value.size()));
    append(value.data(), value.size() * sizeof(std::int64_t));
  }
  template <class T>
  void put(const std::vector<T>& value) { put_list(value); }
  template <class T, std::size_t inline_elements>
  void put(const boost::container::small_vector<T, inline_elements>& value) { put_list(value); }
  void put_list(const auto& value) {
    put(static_cast<std::uint32_t>(value.size()));
    for (const auto& element : value) put(element);
  }
  template <class T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <class... Alternatives>
  void put(const std::variant<Alternatives...>& value) {
    static_assert(sizeof...(Alternatives) <= 256);
    put(static_cast<std::uint8_t>(value.index()));
    std::visit([this](const auto& alternative) { put(alternative); }, value);
  }
  template <class T>
  requires std::is_class_v<T>
  void put(const T& value) { fields(*this, value); }
  void append(const void* data, std::size_t bytes) {
    if (bytes == 0) return;
    if (bytes > bytes_.size() - used_) bytes_.resize(2 * bytes_.size() + bytes + first_bytes);
    std::memcpy(bytes_.data() + used_, data, bytes);
    used_ += bytes;
  }

  static constexpr std::size_t first_bytes = 120;
  std::vector<std::byte> bytes_;  ///< longer than what is used: most fields are a few bytes
  std::size_t used_ = 0;
};

/// Reads the same fields from a packet.
class Decoder {
 public:
  /// `name`: the name of the bytes in errors.
  Decoder(std::span<const std::byte> bytes, std::string_view name) noexcept : bytes_(bytes), name_(name) {}
  template <class... Fields>
  void operator()(Fields&... values) {
    (take(values), ...);
  }
  void expect_end() const {
    if (position_ != bytes_.size()) fail("the fields end");
  }

 private:
  template <class T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
  void take(T& value) {
    const auto part = next(sizeof value);
    if constexpr (std::is_same_v<T, bool>) {
      const auto byte = std::to_integer<unsigned>(part[0]);
      if (byte > 1) fail("a truth value of " + std::to_string(byte));
      value = byte == 1;
    } else {
      std::memcpy(&value, part.data(), sizeof value);
    }
    if constexpr (std::is_same_v<T, SegmentUse>) {
      if (value > SegmentUse::file) fail("a segment use of " + std::to_string(static_cast<int>(value)));
    }
  }
  void take(std::string& value) {
    std::uint32_t length = 0;
    take(length);
    const auto part = next(length);
    value.assign(reinterpret_cast<const char*>(part.data()), part.size());
  }
  void take(std::vector<std::byte>& value) {
    std::uint64_t length = 0;
    take(length);
    const auto part = next(length);
    value.assign(part.begin(), part.end());
  }
  void take(std::vector<std::int64_t>& value) {
    std::uint32_t length = 0;
    take(length);
    const auto part = next(std::uint64_t{length} * sizeof(std::int64_t));
    value.resize(length);
    if (length != 0) std::memcpy(value.data(), part.data(), part.size());
  }
  template <class T>
  void take(std::vector<T>& value) { take_list(value); }
  template <class T, std::size_t inline_elements>
  void take(boost::container::small_vector<T, inline_elements>& value) { take_list(value); }
  void take_list(auto& value) {
    std::uint32_t length = 0;
    take(length);
    // Every element takes at least one byte, so memory stays within a small multiple of the packet.
    if (length > bytes_.size() - position_)
      fail(std::to_string(length) + " list elements, fewer bytes are left");
    value.clear();
    value.reserve(std::min<std::size_t>(length, (bytes_.size() - position_) / sizeof(value[0]) + 1));
    for (std::uint32_t i = 0; i < length; ++i) take(value.emplace_back());
  }
  template <class T>
  void take(std::optional<T>& value) {
    bool is_there = false;
    take(is_there);
    value.reset();
    if (is_there) take(value.emplace());
  }
  template <class... Alternatives>
  void take(std::variant<Alternatives...>& value) {
    std::uint8_t kind = 0;
    take(kind);
    if (kind >= sizeof...(Alternatives)) fail("a kind of " + std::to_string(kind));
    [&]<std::size_t... Kinds>(std::index_sequence<Kinds...>) {
      ((kind == Kinds ? take(value.template emplace<Kinds>()) : void()), ...);
    }
    (std::index_sequence_for<Alternatives...>{});
  }
  template <class T>
  requires std::is_class_v<T>
  void take(T& value) { fields(*this, value); }
  [[nodiscard]] std::span<const std::byte> next(std::uint64_t length) {
    if (length > bytes_.size() - position_) fail(std::to_string(length) + " bytes, fewer are left");
    const auto part = bytes_.subspan(position_, static_cast<std::size_t>(length));
    position_ += part.size();
    return part;
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(NC_EIO, "damaged message " + std::string(name_) + ": " + what + " at byte " +
                            std::to_string(position_) + " of " + std::to_string(bytes_.size()));
  }

  std::span<const std::byte> bytes_;
  std::string_view name_;
  std::size_t position_ = 0;
};

template <class Message>
std::vector<std::byte> encode(const Message& message) {
  Encoder encoder;
  fields(encoder, message);
  return encoder.take();
}

template <class Message>
Message decode(std::span<const std::byte> bytes) {
  Decoder decoder(bytes, struct_name<Message>());
  Message message;
  fields(decoder, message);
  decoder.expect_end();
  return message;
}

#define SLUICE_MESSAGE(Message)                                    \
  template std::vector<std::byte> encode<Message>(const Message&); \
  template Message decode<Message>(std::span<const std::byte>);

}  // namespace sluice::runtime
