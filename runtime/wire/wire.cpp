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

// The wire order of each struct, once for both directions.
void fields(auto& a, Is<Welcome> auto& m) {
  a(m.protocol, m.library_version, m.matcher_rank, m.node);
}
void fields(auto& a, Is<Batch::Request> auto& m) {
  a(m.type, m.tag, m.fields);
}
void fields(auto& a, Is<Batch> auto& m) {
  a(m.requests);
}
void fields(auto& a, Is<SegmentGrant> auto& m) {
  a(m.segment, m.bytes, m.has_descriptor, m.offset_bytes, m.is_of_log, m.has_cheap_faults, m.file);
}
void fields(auto& a, Is<OffersNotice> auto& m) {
  a(m.page, m.rule, m.rank, m.size, m.written);
}
void fields(auto& a, Is<PutNotice> auto& m) {
  a(m.step);
}
void fields(auto& a, Is<LogNotice> auto& m) {
  a(m.metadata_path, m.is_removed);
}
void fields(auto& a, Is<ReadList> auto& m) {
  a(m.slabs, m.dimensions, m.has_strides, m.numbers);
}
void fields(auto& a, Is<ReadAccess> auto& m) {
  a(m.varid, m.list);
}
void fields(auto& a, Is<Get> auto& m) {
  a(m.step, m.lists, m.accesses, m.is_by_writer);
}
void fields(auto& a, Is<PlanUse> auto& m) {
  a(m.plan, m.shifts);
}
void fields(auto& a, Is<Plans> auto& m) {
  a(m.ranges, m.plans, m.record_count, m.uses);
}
void fields(auto& a, Is<ImageMade> auto& m) {
  a(m.bytes, m.path, m.step, m.grows);
}
void fields(auto& a, Is<NewestImageRequest> auto& m) {
  a(m.key, m.path);
}
void fields(auto& a, Is<OpenFile> auto& m) {
  a(m.key, m.path, m.is_on_disk, m.flags, m.permissions, m.closes, m.is_in_files, m.is_in_place, m.is_adopted,
    m.is_renamed, m.is_by_mpi_io);
}
void fields(auto& a, Is<FileOpened> auto& m) {
  a(m.is_ordinary);
}
void fields(auto& a, Is<FileIdentity> auto& m) {
  a(m.device, m.file);
}
void fields(auto& a, Is<NameFile> auto& m) {
  a(m.how, m.from, m.to, m.must_be_new);
}
void fields(auto& a, Is<AwaitFile> auto& m) {
  a(m.file);
}
void fields(auto& a, Is<FileHolder> auto& m) {
  a(m.holds, m.files, m.is_by_exec);
}
void fields(auto& a, Is<FetchSegment> auto& m) {
  a(m.segment);
}
void fields(auto& a, Is<DropSegments> auto& m) {
  a(m.segments);
}
void fields(auto& a, Is<ReaderMode> auto& m) {
  a(m.reader, m.mode, m.every);
}
void fields(auto& a, Is<FileRule> auto& m) {
  FileRule::each(m, a);
}
void fields(auto& a, Is<ComponentSize> auto& m) {
  a(m.name, m.processes, m.restarts, m.opens_per_step, m.after, m.ensemble, m.at_most);
}
void fields(auto& a, Is<JobReader> auto& m) {
  a(m.component, m.rule, m.at_most, m.processes);
}
void fields(auto& a, Is<CoordinatorHello> auto& m) {
  a(m.protocol, m.rules, m.components, m.memory_bytes, m.retain_bytes, m.spill_directory,
    m.may_spill_elsewhere, m.prewarm_bytes, m.prewarms_huge_pages_only, m.directory, m.job_readers,
    m.step_record);
}
void fields(auto& a, Is<FilePublished> auto& m) {
  a(m.component, m.step, m.path, m.number);
}
void fields(auto& a, Is<JobNote> auto& m) {
  a(m.component, m.step, m.is_done);
}
void fields(auto& a, Is<ComponentSettled> auto& m) {
  a(m.component);
}
void fields(auto& a, Is<ComponentExited> auto& m) {
  a(m.component, m.reason, m.starts_again);
}
void fields(auto& a, Is<ComponentMayStart> auto& m) {
  a(m.component);
}
void fields(auto& a, Is<DatasetStatus> auto& m) {
  a(m.rule, m.name, m.steps_published, m.steps_discarded, m.counters, m.bytes_staged, m.bytes_kept,
    m.bytes_spilled, m.steps_lost, m.files);
}
void fields(auto& a, Is<KeptLogs> auto& m) {
  a(m.name, m.directory);
}
void fields(auto& a, Is<StatusReport> auto& m) {
  a(m.datasets, m.bytes_staged, m.bytes_staged_peak, m.bytes_spilled, m.bytes_spilled_ever, m.matchers,
    m.drain_failures, m.rules, m.connected, m.ordinary_files, m.kept_logs);
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
