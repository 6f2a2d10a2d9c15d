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
    case MessageType::inquire:
      return "inquire";
    case MessageType::await_room:
      return "await_room";
    case MessageType::several:
      return "several";
    case MessageType::ordinary_file:
      return "ordinary_file";
    case MessageType::welcome:
      return "welcome";
    case MessageType::created:
      return "created";
    case MessageType::opened:
      return "opened";
    case MessageType::described:
      return "described";
    case MessageType::room:
      return "room";
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

// The wire order of each struct, once for both directions.
void fields(auto& a, Is<DatasetKey> auto& m) {
  a(m.rule, m.name);
}
void fields(auto& a, Is<Hello> auto& m) {
  a(m.protocol, m.library_version, m.process_token, m.process_id, m.component, m.is_child_of_component);
}
void fields(auto& a, Is<Welcome> auto& m) {
  a(m.protocol, m.library_version, m.matcher_rank, m.node);
}
void fields(auto& a, Is<Member> auto& m) {
  a(m.group, m.rank, m.size, m.spans_nodes);
}
void fields(auto& a, Is<Create> auto& m) {
  a(m.key, m.member, m.no_clobber, m.version, m.path, m.is_import);
}
void fields(auto& a, Is<Created> auto& m) {
  a(m.step, m.control, m.publish_at);
}
void fields(auto& a, Is<Open> auto& m) {
  a(m.key, m.member, m.path, m.is_on_disk, m.continues);
}
void fields(auto& a, Is<Inquire> auto& m) {
  a(m.key, m.member, m.path, m.is_on_disk);
}
void fields(auto& a, Is<Described> auto& m) {
  a(m.version);
}
void fields(auto& a, Is<LogPattern> auto& m) {
  a(m.requests, m.base_record, m.records_end, m.reaches_below_base, m.extent, m.last_put);
}
void fields(auto& a, Is<Opened> auto& m) {
  a(m.step, m.control, m.version, m.record_count, m.header, m.pattern, m.ranges, m.publish_at, m.origin,
    m.path, m.is_continued, m.first_offsets);
}
void fields(auto& a, Is<NeedSegment> auto& m) {
  a(m.step, m.use, m.bytes, m.wanted_bytes, m.log.metadata_path, m.log.offset_bytes, m.log.is_kept,
    m.is_ahead);
}
void fields(auto& a, Is<Several::Request> auto& m) {
  a(m.type, m.tag, m.fields);
}
void fields(auto& a, Is<Several> auto& m) {
  a(m.requests);
}
void fields(auto& a, Is<AwaitRoom> auto& m) {
  a(m.step, m.bytes, m.seen, m.trouble);
}
void fields(auto& a, Is<Room> auto& m) {
  a(m.given_back);
}
void fields(auto& a, Is<SegmentGrant> auto& m) {
  a(m.segment, m.bytes, m.has_descriptor, m.offset_bytes, m.is_of_log, m.has_cheap_faults, m.file);
}
void fields(auto& a, Is<HeaderUpdate> auto& m) {
  a(m.step, m.header, m.structure);
}
void fields(auto& a, Is<AccessCounters> auto& m) {
  a(m.puts, m.put_bytes, m.gets, m.get_bytes, m.open_wait_us, m.replayed_gets);
}
void fields(auto& a, Is<Publish> auto& m) {
  a(m.step, m.record_count, m.counters, m.pattern, m.ranges, m.position);
}
void fields(auto& a, Is<Sync> auto& m) {
  a(m.step, m.position, m.record_count, m.requests);
}
void fields(auto& a, Is<PutNotice> auto& m) {
  a(m.step);
}
void fields(auto& a, Is<Discard> auto& m) {
  a(m.step, m.is_untouched);
}
void fields(auto& a, Is<CloseRead> auto& m) {
  a(m.step, m.counters);
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
void fields(auto& a, Is<Remove> auto& m) {
  a(m.key, m.path);
}
void fields(auto& a, Is<ErrorReply> auto& m) {
  a(m.status, m.text);
}
void fields(auto& a, Is<FetchSegment> auto& m) {
  a(m.segment);
}
void fields(auto& a, Is<DropSegments> auto& m) {
  a(m.segments);
}
void fields(auto& a, Is<FileRule> auto& m) {
  a(m.pattern, m.writer, m.readers, m.replays, m.publish_at, m.through, m.partition, m.keep, m.identity);
}
void fields(auto& a, Is<ComponentSize> auto& m) {
  a(m.name, m.processes);
}
void fields(auto& a, Is<CoordinatorHello> auto& m) {
  a(m.protocol, m.rules, m.components, m.memory_bytes, m.retain_bytes, m.spill_directory,
    m.may_spill_elsewhere, m.prewarm_bytes, m.prewarms_huge_pages_only, m.directory);
}
void fields(auto& a, Is<ComponentExited> auto& m) {
  a(m.component, m.reason);
}
void fields(auto& a, Is<DatasetStatus> auto& m) {
  a(m.rule, m.tail, m.steps_published, m.steps_discarded, m.counters, m.bytes_staged, m.bytes_kept,
    m.bytes_spilled, m.steps_lost);
}
void fields(auto& a, Is<OrdinaryFile> auto& m) {
  a(m.rule, m.path, m.is_written, m.modified_s, m.component);
}
void fields(auto& a, Is<RuleStatus> auto& m) {
  a(m.users, m.published_for_ms);
}
void fields(auto& a, Is<KeptLogs> auto& m) {
  a(m.tail, m.directory);
}
void fields(auto& a, Is<WaitStatus> auto& m) {
  a(m.component, m.processes, m.waits_for, m.since_ms);
}
void fields(auto& a, Is<matcher::LinkCounters> auto& m) {
  a(m.packets_sent, m.bytes_sent, m.packets_received, m.bytes_received);
}
void fields(auto& a, Is<MatcherStatus> auto& m) {
  a(m.rank, m.node, m.requests, m.landed_bytes, m.links);
}
void fields(auto& a, Is<DrainStatus> auto& m) {
  a(m.rule, m.tail, m.is_active, m.done_bytes, m.total_bytes);
}
void fields(auto& a, Is<StatusReport> auto& m) {
  a(m.datasets, m.waits, m.bytes_staged, m.bytes_staged_peak, m.bytes_spilled, m.bytes_spilled_ever,
    m.matchers, m.drains, m.drain_failures, m.components_ended, m.rules, m.connected, m.ordinary_files,
    m.kept_logs);
}
void fields(auto& a, Is<EventNotice> auto& m) {
  a(m.text, m.is_detail);
}

SLUICE_MESSAGE(Hello)
SLUICE_MESSAGE(Welcome)
SLUICE_MESSAGE(Create)
SLUICE_MESSAGE(Created)
SLUICE_MESSAGE(Open)
SLUICE_MESSAGE(Opened)
SLUICE_MESSAGE(Inquire)
SLUICE_MESSAGE(Described)
SLUICE_MESSAGE(NeedSegment)
SLUICE_MESSAGE(AwaitRoom)
SLUICE_MESSAGE(Several)
SLUICE_MESSAGE(Room)
SLUICE_MESSAGE(SegmentGrant)
SLUICE_MESSAGE(HeaderUpdate)
SLUICE_MESSAGE(Publish)
SLUICE_MESSAGE(Discard)
SLUICE_MESSAGE(Sync)
SLUICE_MESSAGE(PutNotice)
SLUICE_MESSAGE(CloseRead)
SLUICE_MESSAGE(OrdinaryFile)
SLUICE_MESSAGE(Get)
SLUICE_MESSAGE(Plans)
SLUICE_MESSAGE(Remove)
SLUICE_MESSAGE(ErrorReply)
SLUICE_MESSAGE(DropSegments)
SLUICE_MESSAGE(FetchSegment)
SLUICE_MESSAGE(MatcherStatus)
SLUICE_MESSAGE(CoordinatorHello)
SLUICE_MESSAGE(ComponentExited)
SLUICE_MESSAGE(StatusReport)
SLUICE_MESSAGE(EventNotice)

}  // namespace sluice::runtime
