#include "sluice/runtime/wire.hpp"

#include "wire_codec.hpp"
#include "wire_fields.hpp"

namespace sluice::runtime {

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
    case MessageType::fetch_segment:
      return "fetch_segment";
    case MessageType::sync:
      return "sync";
    case MessageType::put_notice:
      return "put_notice";
    case MessageType::log_notice:
      return "log_notice";
    case MessageType::inquire:
      return "inquire";
    case MessageType::await_disk:
      return "await_disk";
    case MessageType::create_offered:
      return "create_offered";
    case MessageType::open_offered:
      return "open_offered";
    case MessageType::mail:
      return "mail";
    case MessageType::offers:
      return "offers";
    case MessageType::batch:
      return "batch";
    case MessageType::ordinary_file:
      return "ordinary_file";
    case MessageType::complaint:
      return "complaint";
    case MessageType::copy_notice:
      return "copy_notice";
    case MessageType::gathering:
      return "gathering";
    case MessageType::image:
      return "image";
    case MessageType::list:
      return "list";
    case MessageType::list_written:
      return "list_written";
    case MessageType::read_image:
      return "read_image";
    case MessageType::keep_image:
      return "keep_image";
    case MessageType::newest_image:
      return "newest_image";
    case MessageType::watch:
      return "watch";
    case MessageType::watch_query:
      return "watch_query";
    case MessageType::run_view:
      return "run_view";
    case MessageType::listing:
      return "listing";
    case MessageType::image_made:
      return "image_made";
    case MessageType::open_file:
      return "open_file";
    case MessageType::file_opened:
      return "file_opened";
    case MessageType::file_holders:
      return "file_holders";
    case MessageType::remove_file:
      return "remove_file";
    case MessageType::name_file:
      return "name_file";
    case MessageType::await_file:
      return "await_file";
    case MessageType::change_file:
      return "change_file";
    case MessageType::welcome:
      return "welcome";
    case MessageType::created:
      return "created";
    case MessageType::opened:
      return "opened";
    case MessageType::described:
      return "described";
    case MessageType::disk_freed:
      return "disk_freed";
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
    case MessageType::component_may_start:
      return "component_may_start";
    case MessageType::shutdown:
      return "shutdown";
    case MessageType::ready:
      return "ready";
    case MessageType::status:
      return "status";
    case MessageType::job_begun:
      return "job_begun";
    case MessageType::job_ended:
      return "job_ended";
    case MessageType::event:
      return "event";
    case MessageType::file_published:
      return "file_published";
    case MessageType::component_settled:
      return "component_settled";
  }
  return "unknown";
}

SLUICE_MESSAGE(Hello)
SLUICE_MESSAGE(Welcome)
SLUICE_MESSAGE(CreateRequest)
SLUICE_MESSAGE(CreateOffered)
SLUICE_MESSAGE(Created)
SLUICE_MESSAGE(OffersNotice)
SLUICE_MESSAGE(OpenRequest)
SLUICE_MESSAGE(OpenOffered)
SLUICE_MESSAGE(Opened)
SLUICE_MESSAGE(Described)
SLUICE_MESSAGE(SegmentRequest)
SLUICE_MESSAGE(DiskRequest)
SLUICE_MESSAGE(Batch)
SLUICE_MESSAGE(DiskFreed)
SLUICE_MESSAGE(SegmentGrant)
SLUICE_MESSAGE(HeaderRequest)
SLUICE_MESSAGE(PublishRequest)
SLUICE_MESSAGE(Discard)
SLUICE_MESSAGE(SyncRequest)
SLUICE_MESSAGE(PutNotice)
SLUICE_MESSAGE(LogNotice)
SLUICE_MESSAGE(CloseRequest)
SLUICE_MESSAGE(OrdinaryFile)
SLUICE_MESSAGE(Gathering)
SLUICE_MESSAGE(CopyNotice)
SLUICE_MESSAGE(Complaint)
SLUICE_MESSAGE(Get)
SLUICE_MESSAGE(Plans)
SLUICE_MESSAGE(ImageRequest)
SLUICE_MESSAGE(ImageMade)
SLUICE_MESSAGE(OpenFile)
SLUICE_MESSAGE(FileOpened)
SLUICE_MESSAGE(FileHolder)
SLUICE_MESSAGE(NewestImageRequest)
SLUICE_MESSAGE(ListRequest)
SLUICE_MESSAGE(WatchRequest)
SLUICE_MESSAGE(RunView)
SLUICE_MESSAGE(Listing)
SLUICE_MESSAGE(Remove)
SLUICE_MESSAGE(NameFile)
SLUICE_MESSAGE(AwaitFile)
SLUICE_MESSAGE(ChangeFile)
SLUICE_MESSAGE(ErrorReply)
SLUICE_MESSAGE(DropSegments)
SLUICE_MESSAGE(FetchSegment)
SLUICE_MESSAGE(CoordinatorHello)
SLUICE_MESSAGE(ComponentExited)
SLUICE_MESSAGE(ComponentMayStart)
SLUICE_MESSAGE(FilePublished)
SLUICE_MESSAGE(JobNote)
SLUICE_MESSAGE(ComponentSettled)
SLUICE_MESSAGE(StatusReport)
SLUICE_MESSAGE(EventNotice)

}  // namespace sluice::runtime
