#pragma once
// The fields of structs that are parts of messages between processes and matchers, and between matchers.
#include "sluice/matcher/dataset_key.hpp"
#include "sluice/matcher/log_range.hpp"
#include "sluice/matcher/log_shift.hpp"
#include "sluice/matcher/request_table.hpp"
#include "sluice/matcher/step_pattern.hpp"
#include "sluice/matcher/step_view.hpp"
#include "sluice/runtime/protocol.hpp"
#include "wire_codec.hpp"

namespace sluice::runtime {

void fields(auto& a, Is<matcher::DatasetKey> auto& m) {
  a(m.rule, m.name);
}
void fields(auto& a, Is<matcher::LogRange> auto& m) {
  a(m.writer, m.log_offset, m.length_bytes, m.segment, m.segment_offset);
}
void fields(auto& a, Is<matcher::LogShift> auto& m) {
  a(m.writer, m.bytes);
}
void fields(auto& a, Is<matcher::LogPlace> auto& m) {
  a(m.metadata_path, m.offset_bytes, m.is_kept);
}
void fields(auto& a, Is<matcher::Keep> auto& m) {
  a(m.keeps, m.variables);
}
void fields(auto& a, Is<matcher::TablePosition> auto& m) {
  a(m.chunks, m.bytes, m.lists);
}
void fields(auto& a, Is<matcher::Fingerprint> auto& m) {
  a(m.low, m.high);
}
void fields(auto& a, Is<matcher::LogExtent::Dimension> auto& m) {
  a(m.dimid, m.first, m.end);
}
void fields(auto& a, Is<matcher::LogExtent> auto& m) {
  a(m.is_known, m.variables, m.dimensions);
}
void fields(auto& a, Is<matcher::LogSegment> auto& m) {
  a(m.segment, m.bytes);
}
void fields(auto& a, Is<matcher::LogView> auto& m) {
  a(m.tables, m.data, m.ranges, m.published, m.is_complete, m.is_cut, m.extent, m.begin, m.first_offset);
}
void fields(auto& a, Is<matcher::StepPattern> auto& m) {
  a(m.whole, m.latest, m.base_record, m.first_writer, m.last_put);
}

// Messages from the registry to processes and to the coordinator.
void fields(auto& a, Is<Created> auto& m) {
  a(m.step, m.control, m.publish_at);
}
void fields(auto& a, Is<Described> auto& m) {
  a(m.version);
}
void fields(auto& a, Is<Opened> auto& m) {
  a(m.step, m.control, m.version, m.record_count, m.header, m.pattern, m.ranges, m.publish_at, m.origin,
    m.path, m.is_continued, m.first_offsets, m.is_in_files, m.base, m.stream_number);
}
void fields(auto& a, Is<DiskFreed> auto& m) {
  a(m.given_back);
}
void fields(auto& a, Is<PublishedFile> auto& m) {
  a(m.key, m.name, m.path, m.step, m.bytes, m.age_ms, m.publication);
}
void fields(auto& a, Is<Listing> auto& m) {
  a(m.files, m.gone, m.last);
}
void fields(auto& a, Is<AccessCounters> auto& m) {
  a(m.puts, m.put_bytes, m.gets, m.get_bytes, m.open_wait_us, m.replayed_gets);
}
void fields(auto& a, Is<GatheringStatus> auto& m) {
  a(m.component, m.call, m.present, m.size, m.absent, m.are_all_processes, m.are_its_ranks, m.since_ms);
}
void fields(auto& a, Is<WaitStatus> auto& m) {
  a(m.component, m.processes, m.waits_for, m.since_ms, m.ranks, m.is_doubtful);
}
void fields(auto& a, Is<matcher::CopyStatus> auto& m) {
  a(m.component, m.file, m.is_put, m.processes, m.since_ms, m.ranks);
}
void fields(auto& a, Is<DrainStatus> auto& m) {
  a(m.rule, m.name, m.done_bytes, m.total_bytes);
}
void fields(auto& a, Is<Activity> auto& m) {
  a(m.kind, m.component, m.rank, m.rule, m.file, m.begin_ms, m.end_ms, m.bytes, m.busy_us);
}
void fields(auto& a, Is<matcher::ComponentView> auto& m) {
  a(m.name, m.processes, m.connected, m.waiting, m.has_connected, m.has_exited, m.how);
}
void fields(auto& a, Is<matcher::RuleUse> auto& m) {
  a(m.rule, m.component, m.counters);
}
void fields(auto& a, Is<matcher::RuleTotals> auto& m) {
  a(m.files, m.steps, m.discarded);
}
void fields(auto& a, Is<matcher::ReaderStatus> auto& m) {
  a(m.reader, m.taken, m.skipped, m.missed);
}
void fields(auto& a, Is<matcher::PartlyRead> auto& m) {
  a(m.reader, m.files, m.name, m.closes, m.is_by_puts);
}
void fields(auto& a, Is<matcher::RuleStatus> auto& m) {
  a(m.users, m.published_for_ms, m.readers, m.partly_read);
}
void fields(auto& a, Is<matcher::SilentMatcher> auto& m) {
  a(m.rank, m.node, m.host, m.process, m.silence_ms);
}
void fields(auto& a, Is<matcher::RuleView> auto& m) {
  a(m.pattern, m.writer, m.readers, m.totals, m.use);
}
void fields(auto& a, Is<matcher::FileUser> auto& m) {
  a(m.component, m.processes, m.is_writing, m.since_ms);
}
void fields(auto& a, Is<matcher::FileView> auto& m) {
  a(m.rule, m.name, m.is_published, m.bytes, m.users, m.read_by, m.unread_by);
}
void fields(auto& a, Is<matcher::NodeView> auto& m) {
  a(m.used_bytes, m.limit_bytes, m.peak_bytes, m.spilled_bytes);
}
void fields(auto& a, Is<RunView> auto& m) {
  a(m.now_ms, m.components, m.rules, m.uses, m.files, m.more_files, m.waits, m.gatherings, m.copies, m.silent,
    m.nodes, m.drains, m.waiting_drains, m.activities, m.last_activity, m.lost_activities);
}
void fields(auto& a, Is<ErrorReply> auto& m) {
  a(m.status, m.text);
}
void fields(auto& a, Is<matcher::LinkCounters> auto& m) {
  a(m.packets_sent, m.bytes_sent, m.packets_received, m.bytes_received);
}
void fields(auto& a, Is<MatcherStatus> auto& m) {
  a(m.rank, m.node, m.requests, m.landed_bytes, m.links);
}
void fields(auto& a, Is<EventNotice> auto& m) {
  a(m.text, m.is_detail);
}
void fields(auto& a, Is<Hello> auto& m) {
  a(m.protocol, m.library_version, m.process_token, m.process_id, m.component, m.is_child_of_component,
    m.is_for_file, m.rank);
}
void fields(auto& a, Is<Member> auto& m) {
  a(m.group, m.rank, m.size, m.spans_nodes);
}
void fields(auto& a, Is<CreateRequest> auto& m) {
  a(m.key, m.member, m.no_clobber, m.version, m.path, m.is_import, m.goes_on, m.is_in_place);
}
void fields(auto& a, Is<CreateOffered> auto& m) {
  a(m.step, m.create);
}
void fields(auto& a, Is<OpenRequest> auto& m) {
  a(m.key, m.member, m.path, m.is_on_disk, m.continues, m.is_look, m.wants_newest, m.is_behind_memory);
}
void fields(auto& a, Is<OpenOffered> auto& m) {
  a(m.page, m.step, m.open);
}
void fields(auto& a, Is<LogPattern> auto& m) {
  a(m.requests, m.base_record, m.records_end, m.reaches_below_base, m.last_put);
}
void fields(auto& a, Is<SegmentRequest> auto& m) {
  a(m.step, m.use, m.bytes, m.wanted_bytes, m.log, m.is_ahead, m.is_on_disk);
}
void fields(auto& a, Is<DiskRequest> auto& m) {
  a(m.step, m.bytes, m.seen, m.trouble);
}
void fields(auto& a, Is<HeaderRequest> auto& m) {
  a(m.step, m.header, m.structure, m.version);
}
void fields(auto& a, Is<matcher::CallSpan> auto& m) {
  a(m.first_us, m.last_us, m.busy_us);
}
void fields(auto& a, Is<matcher::AccessTimes> auto& m) {
  a(m.puts, m.gets);
}
void fields(auto& a, Is<PublishRequest> auto& m) {
  a(m.step, m.record_count, m.counters, m.pattern, m.ranges, m.position, m.file_bytes, m.times, m.extent,
    m.closes);
}
void fields(auto& a, Is<matcher::SyncPoint> auto& m) {
  a(m.position, m.record_count, m.requests);
}
void fields(auto& a, Is<SyncRequest> auto& m) {
  a(m.step, m.point);
}
void fields(auto& a, Is<Discard> auto& m) {
  a(m.step, m.end, m.reason, m.key);
}
void fields(auto& a, Is<CloseRequest> auto& m) {
  a(m.step, m.counters, m.times, m.group);
}
void fields(auto& a, Is<ImageRequest> auto& m) {
  a(m.step);
}
void fields(auto& a, Is<ListRequest> auto& m) {
  a(m.directory, m.has_sizes, m.after, m.newer_than, m.component);
}
void fields(auto& a, Is<WatchRequest> auto& m) {
  a(m.has_activities, m.after_activity, m.is_for_progress);
}
void fields(auto& a, Is<Remove> auto& m) {
  a(m.key, m.path);
}
void fields(auto& a, Is<ChangeFile> auto& m) {
  a(m.key, m.path, m.removes);
}
void fields(auto& a, Is<OrdinaryFile> auto& m) {
  a(m.rule, m.path, m.is_written, m.modified_s, m.component);
}
void fields(auto& a, Is<Gathering> auto& m) {
  a(m.key, m.call, m.rank, m.size, m.ranks, m.first_rank, m.stride, m.waited_ms, m.is_over);
}
void fields(auto& a, Is<Complaint> auto& m) {
  a(m.rule, m.text);
}
void fields(auto& a, Is<CopyNotice> auto& m) {
  a(m.number, m.step, m.is_put, m.is_over);
}

}  // namespace sluice::runtime
