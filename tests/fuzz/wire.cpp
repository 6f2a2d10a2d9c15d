// The messages between processes: the first byte chooses one, the others are its fields. What is decoded
// encodes to the same bytes.
#include "sluice/runtime/wire.hpp"

#include <algorithm>

#include "support.hpp"

using namespace sluice;

namespace {

template <class Message>
void check(std::span<const std::byte> fields) {
  fuzz::refuse_or([&] {
    const auto encoded = runtime::encode(runtime::decode<Message>(fields));
    fuzz::require(encoded.size() == fields.size(), "a message goes through its encoding with its size");
    fuzz::require(runtime::encode(runtime::decode<Message>(encoded)) == encoded,
                  "a message goes through its encoding unchanged");
  });
}

using Check = void (*)(std::span<const std::byte>);
constexpr Check checks[] = {
    check<runtime::Hello>,
    check<runtime::Welcome>,
    check<runtime::Create>,
    check<runtime::Created>,
    check<runtime::Open>,
    check<runtime::Opened>,
    check<runtime::NeedSegment>,
    check<runtime::AwaitRoom>,
    check<runtime::Several>,
    check<runtime::Room>,
    check<runtime::SegmentGrant>,
    check<runtime::HeaderUpdate>,
    check<runtime::Publish>,
    check<runtime::Discard>,
    check<runtime::CloseRead>,
    check<runtime::Get>,
    check<runtime::Plans>,
    check<runtime::Remove>,
    check<runtime::ErrorReply>,
    check<runtime::DropSegments>,
    check<runtime::CoordinatorHello>,
    check<runtime::ComponentExited>,
    check<runtime::EventNotice>,
    check<runtime::OrdinaryFile>,
    check<runtime::StatusReport>,
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  checks[data[0] % std::size(checks)](fuzz::as_bytes(data, size).subspan(1));
  return 0;
}
