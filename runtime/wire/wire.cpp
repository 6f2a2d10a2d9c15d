#include "sluice/runtime/wire.hpp"

#include "wire_codec.hpp"
#include "wire_fields.hpp"

namespace sluice::runtime {

std::string_view message_name(MessageType type) noexcept {
  switch (type) {
#define SLUICE_MESSAGE_ROW(number, name) \
  case MessageType::name:                \
    return #name;
#include "sluice/runtime/messages.def"
  }
  return "unknown";
}

SLUICE_MESSAGE(Hello)
SLUICE_MESSAGE(Welcome)
SLUICE_MESSAGE(OffersNotice)
SLUICE_MESSAGE(Open)
SLUICE_MESSAGE(Opened)
SLUICE_MESSAGE(SegmentRequest)
SLUICE_MESSAGE(DiskRequest)
SLUICE_MESSAGE(Batch)
SLUICE_MESSAGE(SegmentGrant)
SLUICE_MESSAGE(HeaderRequest)
SLUICE_MESSAGE(SyncRequest)
SLUICE_MESSAGE(Close)
SLUICE_MESSAGE(PutNotice)
SLUICE_MESSAGE(LogNotice)
SLUICE_MESSAGE(Note)
SLUICE_MESSAGE(Get)
SLUICE_MESSAGE(Plans)
SLUICE_MESSAGE(ImageMade)
SLUICE_MESSAGE(OpenFile)
SLUICE_MESSAGE(FileOpened)
SLUICE_MESSAGE(FileHolder)
SLUICE_MESSAGE(ListRequest)
SLUICE_MESSAGE(WatchRequest)
SLUICE_MESSAGE(RunView)
SLUICE_MESSAGE(Listing)
SLUICE_MESSAGE(NameFile)
SLUICE_MESSAGE(AwaitFile)
SLUICE_MESSAGE(Done)
SLUICE_MESSAGE(ErrorReply)
SLUICE_MESSAGE(DropSegments)
SLUICE_MESSAGE(FetchSegment)
SLUICE_MESSAGE(CoordinatorHello)
SLUICE_MESSAGE(ComponentExited)
SLUICE_MESSAGE(FilePublished)
SLUICE_MESSAGE(JobNote)
SLUICE_MESSAGE(ComponentSettled)
SLUICE_MESSAGE(StatusReport)
SLUICE_MESSAGE(EventNotice)

}  // namespace sluice::runtime
