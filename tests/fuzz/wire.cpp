// The messages between processes, and those between matchers. The first byte of the input selects a message,
// the others are its fields. A decoded message encodes to the same bytes, unless it has differences.
#include "sluice/runtime/wire.hpp"

#include <algorithm>

#include "control_protocol.hpp"
#include "exchange_protocol.hpp"
#include "support.hpp"

using namespace sluice;

namespace {

/// Differences may be written in several ways.
template <class Message>
constexpr bool has_one_encoding = !std::is_same_v<Message, runtime::MessageToRegistry> &&
                                  !std::is_same_v<Message, runtime::MessageToMatcher>;

template <class Message>
void check(std::span<const std::byte> fields) {
  fuzz::refuse_or([&] {
    const auto encoded = runtime::encode(runtime::decode<Message>(fields));
    fuzz::require(encoded.size() == fields.size() || !has_one_encoding<Message>,
                  "a message goes through its encoding with its size");
    fuzz::require(runtime::encode(runtime::decode<Message>(encoded)) == encoded,
                  "a message goes through its encoding unchanged");
  });
}

using Check = void (*)(std::span<const std::byte>);
constexpr Check checks[] = {
    check<runtime::Hello>,
    check<runtime::Welcome>,
    check<runtime::Open>,
    check<runtime::Opened>,
    check<runtime::SegmentRequest>,
    check<runtime::DiskRequest>,
    check<runtime::Batch>,
    check<runtime::Done>,
    check<runtime::SegmentGrant>,
    check<runtime::HeaderRequest>,
    check<runtime::Close>,
    check<runtime::Get>,
    check<runtime::Plans>,
    check<runtime::OpenFile>,
    check<runtime::FileOpened>,
    check<runtime::FileHolder>,
    check<runtime::ImageMade>,
    check<runtime::ListRequest>,
    check<runtime::Listing>,
    check<runtime::WatchRequest>,
    check<runtime::RunView>,
    check<runtime::ErrorReply>,
    check<runtime::DropSegments>,
    check<runtime::CoordinatorHello>,
    check<runtime::ComponentExited>,
    check<runtime::FilePublished>,
    check<runtime::JobNote>,
    check<runtime::ComponentSettled>,
    check<runtime::EventNotice>,
    check<runtime::Note>,
    check<runtime::StatusReport>,
    check<runtime::MessageToRegistry>,
    check<runtime::MessageToMatcher>,
    check<runtime::OffersNotice>,
    check<runtime::SyncRequest>,
    check<runtime::PutNotice>,
    check<runtime::LogNotice>,
    check<runtime::NameFile>,
    check<runtime::AwaitFile>,
    check<runtime::FetchSegment>,
    check<runtime::Collect>,
    check<runtime::Collected>,
    check<runtime::MatchParts>,
    check<runtime::MatchedParts>,
    check<runtime::Fetch>,
    check<runtime::FetchFailed>,
    check<runtime::Bring>,
    check<runtime::Brought>,
    check<runtime::ReadMemory>,
    check<runtime::MemoryRead>,
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  checks[data[0] % std::size(checks)](fuzz::as_bytes(data, size).subspan(1));
  return 0;
}
