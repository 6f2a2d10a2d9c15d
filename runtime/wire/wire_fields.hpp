#pragma once
// The fields of messages between processes and matchers, in wire order, and of parts that they share with
// messages between matchers.
#include "sluice/matcher/dataset_key.hpp"
#include "sluice/matcher/log_range.hpp"
#include "sluice/matcher/log_shift.hpp"
#include "sluice/matcher/request_table.hpp"
#include "sluice/matcher/step_pattern.hpp"
#include "sluice/matcher/step_view.hpp"
#include "sluice/runtime/protocol.hpp"
#include "wire_codec.hpp"

namespace sluice::runtime {

SLUICE_FIELDS(matcher::DatasetKey, m.rule, m.name)
SLUICE_FIELDS(matcher::LogRange, m.writer, m.log_offset, m.length_bytes, m.segment, m.segment_offset)
SLUICE_FIELDS(matcher::LogShift, m.writer, m.bytes)
SLUICE_FIELDS(matcher::LogPlace, m.metadata_path, m.offset_bytes, m.is_kept)
SLUICE_FIELDS(matcher::Keep, m.keeps, m.variables)
SLUICE_FIELDS(matcher::TablePosition, m.chunks, m.bytes, m.lists)
SLUICE_FIELDS(matcher::Fingerprint, m.low, m.high)
SLUICE_FIELDS(matcher::LogExtent::Dimension, m.dimid, m.first, m.end)
SLUICE_FIELDS(matcher::LogExtent, m.is_known, m.variables, m.dimensions)
SLUICE_FIELDS(matcher::LogSegment, m.segment, m.bytes)
SLUICE_FIELDS(matcher::LogView, m.tables, m.data, m.ranges, m.published, m.is_complete, m.is_cut, m.extent,
              m.begin, m.first_offset)
SLUICE_FIELDS(matcher::StepPattern, m.whole, m.latest, m.base_record, m.first_writer, m.last_put)

// Messages from the registry to processes and to the coordinator.
SLUICE_FIELDS(Opened, m.step, m.control, m.version, m.record_count, m.header, m.pattern, m.ranges,
              m.publish_at, m.origin, m.path, m.stays, m.first_offsets, m.is_in_files, m.base,
              m.stream_number)
SLUICE_FIELDS(Done, m.given_back)
SLUICE_FIELDS(PublishedFile, m.key, m.name, m.path, m.step, m.bytes, m.age_ms, m.publication)
SLUICE_FIELDS(Listing, m.files, m.gone, m.last)
SLUICE_FIELDS(AccessCounters, m.puts, m.put_bytes, m.gets, m.get_bytes, m.open_wait_us, m.replayed_gets,
              m.opens, m.opened_bytes)
SLUICE_FIELDS(GatheringStatus, m.component, m.call, m.present, m.size, m.absent, m.are_all_processes,
              m.are_its_ranks, m.since_ms)
SLUICE_FIELDS(WaitStatus, m.component, m.processes, m.waits_for, m.since_ms, m.ranks, m.is_doubtful)
SLUICE_FIELDS(matcher::CopyStatus, m.component, m.file, m.is_put, m.processes, m.since_ms, m.ranks)
SLUICE_FIELDS(DrainStatus, m.rule, m.name, m.done_bytes, m.total_bytes)
SLUICE_FIELDS(Activity, m.kind, m.component, m.rank, m.rule, m.file, m.begin_ms, m.end_ms, m.bytes, m.busy_us)
SLUICE_FIELDS(matcher::ComponentView, m.name, m.processes, m.connected, m.waiting, m.has_connected,
              m.has_exited, m.how)
SLUICE_FIELDS(matcher::RuleUse, m.rule, m.component, m.counters)
SLUICE_FIELDS(matcher::RuleTotals, m.files, m.steps, m.discarded)
SLUICE_FIELDS(matcher::ReaderStatus, m.reader, m.taken, m.skipped, m.missed)
SLUICE_FIELDS(matcher::PartlyRead, m.reader, m.files, m.name, m.closes, m.is_by_puts)
SLUICE_FIELDS(matcher::RuleStatus, m.users, m.published_for_ms, m.readers, m.partly_read)
SLUICE_FIELDS(matcher::SilentMatcher, m.rank, m.node, m.host, m.process, m.silence_ms)
SLUICE_FIELDS(matcher::RuleView, m.pattern, m.writer, m.readers, m.totals, m.use)
SLUICE_FIELDS(matcher::FileUser, m.component, m.processes, m.is_writing, m.since_ms)
SLUICE_FIELDS(matcher::FileView, m.rule, m.name, m.is_published, m.bytes, m.users, m.read_by, m.unread_by)
SLUICE_FIELDS(matcher::NodeView, m.used_bytes, m.limit_bytes, m.peak_bytes, m.spilled_bytes)
SLUICE_FIELDS(RunView, m.now_ms, m.components, m.rules, m.uses, m.files, m.more_files, m.waits, m.gatherings,
              m.copies, m.silent, m.nodes, m.drains, m.waiting_drains, m.activities, m.last_activity,
              m.lost_activities)
SLUICE_FIELDS(ErrorReply, m.status, m.text)
SLUICE_FIELDS(matcher::LinkCounters, m.packets_sent, m.bytes_sent, m.packets_received, m.bytes_received)
SLUICE_FIELDS(MatcherStatus, m.rank, m.node, m.requests, m.landed_bytes, m.links)
SLUICE_FIELDS(EventNotice, m.text, m.is_detail)
SLUICE_FIELDS(Hello, m.protocol, m.library_version, m.process_token, m.process_id, m.component,
              m.is_child_of_component, m.is_for_file, m.rank)
SLUICE_FIELDS(Member, m.group, m.rank, m.size, m.spans_nodes)
SLUICE_FIELDS(Open::Taken, m.step, m.page)
SLUICE_FIELDS(Open, m.key, m.member, m.path, m.purpose, m.which, m.version, m.no_clobber, m.is_import,
              m.goes_on, m.is_in_place, m.is_on_disk, m.continues, m.wants, m.is_kept, m.taken)
SLUICE_FIELDS(LogPattern, m.requests, m.base_record, m.records_end, m.reaches_below_base, m.last_put)
SLUICE_FIELDS(SegmentRequest, m.step, m.use, m.bytes, m.wanted_bytes, m.log, m.is_ahead, m.is_on_disk)
SLUICE_FIELDS(DiskRequest, m.step, m.bytes, m.seen, m.trouble)
SLUICE_FIELDS(HeaderRequest, m.step, m.header, m.structure, m.version)
SLUICE_FIELDS(matcher::CallSpan, m.first_us, m.last_us, m.busy_us)
SLUICE_FIELDS(matcher::AccessTimes, m.puts, m.gets)
SLUICE_FIELDS(PublishRequest, m.step, m.record_count, m.counters, m.pattern, m.ranges, m.position,
              m.file_bytes, m.times, m.extent, m.closes)
SLUICE_FIELDS(matcher::SyncPoint, m.position, m.record_count, m.requests)
SLUICE_FIELDS(SyncRequest, m.step, m.point)
SLUICE_FIELDS(Discard, m.step, m.end, m.reason, m.key)
SLUICE_FIELDS(ReadEnd, m.step, m.counters, m.times, m.group)
SLUICE_FIELDS(Close, m.how)
SLUICE_FIELDS(ListRequest, m.directory, m.has_sizes, m.after, m.newer_than, m.component, m.is_written)
SLUICE_FIELDS(WatchRequest, m.has_activities, m.after_activity, m.is_for_progress)
SLUICE_FIELDS(OrdinaryFile, m.rule, m.path, m.is_written, m.modified_s, m.component)
SLUICE_FIELDS(Gathering, m.key, m.call, m.rank, m.size, m.ranks, m.first_rank, m.stride, m.waited_ms,
              m.is_over)
SLUICE_FIELDS(Complaint, m.rule, m.text)
SLUICE_FIELDS(CopyNotice, m.number, m.step, m.is_put, m.is_over)
SLUICE_FIELDS(Note, m.what)

// Messages that only processes, the coordinator and their matcher send.
SLUICE_FIELDS(Welcome, m.protocol, m.library_version, m.matcher_rank, m.node)
SLUICE_FIELDS(Batch::Request, m.type, m.tag, m.fields)
SLUICE_FIELDS(Batch, m.requests)
SLUICE_FIELDS(SegmentGrant, m.segment, m.bytes, m.has_descriptor, m.offset_bytes, m.is_of_log,
              m.has_cheap_faults, m.file)
SLUICE_FIELDS(OffersNotice, m.page, m.rule, m.rank, m.size, m.written)
SLUICE_FIELDS(PutNotice, m.step)
SLUICE_FIELDS(LogNotice, m.metadata_path, m.is_removed)
SLUICE_FIELDS(ReadList, m.slabs, m.dimensions, m.has_strides, m.numbers)
SLUICE_FIELDS(ReadAccess, m.varid, m.list)
SLUICE_FIELDS(Get, m.step, m.lists, m.accesses, m.is_by_writer)
SLUICE_FIELDS(PlanUse, m.plan, m.shifts)
SLUICE_FIELDS(Plans, m.ranges, m.plans, m.record_count, m.uses)
SLUICE_FIELDS(ImageMade, m.bytes, m.path, m.step, m.grows, m.count)
SLUICE_FIELDS(OpenFile, m.key, m.path, m.is_on_disk, m.flags, m.permissions, m.closes, m.is_in_files,
              m.is_in_place, m.is_adopted, m.is_renamed, m.is_by_mpi_io, m.is_shown_at_sync, m.save_in)
SLUICE_FIELDS(FileOpened, m.is_ordinary, m.names, m.count)
SLUICE_FIELDS(FileIdentity, m.device, m.file)
SLUICE_FIELDS(NameFile, m.how, m.from, m.to, m.must_be_new)
SLUICE_FIELDS(AwaitFile, m.file, m.is_synced)
SLUICE_FIELDS(FileHolder, m.holds, m.files, m.is_by_exec, m.changed)
SLUICE_FIELDS(FetchSegment, m.segment)
SLUICE_FIELDS(DropSegments, m.segments)
SLUICE_FIELDS(ReaderMode, m.reader, m.mode, m.every)
void fields(auto& a, Is<FileRule> auto& m) {
  FileRule::each(m, a);
}
SLUICE_FIELDS(ComponentSize, m.name, m.processes, m.restarts, m.opens_per_step, m.after, m.ensemble,
              m.at_most)
SLUICE_FIELDS(JobReader, m.component, m.rule, m.at_most, m.processes)
SLUICE_FIELDS(CoordinatorHello, m.protocol, m.rules, m.components, m.memory_bytes, m.retain_bytes,
              m.spill_directory, m.may_spill_elsewhere, m.prewarm_bytes, m.prewarms_huge_pages_only,
              m.directory, m.job_readers, m.step_record)
SLUICE_FIELDS(FilePublished, m.component, m.step, m.path, m.number)
SLUICE_FIELDS(JobNote, m.component, m.step, m.state)
SLUICE_FIELDS(ComponentSettled, m.component, m.starts_again)
SLUICE_FIELDS(ComponentExited, m.component, m.reason, m.starts_again)
SLUICE_FIELDS(DatasetStatus, m.rule, m.name, m.steps_published, m.steps_discarded, m.counters, m.bytes_staged,
              m.bytes_kept, m.bytes_spilled, m.steps_lost, m.files)
SLUICE_FIELDS(KeptLogs, m.name, m.directory)
SLUICE_FIELDS(StatusReport, m.datasets, m.bytes_staged, m.bytes_staged_peak, m.bytes_spilled,
              m.bytes_spilled_ever, m.matchers, m.drain_failures, m.rules, m.connected, m.ordinary_files,
              m.kept_logs)

}  // namespace sluice::runtime
