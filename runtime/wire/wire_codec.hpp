#pragma once
// Encodes and decodes messages, for wire.cpp and for other files with structs of their own. A struct S needs
// SLUICE_FIELDS(S, m.first, m.second …) in this namespace. It names all members in wire order, once for both
// directions. SLUICE_MESSAGE(S) after it instantiates encode and decode.
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

#include "differences.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime {

static_assert(std::endian::native == std::endian::little, "messages are little-endian, and so are the hosts");

template <class T, class U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

/// Stands for a value of any type where a struct is initialised.
struct AnyMember {
  template <class T>
  operator T() const;
};
/// The number of a struct's members: that of the values which can initialise it.
template <class Struct, class... Members>
constexpr std::size_t member_count() {
  if constexpr (requires { Struct{Members{}..., AnyMember{}}; })
    return member_count<Struct, Members..., AnyMember>();
  else
    return sizeof...(Members);
}
/// Hands all members of a struct to an archive. A member that is left out does not compile.
template <class Struct, class... Members>
void all_fields(auto& archive, Members&&... members) {
  static_assert(sizeof...(Members) == member_count<Struct>(),
                "the message leaves out a member of the struct");
  archive(members...);
}

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

template <class T>
concept IsNumber = std::is_arithmetic_v<T> || std::is_enum_v<T>;

#define SLUICE_FIELDS(Struct, ...)                            \
  void fields(auto& a, [[maybe_unused]] Is<Struct> auto& m) { \
    all_fields<Struct>(a __VA_OPT__(, ) __VA_ARGS__);         \
  }
// For a struct with members that are not in the message.
#define SLUICE_SOME_FIELDS(Struct, ...)      \
  void fields(auto& a, Is<Struct> auto& m) { \
    a(__VA_ARGS__);                          \
  }

/// A list of structs that are much alike: each is written as differences to the one before it (Differences).
/// `fields()` name it as `alike(m.list)`. Such structs have no long lists of integers.
template <class List>
struct Alike {
  List& list;
  const std::vector<std::byte>* encoded = nullptr;  ///< to write in place of the list: alike_list
};
template <class List>
[[nodiscard]] Alike<List> alike(List& list, const std::vector<std::byte>* encoded = nullptr) noexcept {
  return {list, encoded};
}

/// Takes structs apart, down to what `Target` writes: number(), length(), bytes() and integers().
template <class Target>
class StructSplitter {
 public:
  template <class... Fields>
  void operator()(const Fields&... values) {
    (put(values), ...);
  }

 protected:
  template <IsNumber T>
  void put(T value) {
    target().number(value);
  }
  void put(const std::string& value) {
    target().template length<std::uint32_t>(value.size());
    target().bytes(std::as_bytes(std::span(value)));
  }
  void put(const std::vector<std::byte>& value) {
    target().template length<std::uint64_t>(value.size());
    target().bytes(value);
  }
  void put(const std::vector<std::int64_t>& value) {
    target().template length<std::uint32_t>(value.size());
    target().integers(value);
  }
  template <class T>
  void put(const std::vector<T>& value) {
    put_list(value);
  }
  template <class T, std::size_t inline_elements>
  void put(const boost::container::small_vector<T, inline_elements>& value) {
    put_list(value);
  }
  template <class List>
  void put(const Alike<List>& value) {
    value.encoded != nullptr ? target().bytes(*value.encoded) : target().alike(value.list);
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
    std::visit([this](const auto& alternative) { this->put(alternative); }, value);
  }
  template <class T>
  requires std::is_class_v<T>
  void put(const T& value) { fields(target(), value); }

 private:
  void put_list(const auto& value) {
    target().template length<std::uint32_t>(value.size());
    for (const auto& element : value) put(element);
  }
  [[nodiscard]] Target& target() noexcept { return static_cast<Target&>(*this); }
};

/// Puts structs together from what `Source` reads: number(), length(), bytes() and integers(). fail() throws.
template <class Source>
class StructBuilder {
 public:
  template <class... Fields>
  void operator()(Fields&&... values) {
    (take(values), ...);
  }

 protected:
  template <IsNumber T>
  void take(T& value) {
    source().number(value);
    if constexpr (std::is_same_v<T, SegmentUse>) {
      if (value > SegmentUse::file)
        source().fail("a segment use of " + std::to_string(static_cast<int>(value)));
    }
  }
  void take(std::string& value) {
    const auto part = source().bytes(source().template length<std::uint32_t>());
    value.assign(reinterpret_cast<const char*>(part.data()), part.size());
  }
  void take(std::vector<std::byte>& value) {
    const auto part = source().bytes(source().template length<std::uint64_t>());
    value.assign(part.begin(), part.end());
  }
  void take(std::vector<std::int64_t>& value) { source().integers(value); }
  template <class T>
  void take(std::vector<T>& value) {
    take_list(value);
  }
  template <class T, std::size_t inline_elements>
  void take(boost::container::small_vector<T, inline_elements>& value) {
    take_list(value);
  }
  template <class List>
  void take(Alike<List>& value) {
    source().alike(value.list);
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
    if (kind >= sizeof...(Alternatives)) source().fail("a kind of " + std::to_string(kind));
    [&]<std::size_t... Kinds>(std::index_sequence<Kinds...>) {
      ((kind == Kinds ? take(value.template emplace<Kinds>()) : void()), ...);
    }
    (std::index_sequence_for<Alternatives...>{});
  }
  template <class T>
  requires std::is_class_v<T>
  void take(T& value) { fields(source(), value); }

 private:
  void take_list(auto& value) {
    const std::size_t length = source().template length<std::uint32_t>();
    // Every element takes at least one byte or number, so memory stays within a small multiple of the packet.
    if (length > source().left())
      source().fail(std::to_string(length) + " list elements, fewer bytes are left");
    value.clear();
    value.reserve(std::min<std::size_t>(length, source().left() / sizeof(value[0]) + 1));
    for (std::size_t i = 0; i < length; ++i) take(value.emplace_back());
  }
  [[nodiscard]] Source& source() noexcept { return static_cast<Source&>(*this); }
};

/// The numbers of a struct, in wire order: integers, enumerations and truth values, and the lengths of lists
/// and strings. The characters of strings and the bytes of arrays are apart.
class StructNumbers : public StructSplitter<StructNumbers> {
 public:
  void clear() noexcept {
    used_ = 0;
    bytes_.clear();
  }
  [[nodiscard]] std::span<const std::uint64_t> all_numbers() const noexcept {
    return std::span(numbers_).first(used_);
  }
  [[nodiscard]] std::span<const std::byte> all_bytes() const noexcept { return bytes_; }

 private:
  friend StructSplitter<StructNumbers>;
  template <IsNumber T>
  void number(T value) {
    static_assert(!std::is_floating_point_v<T>);
    add(static_cast<std::uint64_t>(value));  // signed ones keep their sign
  }
  template <class Length>
  void length(std::size_t length) {
    add(length);
  }
  // In line: there are millions of numbers in the messages of very many processes.
  [[gnu::always_inline]] void add(std::uint64_t number) {
    if (used_ == numbers_.size()) make_room();
    numbers_[used_++] = number;
  }
  [[gnu::noinline]] void make_room() { numbers_.resize(2 * used_ + first_numbers); }
  void bytes(std::span<const std::byte> value) { bytes_.insert(bytes_.end(), value.begin(), value.end()); }

  static constexpr std::size_t first_numbers = 64;
  std::vector<std::uint64_t> numbers_;  ///< room, which only grows
  std::size_t used_ = 0;
  std::vector<std::byte> bytes_;
};

/// The elements of a list of structs that are alike, given one at a time.
class AlikeEncoder {
 public:
  void add(const auto& element) {
    numbers_.clear();
    numbers_(element);
    append(differences_.encode(numbers_.all_numbers()));
    append(numbers_.all_bytes());
  }
  /// What was added since the last call. It may be put behind the elements of another list.
  [[nodiscard]] std::vector<std::byte> take() {
    differences_ = {};
    std::vector<std::byte> taken = bytes_;  // of its own size: there are many short lists, and they stay
    bytes_.clear();
    return taken;
  }

 private:
  void append(std::span<const std::byte> bytes) {
    if (bytes.size() == 1) return bytes_.push_back(bytes[0]);  // most often
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }

  StructNumbers numbers_;
  Differences differences_;
  std::vector<std::byte> bytes_;
};
/// The bytes of a list (Alike::encoded) of so many elements.
[[nodiscard]] inline std::vector<std::byte> alike_list(std::size_t length,
                                                       std::span<const std::byte> elements) {
  const auto number = static_cast<std::uint32_t>(length);
  const auto prefix = std::as_bytes(std::span(&number, 1));
  std::vector<std::byte> list(prefix.begin(), prefix.end());
  list.insert(list.end(), elements.begin(), elements.end());
  return list;
}

/// Appends fields.
class Encoder : public StructSplitter<Encoder> {
 public:
  [[nodiscard]] std::vector<std::byte> take() {
    bytes_.resize(used_);
    return std::move(bytes_);
  }

 private:
  friend StructSplitter<Encoder>;
  template <IsNumber T>
  void number(T value) {
    append(&value, sizeof value);
  }
  template <class Length>
  void length(std::size_t length) {
    number(static_cast<Length>(length));
  }
  void bytes(std::span<const std::byte> value) { append(value.data(), value.size()); }
  void integers(const std::vector<std::int64_t>& value) {
    append(value.data(), value.size() * sizeof(std::int64_t));
  }
  void alike(const auto& list) {
    length<std::uint32_t>(list.size());
    AlikeEncoder encoder;
    for (const auto& element : list) encoder.add(element);
    bytes(encoder.take());
  }
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

class Decoder;

/// Puts a struct together from StructNumbers: the bytes come from a message.
class StructOfNumbers : public StructBuilder<StructOfNumbers> {
 public:
  StructOfNumbers(std::span<const std::uint64_t> numbers, Decoder& message) noexcept
      : next_(numbers.data()), end_(numbers.data() + numbers.size()), message_(message) {}
  [[nodiscard]] std::size_t left() const noexcept { return static_cast<std::size_t>(end_ - next_); }

 private:
  friend StructBuilder<StructOfNumbers>;
  [[gnu::always_inline]] std::uint64_t next() {  // as StructNumbers::add
    if (next_ == end_) fail_without_numbers();
    return *next_++;
  }
  template <IsNumber T>
  [[gnu::always_inline]] void number(T& value) {
    const std::uint64_t number = next();
    value = static_cast<T>(number);
    if (static_cast<std::uint64_t>(value) != number) fail_for(number);
  }
  template <class Length>
  std::size_t length() {
    return next();
  }
  std::span<const std::byte> bytes(std::size_t length);
  [[noreturn]] void fail(const std::string& what) const;
  // Not in line, so that reading a number is.
  [[noreturn, gnu::noinline]] void fail_without_numbers() const { fail("an element with too few numbers"); }
  [[noreturn, gnu::noinline]] void fail_for(std::uint64_t number) const {
    fail("a number of " + std::to_string(number));
  }

  const std::uint64_t* next_;
  const std::uint64_t* end_;
  Decoder& message_;
};

/// Reads the same fields from a packet.
class Decoder : public StructBuilder<Decoder> {
 public:
  /// `name`: the name of the bytes in errors.
  Decoder(std::span<const std::byte> bytes, std::string_view name) noexcept : bytes_(bytes), name_(name) {}
  void expect_end() const {
    if (left() != 0) fail("the fields end");
  }
  [[nodiscard]] std::span<const std::byte> next(std::uint64_t length) {
    if (length > left()) fail(std::to_string(length) + " bytes, fewer are left");
    const auto part = bytes_.subspan(position_, static_cast<std::size_t>(length));
    position_ += part.size();
    return part;
  }
  [[nodiscard]] std::size_t left() const noexcept { return bytes_.size() - position_; }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(NC_EIO, "damaged message " + std::string(name_) + ": " + what + " at byte " +
                            std::to_string(position_) + " of " + std::to_string(bytes_.size()));
  }

 private:
  friend StructBuilder<Decoder>;
  template <IsNumber T>
  void number(T& value) {
    const auto part = next(sizeof value);
    if constexpr (std::is_same_v<T, bool>) {
      const auto byte = std::to_integer<unsigned>(part[0]);
      if (byte > 1) fail("a truth value of " + std::to_string(byte));
      value = byte == 1;
    } else {
      std::memcpy(&value, part.data(), sizeof value);
    }
  }
  template <class Length>
  std::size_t length() {
    Length length = 0;
    number(length);
    return length;
  }
  std::span<const std::byte> bytes(std::size_t length) { return next(length); }
  void integers(std::vector<std::int64_t>& value) {
    const std::size_t count = length<std::uint32_t>();
    const auto part = next(std::uint64_t{count} * sizeof(std::int64_t));
    value.resize(count);
    if (count != 0) std::memcpy(value.data(), part.data(), part.size());
  }
  void alike(auto& list) {
    const std::size_t count = length<std::uint32_t>();
    if (count > left()) fail(std::to_string(count) + " list elements, fewer bytes are left");
    list.clear();
    list.reserve(count);
    Differences differences;
    for (std::size_t i = 0; i < count; ++i) {
      const auto used = differences.decode(bytes_.subspan(position_));
      if (!used) fail("a damaged difference");
      position_ += *used;
      StructOfNumbers element(differences.numbers(), *this);
      element(list.emplace_back());
      if (element.left() != 0) fail("an element with too many numbers");
    }
  }

  std::span<const std::byte> bytes_;
  std::string_view name_;
  std::size_t position_ = 0;
};

inline std::span<const std::byte> StructOfNumbers::bytes(std::size_t length) {
  return message_.next(length);
}
inline void StructOfNumbers::fail(const std::string& what) const {
  message_.fail(what);
}

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
