#include "sluice/runtime/wire.hpp"

#include <bit>
#include <concepts>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "sluice/formats/error.hpp"

namespace sluice::runtime {

static_assert(std::endian::native == std::endian::little, "messages are little-endian, and so are the hosts");

std::string_view message_name(MessageType type) noexcept {
  switch (type) {
    case MessageType::hello:
      return "hello";
    case MessageType::create:
      return "create";
    case MessageType::open_write:
      return "open_write";
    case MessageType::open_read:
      return "open_read";
    case MessageType::need_segment:
      return "need_segment";
    case MessageType::header:
      return "header";
    case MessageType::publish:
      return "publish";
    case MessageType::discard:
      return "discard";
    case MessageType::close_read:
      return "close_read";
    case MessageType::get:
      return "get";
    case MessageType::remove:
      return "remove";
    case MessageType::welcome:
      return "welcome";
    case MessageType::created:
      return "created";
    case MessageType::opened:
      return "opened";
    case MessageType::segment:
      return "segment";
    case MessageType::plans:
      return "plans";
    case MessageType::done:
      return "done";
    case MessageType::error:
      return "error";
    case MessageType::drop_segments:
      return "drop_segments";
    case MessageType::coordinator_hello:
      return "coordinator_hello";
    case MessageType::component_exited:
      return "component_exited";
    case MessageType::status_query:
      return "status_query";
    case MessageType::shutdown:
      return "shutdown";
    case MessageType::ready:
      return "ready";
    case MessageType::status:
      return "status";
    case MessageType::event:
      return "event";
  }
  return "unknown";
}

namespace {

template <class T, class U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

// The wire order of each struct, once for both directions.
void fields(auto& a, Is<DatasetKey> auto& m) {
  a(m.rule, m.tail);
}
void fields(auto& a, Is<Hello> auto& m) {
  a(m.protocol, m.library_version, m.process_token, m.process_id, m.component);
}
void fields(auto& a, Is<Welcome> auto& m) {
  a(m.protocol, m.library_version, m.matcher_rank);
}
void fields(auto& a, Is<Member> auto& m) {
  a(m.group, m.rank, m.size);
}
void fields(auto& a, Is<Create> auto& m) {
  a(m.key, m.member, m.no_clobber, m.version);
}
void fields(auto& a, Is<Created> auto& m) {
  a(m.step, m.control);
}
void fields(auto& a, Is<Open> auto& m) {
  a(m.key, m.member);
}
void fields(auto& a, Is<LogRange> auto& m) {
  a(m.writer, m.log_offset, m.length_bytes, m.segment, m.segment_offset);
}
void fields(auto& a, Is<Opened> auto& m) {
  a(m.step, m.control, m.version, m.record_count, m.header);
}
void fields(auto& a, Is<NeedSegment> auto& m) {
  a(m.step, m.use, m.bytes, m.wanted_bytes);
}
void fields(auto& a, Is<SegmentGrant> auto& m) {
  a(m.segment, m.bytes, m.has_descriptor);
}
void fields(auto& a, Is<HeaderUpdate> auto& m) {
  a(m.step, m.header);
}
void fields(auto& a, Is<AccessCounters> auto& m) {
  a(m.puts, m.put_bytes, m.gets, m.get_bytes, m.open_wait_us);
}
void fields(auto& a, Is<Publish> auto& m) {
  a(m.step, m.record_count, m.counters);
}
void fields(auto& a, Is<Discard> auto& m) {
  a(m.step);
}
void fields(auto& a, Is<CloseRead> auto& m) {
  a(m.step, m.counters);
}
void fields(auto& a, Is<ReadSlab> auto& m) {
  a(m.start, m.count, m.stride);
}
void fields(auto& a, Is<ReadAccess> auto& m) {
  a(m.varid, m.slabs);
}
void fields(auto& a, Is<Get> auto& m) {
  a(m.step, m.accesses);
}
void fields(auto& a, Is<Plans> auto& m) {
  a(m.ranges, m.plans);
}
void fields(auto& a, Is<Remove> auto& m) {
  a(m.key);
}
void fields(auto& a, Is<ErrorReply> auto& m) {
  a(m.status, m.text);
}
void fields(auto& a, Is<DropSegments> auto& m) {
  a(m.segments);
}
void fields(auto& a, Is<FileRule> auto& m) {
  a(m.pattern, m.writer, m.readers);
}
void fields(auto& a, Is<ComponentSize> auto& m) {
  a(m.name, m.processes);
}
void fields(auto& a, Is<CoordinatorHello> auto& m) {
  a(m.protocol, m.rules, m.components, m.memory_bytes, m.retain_bytes);
}
void fields(auto& a, Is<ComponentExited> auto& m) {
  a(m.component, m.reason);
}
void fields(auto& a, Is<DatasetStatus> auto& m) {
  a(m.rule, m.tail, m.steps_published, m.steps_discarded, m.counters, m.bytes_staged);
}
void fields(auto& a, Is<WaitStatus> auto& m) {
  a(m.component, m.processes, m.waits_for, m.since_ms);
}
void fields(auto& a, Is<StatusReport> auto& m) {
  a(m.datasets, m.waits, m.bytes_staged, m.bytes_staged_peak);
}
void fields(auto& a, Is<EventNotice> auto& m) {
  a(m.text);
}

/// What errors call a struct.
template <class Message>
constexpr std::string_view struct_name() {
  // "… struct_name() [with Message = sluice::runtime::Hello; …]" saves a second list of all names.
  constexpr std::string_view text = __PRETTY_FUNCTION__;
  constexpr std::string_view before = "Message = sluice::runtime::";
  constexpr std::size_t begin = text.find(before) + before.size();
  return text.substr(begin, text.find_first_of(";]", begin) - begin);
}

/// Appends fields.
class Encoder {
 public:
  template <class... Fields>
  void operator()(const Fields&... values) {
    (put(values), ...);
  }
  [[nodiscard]] std::vector<std::byte> take() noexcept { return std::move(bytes_); }

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
  void put(const std::vector<T>& value) {
    put(static_cast<std::uint32_t>(value.size()));
    for (const T& element : value) put(element);
  }
  template <class T>
  requires std::is_class_v<T>
  void put(const T& value) { fields(*this, value); }
  void append(const void* data, std::size_t bytes) {
    const auto* const first = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), first, first + bytes);
  }

  std::vector<std::byte> bytes_;
};

/// Takes the same fields out of a packet.
class Decoder {
 public:
  /// `name` is what the errors call the bytes.
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
      if (value > SegmentUse::control) fail("a segment use of " + std::to_string(static_cast<int>(value)));
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
  void take(std::vector<T>& value) {
    std::uint32_t length = 0;
    take(length);
    // Every element takes a byte at least, so that memory stays within a small multiple of the packet.
    if (length > bytes_.size() - position_)
      fail(std::to_string(length) + " list elements, fewer bytes are left");
    value.clear();
    for (std::uint32_t i = 0; i < length; ++i) take(value.emplace_back());
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

}  // namespace

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
SLUICE_MESSAGE(Hello)
SLUICE_MESSAGE(Welcome)
SLUICE_MESSAGE(Create)
SLUICE_MESSAGE(Created)
SLUICE_MESSAGE(Open)
SLUICE_MESSAGE(Opened)
SLUICE_MESSAGE(NeedSegment)
SLUICE_MESSAGE(SegmentGrant)
SLUICE_MESSAGE(HeaderUpdate)
SLUICE_MESSAGE(Publish)
SLUICE_MESSAGE(Discard)
SLUICE_MESSAGE(CloseRead)
SLUICE_MESSAGE(Get)
SLUICE_MESSAGE(Plans)
SLUICE_MESSAGE(Remove)
SLUICE_MESSAGE(ErrorReply)
SLUICE_MESSAGE(DropSegments)
SLUICE_MESSAGE(CoordinatorHello)
SLUICE_MESSAGE(ComponentExited)
SLUICE_MESSAGE(StatusReport)
SLUICE_MESSAGE(EventNotice)
#undef SLUICE_MESSAGE

}  // namespace sluice::runtime
