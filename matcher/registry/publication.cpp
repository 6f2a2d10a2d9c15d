#include "publication.hpp"

#include <algorithm>
#include <utility>

#include "registry_parts.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::matcher {

namespace {

/// Throws Error(NC_EINVAL) for a range that is not in the log's own memory.
void take_ranges(const Step& step, std::uint32_t rank, LogRanges& ranges) {
  const std::size_t place = step.first_own_log + rank;
  const WriteLog* const log = step.packed ? nullptr : step.logs[place].get();
  const auto is_known = [&](std::size_t i) {
    if (log == nullptr || i + 1 >= log->contents->ranges.size()) return false;
    const LogRange& known = log->contents->ranges[i];
    return ranges[i].segment == known.segment && ranges[i].segment_offset == known.segment_offset &&
           ranges[i].length_bytes == known.length_bytes;
  };
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const bool is_held =
        is_known(i) || (log == nullptr ? step.packed->holds(rank, ranges[i]) : log->holds(ranges[i]));
    if (!is_held) throw Error(NC_EINVAL, "it places log data where it has no memory");
    ranges[i].writer = static_cast<std::uint32_t>(place);
  }
}

void close_log(WriteLog& log, PublishRequest&& request) {
  log.trim(request.ranges, request.position);
  WriteLog::Contents& contents = log.contents.change();
  contents.ranges = std::move(request.ranges);
  contents.end = request.position;
  contents.pattern = request.pattern;
  if (log.begin.chunks == 0) {
    contents.extent = std::move(request.extent);
  } else {
    contents.extent.add(request.extent);
  }
}

/// All processes of the group have called ncmpi_sync: readers see the puts of all at once.
void publish_synced(Step& step) {
  step.published_records = std::max(step.published_records, step.record_count);
  for (std::size_t i = step.first_own_log; i < step.logs.size(); ++i) {
    WriteLog& log = *step.logs[i];
    WriteLog::Synced& synced = log.synced.change();
    const SyncPoint at_close{log.contents->end, 0, log.contents->pattern.requests};
    const SyncPoint point = synced.point.value_or(at_close);
    log.published = point.position;
    synced.published_requests = point.requests;
    synced.point.reset();
    step.published_records = std::max(step.published_records, point.record_count);
  }
  step.writers->synced = 0;
  ++step.publications;
  ++step.revision;
}

/// Whether processes of another matcher are writing the same file.
bool is_written_on(RegistryParts& parts, const Step& step) {
  const bool is_one_file = parts.rules.of(step.key).has_one_file() || step.is_in_files;
  return is_one_file && parts.datasets.at(step.key).in_progress.size() > 1;
}

/// What was written in place is where it is to be.
void keep_on_disk(RegistryParts& parts, Step& step) {
  if (!step.is_in_files) return parts.drains.want(step);
  Dataset& dataset = parts.datasets[step.key];
  step.drain = DrainState::ended;
  dataset.kept_path = step.path;
  dataset.kept_version = step.version;
}

/// The step takes its place behind the steps before it.
void number_step(RegistryParts& parts, Step& step) {
  Dataset& dataset = parts.datasets[step.key];
  std::vector<StepId> passed;  // a review may erase others
  for (const Step* const other : parts.sequences.note_published(step)) passed.push_back(other->id);
  if (parts.rules.of(step.key).is_stream) {
    step.stream_number = step.number;
    if (parts.rules.is_in_files(step.key) && step.file.empty())
      step.file = step.path + ".step-" + std::to_string(step.number);
    parts.retention.leave_in_stream(dataset);
  } else {
    parts.retention.supersede(dataset);
  }
  dataset.newest = &step;
  for (const StepId id : passed)
    if (Step* const other = parts.datasets.find_step(id)) parts.retention.review(*other);
}

/// Tells of the first step only: more may follow.
void shorten_queue(RegistryParts& parts, const DatasetKey& key) {
  while (Step* const oldest = parts.sequences.discard_oldest(key)) {
    const FileRule& rule = parts.rules.of(key);
    const std::string text = parts.names.quoted(oldest->key) + " is discarded unread: more than " +
                             std::to_string(rule.queue) + (rule.queue == 1 ? " step" : " steps") + " of '" +
                             rule.pattern + "' would wait for readers (queue, when-full)";
    if (parts.shortened_rules.insert(key.rule).second) {
      parts.answers.event(text + ". More may follow; the summary counts them");
    } else {
      parts.answers.detail(text);
    }
    for (std::size_t i = 0; i < rule.readers.size(); ++i)
      if (oldest->read_by[i].is_passed) parts.answers.read(*oldest, rule.readers[i]);
    parts.retention.review(*oldest);
  }
}

/// Data behind the ends belongs to steps that continue this one.
void close_logs(Step& step) {
  if (step.packed) step.packed->complete();
  for (std::size_t i = step.first_own_log; i < step.logs.size(); ++i) {
    step.logs[i]->published = step.logs[i]->contents->end;
    step.logs[i]->is_complete = true;
  }
}

/// As on disk, where the file is whole now. In a stream, each step is another one.
void forget_replaced(RegistryParts& parts, const Step& step) {
  Dataset& dataset = parts.datasets[step.key];
  const FileRule& rule = parts.rules.of(step.key);
  if (dataset.steps_lost == 0 || !step.is_new || step.is_cut || rule.is_stream) return;
  dataset.steps_lost = 0;
  std::erase_if(parts.processes.component(rule.writer).lost,
                [&](const LostStep& lost) { return lost.key == step.key; });
}

/// A writer has ended before it closed the step. As with a file, the step keeps the part that readers could
/// see.
void cut_step(RegistryParts& parts, Step& step, const std::string& reason) {
  const bool is_synced = step.publish_at == PublishAt::sync;
  step.unpack();
  step.is_cut = true;
  step.reason = parts.names.quoted(step.key) + " ends with " +
                (is_synced ? "what was put before the last ncmpi_sync" : "what was put so far") + ": " +
                reason;
  if (is_synced) step.record_count = step.published_records;
  for (std::size_t i = step.first_own_log; i < step.logs.size(); ++i) step.logs[i]->is_cut = true;
  parts.memory_waits.drop_on(step, step.reason);
  parts.answers.event(step.reason);
  complete_step(parts, step);
}

void discard_step(RegistryParts& parts, Step& step, const std::string& reason) {
  Dataset& dataset = parts.datasets[step.key];
  step.state = StepState::discarded;
  step.reason = "the step of " + parts.names.quoted(step.key) + " was discarded: " + reason;
  std::erase(dataset.in_progress, &step);
  parts.datasets.note_discarded(step.key);
  const bool is_one_file = parts.rules.of(step.key).has_one_file() || step.is_in_files;
  const bool was_same_file = is_one_file && dataset.newest != nullptr && dataset.newest->is_in_files;
  if (was_same_file) parts.retention.supersede(dataset);
  parts.memory_waits.drop_on(step, step.reason);
  parts.answers.event(step.reason);
  // So are those that others are writing.
  if (is_one_file && !dataset.in_progress.empty()) discard_step(parts, *dataset.in_progress.back(), reason);
}

}  // namespace

void take_header(Step& step, HeaderRequest request) {
  if (step.state != StepState::in_progress) throw Error(NC_EIO, step.reason);
  step.header = std::move(request.header);
  step.structure = request.structure;
  if (request.version != 0) step.version = request.version;
  step.header_revision = ++step.revision;
}

FileUse note_closed(RegistryParts& parts, GroupMembership writer, PublishRequest&& request) {
  const auto [group, rank] = writer;
  Step& step = *group->step;
  take_ranges(step, rank, request.ranges);
  FileUse use{request.counters, request.times};
  if (request.file_bytes && is_written_on(parts, step)) use.counters.put_bytes = 0;  // the last one has all
  WriteLog* const log = step.packed ? nullptr : step.logs[step.first_own_log + rank].get();
  if (step.state == StepState::in_progress) {
    step.record_count = std::max({step.record_count, request.record_count, request.pattern.records_end});
    step.file_bytes = request.file_bytes;
    step.closes = request.closes;
    log == nullptr ? step.packed->close(rank, request) : close_log(*log, std::move(request));
  }
  parts.datasets.count(step.key, group->component->name, use.counters);
  if (log != nullptr && !log->burst_log->empty()) parts.pools.note_log_ended();
  return use;
}

bool note_synced(RegistryParts& parts, GroupMembership writer, const SyncPoint& point) {
  const auto [group, rank] = writer;
  Step& step = *group->step;
  if (step.state != StepState::in_progress) throw Error(NC_EIO, step.reason);
  if (step.publish_at != PublishAt::sync)
    throw Error(NC_EINVAL, parts.names.quoted(step.key) + " is not published by ncmpi_sync");
  WriteLog& log = *step.logs[step.first_own_log + rank];
  if (point.position.chunks > log.tables.size())
    throw Error(NC_EINVAL, "it has put more than its request tables hold");
  WriteLog::Synced& synced = log.synced.change();
  if (!synced.point) ++group->synced;
  synced.point = point;
  const bool is_complete = group->has_all_arrived() && group->synced + group->finished == group->member.size;
  if (is_complete) publish_synced(step);
  return is_complete;
}

bool take_name(RegistryParts& parts, const DatasetKey& key) {
  return std::erase_if(parts.datasets[key].in_progress, [](Step* step) {
           // Ranks that have not come yet may be removing the file of before.
           return step->writers->has_all_arrived() && (step->is_nameless = true);
         }) > 0;
}

/// The last step of the file publishes it, for all.
void end_written(RegistryParts& parts, Step& step) {
  if (!step.is_nameless && !is_written_on(parts, step)) return complete_step(parts, step);
  withdraw_step(parts, step);
  if (step.is_nameless) return parts.answers.given_up(step);
  for (Step* const other : parts.datasets[step.key].in_progress) other->takes_over = true;
  parts.answers.given_up(step);
}

void complete_step(RegistryParts& parts, Step& step) {
  Dataset& dataset = parts.datasets[step.key];
  if (step.packed && !step.packed->have_all_closed()) step.unpack();
  step.state = StepState::published;
  ++step.revision;
  set_apart(step);
  if (parts.rules.of(step.key).replays && !step.is_cut && !step.is_in_files) set_pattern(step);
  ReaderBook::note_early_readers(step);
  if (!step.is_cut) close_logs(step);
  std::erase(dataset.in_progress, &step);
  if (parts.rules.of(step.key).is_drained())
    keep_on_disk(parts, step);  // first: the older step need not be drained, and may be erased
  parts.continued.note_published(step, dataset);
  number_step(parts, step);
  dataset.is_recycled = false;
  forget_replaced(parts, step);
  parts.datasets.note_published(step.key);
  dataset.writer_restarts = step.writer_restarts;
  parts.uses.note_published(step.key.rule);
  parts.names.note_published(step.key);
  parts.published.note_published(step);
  parts.answers.published(step);
  parts.kept.note_published(step);
  for (const std::string& component : parts.jobs.note_published(step))
    parts.answers.job_wanted(component, step);
  shorten_queue(parts, step.key);
  parts.drains.start_next();
}

void publish_again(RegistryParts& parts, Step& step) {
  Dataset& dataset = parts.datasets[step.key];
  step.state = StepState::published;
  ++step.revision;
  std::erase(dataset.in_progress, &step);
  number_step(parts, step);
  dataset.is_recycled = false;
  const FileRule& rule = parts.rules.of(step.key);
  if (rule.is_drained()) {
    step.drain = DrainState::ended;
    dataset.kept_path = step.file;
    dataset.kept_version = step.version;
  }
  parts.datasets.note_published(step.key);
  parts.uses.note_published(step.key.rule);
  parts.names.note_published(step.key);
  parts.published.note_published(step);
  for (const std::string& component : parts.jobs.note_published(step)) {
    const bool has_read = step.read_by.at(rule.index_of(component).value()).is_passed;
    has_read ? parts.jobs.end(component, step.id) : parts.answers.job_wanted(component, step);
  }
}

void end_unfinished(RegistryParts& parts, Step& step, const std::string& reason) {
  const bool is_visible = step.publish_at == PublishAt::write ? !step.header.empty() : step.publications > 0;
  if (is_visible) {
    cut_step(parts, step, reason);
  } else {
    discard_step(parts, step, reason);
  }
}

void end_by_death(RegistryParts& parts, Step& step, const std::string& reason) {
  lose_step(
      parts, step,
      step.is_in_files ? reason + "; the part of " + step.path + " that it has written is kept" : reason);
}

void lose_step(RegistryParts& parts, Step& step, const std::string& reason) {
  if (step.is_nameless) return withdraw_step(parts, step);
  note_lost(parts, *step.writers->component, {step.key, step.id});
  end_unfinished(parts, step, reason);
  parts.logs.keep(step);
}

void note_lost(RegistryParts& parts, Component& writer, const LostStep& lost) {
  ++parts.datasets[lost.key].steps_lost;
  writer.lost.push_back(lost);
}

void forget_lost(RegistryParts& parts, const Component& writer) {
  for (const LostStep& lost : writer.lost) {
    --parts.datasets[lost.key].steps_lost;
    parts.logs.forget(lost);
  }
}

void withdraw_step(RegistryParts& parts, Step& step) {
  step.state = StepState::discarded;
  step.reason = "the writer did not write " + parts.names.quoted(step.key);
  std::erase(parts.datasets[step.key].in_progress, &step);
  parts.memory_waits.drop_on(step, step.reason);
}

}  // namespace sluice::matcher
