#include <algorithm>
#include <utility>
#include <vector>

#include "file_changes.hpp"
#include "group_outcomes.hpp"
#include "memberships.hpp"
#include "opens.hpp"
#include "publication.hpp"
#include "registry_parts.hpp"
#include "run_views.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/matcher/expect.hpp"
#include "step_maker.hpp"

namespace sluice::matcher {

namespace {

std::string hint_of(const CommandSteps::Finding& finding, const std::string& reader,
                    const std::string& file) {
  const std::string steps = std::to_string(finding.steps);
  return "the last " + std::to_string(finding.commands) + " commands of " + reader + " that opened " + file +
         " took " + steps +
         " steps each. Some programs open a file twice to read it once (ncra, ncpdq, cdo -sub X X), and so "
         "get two steps for one. If these commands do, give " +
         reader + " 'opens-per-step: " + steps + "'";
}

}  // namespace

Registry::Registry(RegistryOptions options, SegmentMemory& memory, RegistryAnswers& answers) {
  parts_ = std::make_unique<RegistryParts>(std::move(options), memory, answers);
}

Registry::~Registry() = default;

SegmentPool& Registry::pool(std::uint32_t node) {
  return parts_->pools.at(node);
}

// Processes and components

ProcessId Registry::connect(const std::string& component, std::uint64_t token, std::uint32_t process_id,
                            MatcherPlace place, StartedBy started_by, std::int32_t rank) {
  if (place.node >= parts_->pools.nodes())
    throw Error(NC_EINVAL, "there is no node " + std::to_string(place.node));
  Process& process = parts_->processes.connect(component, token, process_id);
  // The first matcher of a node has the files of all its processes.
  if (process.connections == 1 || place.index != 0) process.place = place;
  if (rank != no_rank) process.rank = rank;  // a connection of the matcher's own does not know it
  if (started_by == StartedBy::component) process.component->processes = 0;
  const bool is_new = process.connections == 1;
  if (is_new && process.component->processes == 0 && !process.component->is_attached())
    parts_->retention.review_steps_read_by(*process.component);
  return process.id;
}

void Registry::disconnect(ProcessId process, std::uint64_t connection) {
  Process* const found = parts_->processes.find(process);
  if (found == nullptr) return;
  if (connection != 0) drop_waits(*parts_, *found, connection);
  ProcessTable::change(*found, [&] { --found->connections; });
  end_if_gone(process);
}

bool Registry::has_other_matcher(ProcessId process, MatcherPlace place) const {
  return parts_->processes.at(process).place != place;
}

void Registry::begin_file(ProcessId process, const WrittenFile& file) {
  parts_->processes.begin_file(parts_->processes.at(process), file);
}

void Registry::end_file(ProcessId process, const WrittenFile& file) {
  parts_->files.end(file);
  Process* const found = parts_->processes.find(process);
  if (found == nullptr) return;
  parts_->processes.end_file(*found, file);
  end_if_gone(process);
  parts_->progress.advance_behind(file);
}

void Registry::note_file(const WrittenFile& file, OpenFiles::Known known) {
  if (parts_->processes.writer_of(file) != nullptr) parts_->files.note(file, std::move(known));
}

WrittenFile Registry::file_elsewhere(ProcessId process, const DatasetKey& key) const {
  const WrittenFile file = parts_->files.open(key);
  const Process* const writer = parts_->processes.writer_of(file);
  const Process& looker = parts_->processes.at(process);
  const bool is_elsewhere =
      writer != nullptr && writer->component == looker.component && writer->place.node != looker.place.node;
  return is_elsewhere ? file : WrittenFile{};
}

WrittenFile Registry::closed_file(const DatasetKey& key) const {
  return parts_->files.closed(key);
}

/// Who waits for the next step in any case is told when it comes.
std::string Registry::may_be_closed_by(const Use& use) const {
  const Process* const process = parts_->processes.find(use.process);
  if (process == nullptr || use.key.rule >= parts_->rules.size()) return {};
  const Dataset* const dataset = parts_->datasets.find(use.key);
  const bool is_written = dataset != nullptr && !dataset->in_progress.empty();
  if (!is_written && !parts_->files.has(use.key, use.file)) return {};
  const FileRule& rule = parts_->rules.of(use.key);
  const std::string& name = process->component->name;
  if (use.waits && name != rule.writer) {
    const bool takes_next = rule.is_stream && rule.mode_of(name).mode != ReadMode::latest;
    const bool is_there = dataset != nullptr && (dataset->newest != nullptr || dataset->is_recycled);
    if (takes_next || !is_there) return {};
  }
  return rule.writer;
}

void Registry::move_file(const DatasetKey& key, const std::string& from, const std::string& to) {
  const Dataset* const dataset = parts_->datasets.find(key);
  if (dataset != nullptr && dataset->written_path == from) parts_->datasets[key].written_path = to;
}

bool Registry::rename_written(const DatasetKey& from, const DatasetKey& to, const std::string& path) {
  const Dataset* const known = parts_->datasets.find(from);
  if (known == nullptr || known->in_progress.empty() || from.rule != to.rule || from == to) return false;
  if (parts_->rules.of(from).through != Through::memory || parts_->files.has(from, {})) return false;
  const auto is_begun = [](const Step* step) { return step->writers->has_all_arrived(); };
  if (!std::ranges::all_of(known->in_progress, is_begun)) return false;
  (void)take_name(*parts_, to);
  Dataset& former = parts_->datasets[from];
  for (Step* const step : std::exchange(former.in_progress, {})) {
    step->key = step->writers->key = to;
    step->path = step->writers->path = path;
    step->name = parts_->names.of(to);
    parts_->datasets[to].in_progress.push_back(step);
  }
  former.is_recycled = true;  // the removal finds it
  parts_->reads.withdraw_all_of(from.rule);
  return true;
}

bool Registry::is_file_written(const Use& use) const {
  return parts_->files.has(use.key, use.file);
}

bool Registry::stays(const Step& step) const {
  const Dataset* const dataset = parts_->datasets.find(step.key);
  const bool is_newest = dataset != nullptr && dataset->newest == &step;
  return is_newest && dataset->in_progress.empty() && !parts_->files.has(step.key, {});
}

bool Registry::is_any_written() const {
  return !parts_->files.is_empty() || !parts_->datasets.in_progress().empty();
}

void Registry::end_if_gone(ProcessId process) {
  const Process& ended = parts_->processes.at(process);
  if (ended.connections > 0 || ended.files > 0) return;
  const Component& component = *ended.component;
  end_process(
      process,
      ended.name() + " ended before it had closed it; a file is published when it is closed (ncmpi_close)");
  if (!component.is_attached()) parts_->retention.review_steps_read_by(component);
  parts_->progress.advance();
}

void Registry::component_ends(const std::string& name) {
  Component& component = parts_->processes.component(name);
  component.is_ending = true;
  component.look = Look::none;
  parts_->progress.advance();
}

void Registry::component_exited(const std::string& name, const std::string& reason) {
  Component& component = parts_->processes.component(name);
  component.has_exited = true;
  end_processes(component, reason);
  parts_->retention.review_steps_read_by(component);
  parts_->progress.advance();
}

void Registry::component_restarts(const std::string& name, const std::string& reason) {
  Component& component = parts_->processes.component(name);
  end_processes(component, reason);
  forget_lost(*parts_, component);
  ProcessTable::restart(component);
  parts_->retention.note_reader_restart(component);
  parts_->sequences.note_restart(component);
  parts_->progress.advance();
}

void Registry::end_processes(Component& component, const std::string& reason) {
  component.reason = reason;
  for (const ProcessId id : parts_->processes.processes_of(component))
    end_process(id, component.name + " " + reason);
  end_groups_of(*parts_, component);
}

void Registry::job_begun(const std::string& component, StepId step) {
  parts_->jobs.begin(component, step);
}

void Registry::job_ended(const std::string& component, StepId id) {
  parts_->jobs.end(component, id);
  if (Step* const step = parts_->datasets.find_step(id)) parts_->retention.review(*step);
  parts_->progress.advance();
}

void Registry::job_done(const std::string& component, StepId id) {
  if (const Step* const step = parts_->datasets.find_step(id)) parts_->answers.read(*step, component);
  job_ended(component, id);
}

void Registry::go_on_counting(const FormerCount& former) {
  if (former.key.rule < parts_->rules.size()) parts_->sequences.go_on(former);
}

const Step& Registry::restore(const FormerStep& former) {
  if (former.key.rule >= parts_->rules.size())
    throw Error(NC_EINVAL, "there is no rule " + std::to_string(former.key.rule));
  Step& step = restore_step(*parts_, former);
  publish_again(*parts_, step);
  return step;
}

void Registry::end_process(ProcessId id, const std::string& reason) {
  Process& process = parts_->processes.at(id);
  parts_->memory_waits.drop_of(process);
  parts_->get_waits.drop_of(process);
  parts_->gatherings.drop_of(id);
  parts_->copies.drop_of(id);
  parts_->offers.end_process(id);
  parts_->reads.end_process(id);
  parts_->offer_maker.end_process(id);
  const bool was_writing = end_memberships(*parts_, process, reason);
  if (const auto finding = parts_->sequences.forget(*process.component, id))
    parts_->answers.event(hint_of(*finding, process.component->name, parts_->names.quoted(finding->key)));
  parts_->pools.at(process.place.node).forget(id, was_writing);
  parts_->processes.erase(id);
}

// Creates and opens

/// A removal has a group of one process, because it may have to wait.
void Registry::open(const Ticket& ticket, ProcessId process, Open request, const WrittenFile& follows) {
  if (request.taken.step != 0 && request.wants == Open::Form::bytes)
    return image(ticket, process, request.taken.step);
  if (request.taken.step != 0 && request.purpose == Purpose::create) return create_offered(process, request);
  if (request.taken.step != 0) return read_offered(process, request);
  Process& caller = parts_->processes.at(process);
  if (request.is_by_mere_reader()) return change_file(ticket, caller, request);
  const bool removes = request.purpose == Purpose::remove;
  if (removes) request.member = {parts_->groups.own_id(*caller.component), 0, 1};
  go_on(join_group(*parts_, ticket, caller, request, follows), request.member.rank);
  if (removes) parts_->progress.advance_on(request.key);
}

void Registry::create_offered(ProcessId process, const Open& open) {
  OfferBook::Taken taken = parts_->offers.take(open.taken.step, process, open);
  const std::vector<std::uint32_t> ended = taken.page.ended;
  Group& group = join_all(*parts_, taken.page, std::move(taken.offer), open);
  Step& step = *group.step;
  step.offered_by = taken.page.memory->id();
  parts_->answers.begun(step);
  if (ended.empty()) return;
  // Rank 0 could not know of it.
  end_by_death(*parts_, step, "a process of " + group.component->name + " ended before it");
  finish_ended(group, ended);
}

void Registry::read_offered(ProcessId process, const Open& open) {
  const StepId id = open.taken.step;
  const ReadOffers::Page& page = parts_->reads.take(open.taken.page, id, process, open);
  const std::vector<std::uint32_t> ended = page.ended;
  Step* const step = parts_->datasets.find_step(id);
  if (step == nullptr || step->key != open.key || step->state != StepState::published) {
    parts_->reads.end_read(id, page.members);
    throw Error(NC_EINVAL, "step " + std::to_string(id) + " is not published");
  }
  Group& group = join_read(*parts_, page, *step, open);
  if (!ended.empty()) finish_ended(group, ended);
}

/// The members have ended before the group has taken its offer.
void Registry::finish_ended(Group& group, const std::vector<std::uint32_t>& ended) {
  const DatasetKey key = group.key;  // the group may end
  for (const std::uint32_t rank : ended) {
    group.members.at(rank).has_died = true;
    finish_member(*parts_, group, rank);
  }
  parts_->progress.advance_on(key);
}

void Registry::in_series(const std::function<void()>& requests) {
  const auto end = [this] {
    parts_->held_ms.reset();
    parts_->progress.catch_up();
  };
  parts_->held_ms = parts_->now_ms();
  parts_->progress.put_off();
  try {
    requests();
  } catch (...) {
    end();
    throw;
  }
  end();
}

void Registry::expect(ProcessId process) const noexcept {
  parts_->processes.expect(process);
}

void Registry::expect_close(ProcessId process, StepId id) const noexcept {
  const Process* const found = parts_->processes.find(process);
  const Step* const step = parts_->datasets.find_step(id);
  if (found == nullptr || step == nullptr) return;
  const auto [group, rank] = found->writes(*step);
  if (group == nullptr) return;
  expect_value(group->members.find(rank));
  step->expect_log(rank);
}

/// A member has joined.
void Registry::go_on(Group& group, std::uint32_t rank) {
  if (!group.is_waiting()) return answer_member(*parts_, group, rank);
  if (group.waits_for == Group::WaitsFor::members && group.has_all_arrived())
    return parts_->progress.advance_on(DatasetKey(group.key));
  // The process has no use for what it has not read while it waits.
  const bool may_memory_come = !parts_->memory_waits.all().empty();
  may_memory_come ? parts_->progress.advance_memory() : parts_->progress.fail_hopeless();
}

/// What is the same for all members is looked at once.
void Registry::open(std::span<const Caller> callers, Open request, const WrittenFile& follows) {
  in_series([&] {
    Group* group = nullptr;
    std::vector<std::uint32_t> joined;  // those who are answered at once, together
    const auto answer = [&] {           // an answer to all members may end the group
      if (group != nullptr) answer_members(*parts_, *std::exchange(group, nullptr), joined);
      joined.clear();
    };
    for (const Caller& caller : callers) {
      request.member.rank = caller.rank;
      try {
        Process& process = parts_->processes.at(caller.process);
        if (group != nullptr && group->component != process.component) answer();
        if (group != nullptr) {
          join_further(*parts_, *group, caller.ticket, process, request.member);
        } else {
          group = &join_group(*parts_, caller.ticket, process, request, follows);
        }
        if (group->is_waiting()) {
          // With the last member it may get its answer, and end.
          Group& waiting = group->has_all_arrived() ? *std::exchange(group, nullptr) : *group;
          go_on(waiting, caller.rank);
          continue;
        }
        joined.push_back(caller.rank);
        if (group->has_all_arrived()) answer();
      } catch (const Error& error) {
        parts_->answers.refused(caller.ticket, error.status(), error.what());
      }
    }
    answer();
  });
}

void Registry::change_file(const Ticket& ticket, Process& caller, const Open& request) {
  caller.has_opened = true;
  const std::string& component = caller.component->name;
  if (request.purpose == Purpose::change) refuse_change(*parts_, component, request.key, request.path);
  allow_removal(*parts_, component, request.key);
  parts_->answers.done(ticket);
}

// Requests on steps that are open

void Registry::set_header(const Ticket& ticket, ProcessId process, HeaderRequest request) {
  Step& step = *parts_->datasets.must_write(parts_->processes.at(process), request.step).group->step;
  take_header(step, std::move(request));
  parts_->answers.done(ticket);
  if (step.publish_at == PublishAt::write) parts_->progress.advance_on(step.key);
}

void Registry::sync(const Ticket& ticket, ProcessId process, const SyncRequest& request) {
  const GroupMembership writer = parts_->datasets.must_write(parts_->processes.at(process), request.step);
  const bool is_complete = note_synced(*parts_, writer, request.point);
  parts_->answers.done(ticket);
  if (is_complete) parts_->progress.advance_on(writer.group->key);
}

void Registry::close(ProcessId process, Close&& close) {
  Process& caller = parts_->processes.at(process);
  std::visit([&](auto& how) { end(caller, how); }, close.how);
}

void Registry::end(Process& caller, PublishRequest& request) {
  const GroupMembership writer = parts_->datasets.must_write(caller, request.step);
  const FileUse use = note_closed(*parts_, writer, std::move(request));
  leave(*writer.group, writer.rank, use);
}

/// A member has closed. The last member ends what the group did for the dataset as a whole.
void Registry::leave(Group& group, std::uint32_t rank, const FileUse& use) {
  if (group.finished + 1 < group.member.size) {
    finish_member(*parts_, group, rank, use);
    return parts_->progress.advance_memory();
  }
  const DatasetKey key = group.key;  // the group ends
  finish_member(*parts_, group, rank, use);
  parts_->progress.advance_on(key);
}

/// A step into which nobody has written anything ends without a word: nothing is lost.
void Registry::end(Process& caller, const Discard& request) {
  if (request.step == 0) return lose_changes(*caller.component, request.key);
  const auto& [id, end, reason, changed] = request;
  const auto [group, rank] = parts_->datasets.must_write(caller, id);
  Step& step = *group->step;
  if (step.state == StepState::in_progress) {
    if (end == StepEnd::untouched) {
      if (!step.takes_over) withdraw_step(*parts_, step);
    } else if (end == StepEnd::lost) {
      lose_step(*parts_, step, reason);
    } else {
      end_unfinished(*parts_, step, reason.empty() ? caller.name() + " aborted it" : reason);
    }
    if (step.state == StepState::discarded) parts_->answers.given_up(step);
  }
  const DatasetKey key = group->key;
  finish_member(*parts_, *group, rank);
  parts_->progress.advance_on(key);
}

void Registry::lose_changes(Component& component, const DatasetKey& key) {
  const bool is_writer = key.rule < parts_->rules.size() && parts_->rules.of(key).writer == component.name;
  if (!is_writer) throw Error(NC_EPERM, component.name + " does not write '" + key.name + "'");
  note_lost(*parts_, component, {key, 0});
}

void Registry::end(Process& caller, const ReadEnd& request) {
  const auto [group, rank] = parts_->datasets.closing_reader(caller, request);
  if (group == nullptr) {
    throw Error(NC_EINVAL, caller.name() + " does not have step " + std::to_string(request.step) + " open");
  }
  parts_->datasets.count(group->key, group->component->name, request.counters);
  leave(*group, rank, {request.counters, request.times});
}

bool Registry::is_writing(ProcessId process, StepId step) const {
  const Process* const found = parts_->processes.find(process);
  return found != nullptr && parts_->datasets.writer(*found, step).group != nullptr;
}

const Step& Registry::step(StepId id) {
  unpack_if_open(parts_->datasets.find_step(id));
  return parts_->datasets.usable_step(id);
}

/// A view of a step in progress has all logs as they are.
void Registry::unpack_if_open(Step* step) {
  if (step != nullptr && step->state == StepState::in_progress) step->unpack();
}

const Step& Registry::step_for_get(ProcessId process, StepId id) {
  Process& caller = parts_->processes.at(process);
  GroupMembership found = parts_->datasets.reader(caller, id);
  const bool is_writing = found.group == nullptr;
  if (is_writing) found = parts_->datasets.writer(caller, id);
  if (found.group == nullptr)
    throw Error(NC_EBADID, caller.name() + " does not have step " + std::to_string(id) + " open");
  Step& step = *found.group->step;
  unpack_if_open(&step);
  if (step.state == StepState::discarded || (is_writing && step.is_cut)) throw Error(NC_EIO, step.reason);
  if (!is_writing) found.group->seen_publication = step.publications;
  return step;
}

bool Registry::is_anybody_waiting() const {
  return !parts_->groups.waiting().empty() || !parts_->memory_waits.all().empty() ||
         !parts_->get_waits.all().empty();
}

// Memory and waits

void Registry::need_segment(const Ticket& ticket, ProcessId process, const SegmentRequest& request) {
  if (parts_->memory_waits.need_segment(ticket, parts_->processes.at(process), request))
    parts_->progress.advance_memory();
}

void Registry::need_segments(std::span<const Caller> callers, const SegmentRequest& request) {
  const auto serve_first_alone = [&] {
    const auto& [ticket, process, rank] = callers.front();
    callers = callers.subspan(1);
    try {
      need_segment(ticket, process, request);
    } catch (const Error& error) {
      parts_->answers.refused(ticket, error.status(), error.what());
    }
  };
  const auto grant_again = [&] {
    const std::size_t served = parts_->memory_waits.grant_again(callers, request);
    callers = callers.subspan(served);
    return served > 0;
  };
  if (callers.empty()) return;
  // The first one may get the memory of a step that nobody needs any more, and free the rest of it.
  if (!grant_again()) serve_first_alone(), (void)grant_again();
  while (!callers.empty()) serve_first_alone();
}

void Registry::await_disk(const Ticket& ticket, ProcessId process, DiskRequest request) {
  if (parts_->memory_waits.await_disk(ticket, parts_->processes.at(process), std::move(request)))
    parts_->progress.advance_memory();
}

void Registry::lease_inbound(const Ticket& ticket, StepId id, MatcherPlace place, const InboundSize& size,
                             std::optional<InboundReader> reader) {
  if (parts_->memory_waits.lease_inbound(ticket, id, place, size, reader)) parts_->progress.advance_memory();
}

void Registry::join_inbound_wait(StepId id, MatcherPlace place, const InboundReader& reader) {
  if (parts_->memory_waits.join_inbound_wait(id, place, reader)) parts_->progress.fail_hopeless();
}

void Registry::image(const Ticket& ticket, ProcessId process, StepId id) {
  if (parts_->images.ask(ticket, parts_->processes.at(process), id)) parts_->progress.advance_memory();
}

void Registry::image_made(StepId step, SegmentId file, const DrainOutcome& outcome) {
  (void)parts_->images.note_made(step, file, outcome);
  parts_->progress.advance_memory();
}

void Registry::make_images_ahead(StepId id) {
  Step* const step = parts_->datasets.find_step(id);
  if (step == nullptr) return;
  parts_->images.note_published(*step);
  parts_->progress.advance_memory();
}

void Registry::spill_made(SegmentId segment, const std::string& trouble) {
  if (parts_->memory_waits.spill_made(segment, trouble)) parts_->progress.advance_memory();
}

void Registry::spill_gone(SegmentId segment) {
  parts_->pools.of(segment).note_gone(segment);
  parts_->progress.advance_memory();
}

void Registry::wait_for_puts(const Ticket& ticket, ProcessId process, StepId id, const std::string& what) {
  (void)step_for_get(process, id);
  parts_->get_waits.begin({ticket, process, id, what, parts_->now_ms()});
  parts_->progress.fail_hopeless();
}

void Registry::end_get_wait(const Ticket& ticket) {
  parts_->get_waits.end(ticket);
}

// Drains, logs and other files

void Registry::note_drain(StepId step, const DrainProgress& progress) {
  parts_->drains.note(step, progress);
}

void Registry::drained(StepId id, const DrainOutcome& outcome) {
  Step* const step = parts_->drains.end(id, outcome);
  if (step == nullptr) return;
  parts_->retention.review(*step);
  parts_->drains.start_next();
  parts_->progress.advance();
}

void Registry::keep_unfinished_logs() {
  parts_->logs.keep_unfinished([this](const Step& step) { return parts_->retention.is_left_in_logs(step); });
}

void Registry::note(ProcessId process, const Note& note) {
  const Process& sender = parts_->processes.at(process);
  if (const auto* const file = std::get_if<OrdinaryFile>(&note.what))
    return parts_->uses.note_ordinary_file(sender.component->name, *file);
  if (const auto* const gathering = std::get_if<Gathering>(&note.what))
    return parts_->gatherings.note(sender, *gathering);
  if (const auto* const complaint = std::get_if<Complaint>(&note.what))
    return parts_->uses.note_complaint(sender.component->name, complaint->rule, complaint->text);
  const auto& copy = std::get<CopyNotice>(note.what);
  const Step* const step = parts_->datasets.find_step(copy.step);  // it may have gone meanwhile
  parts_->copies.note(sender, copy, step != nullptr ? step->name : std::string());
}

Listing Registry::list(const ListRequest& request) {
  Listing listing = parts_->published.list(request);
  if (!request.directory.empty() && !request.newer_than && !request.after) add_unpublished(request, listing);
  return listing;
}

/// On disk a file is there from its open on. Others find it when it has been closed: they wait for it then.
void Registry::add_unpublished(const ListRequest& request, Listing& listing) const {
  const auto add = [&](const DatasetKey& key, const std::string& path, bool is_closed) {
    const bool is_there = directory_of(path) == request.directory;
    if (is_there && (is_closed || parts_->rules.of(key).writer == request.component))
      listing.files.push_back({key, parts_->names.of(key), path, 0});
  };
  parts_->files.for_each([&](const DatasetKey& key, bool is_closed) { add(key, key.name, is_closed); });
  for (const Step* const step : parts_->datasets.in_progress())
    if (!step->is_in_files) add(step->key, step->path, parts_->datasets.at(step->key).is_closed_by());
}

void Registry::note_act(ProcessId id) {
  if (Process* const process = parts_->processes.find(id)) ProcessTable::change(*process, [] {});
}

void Registry::looked(std::uint64_t number, bool is_idle) {
  if (parts_->looks.note(number, is_idle) && is_idle) parts_->progress.advance();
}

void Registry::look_again() {
  if (parts_->hopeless.look_again()) parts_->progress.advance();
}

void Registry::look_at_others() {
  parts_->hopeless.ask_about_others();
}

bool Registry::has_past_files() const {
  constexpr std::size_t worth_a_call = 64;
  return parts_->datasets.has_past() || parts_->groups.settled() > worth_a_call ||
         parts_->retention.has_without_data(parts_->datasets.most_past());
}

void Registry::fold_past_files() {
  parts_->groups.drop_empty();
  parts_->retention.erase_without_data(parts_->datasets.most_past());
  parts_->datasets.fold_past([this](const DatasetKey& key, const Dataset& dataset) {
    parts_->published.forget(key, dataset);
    parts_->names.forget(key);
  });
}

RunView Registry::view(const WatchRequest& request) const {
  return run_view(*parts_, request);
}

StatusReport Registry::status() const {
  StatusReport report;
  parts_->pools.report(report);
  const std::map<DatasetKey, std::uint64_t> staged = parts_->datasets.staged_bytes();
  for (const auto& [key, dataset] : parts_->datasets.all()) {
    if (dataset.is_untouched()) continue;
    const auto bytes = staged.find(key);
    report.bytes_spilled_ever += dataset.bytes_spilled;
    report.datasets.push_back({key.rule, parts_->names.of(key), dataset.steps_published,
                               dataset.steps_discarded, dataset.counters,
                               bytes == staged.end() ? 0 : bytes->second, dataset.kept_bytes,
                               dataset.bytes_spilled, dataset.steps_lost});
  }
  for (const auto& [rule, sum] : parts_->datasets.folded()) {
    if (sum.files == 0) continue;
    report.bytes_spilled_ever += sum.bytes_spilled;
    report.datasets.push_back({rule, "", sum.steps_published, sum.steps_discarded, sum.counters, 0,
                               sum.kept_bytes, sum.bytes_spilled, sum.steps_lost, sum.files});
  }
  parts_->uses.report(report);
  parts_->sequences.report(report.rules);
  parts_->continued.report(report.rules);
  parts_->logs.report(report);
  report.drain_failures = parts_->drains.failures();
  for (const auto& [name, component] : parts_->processes.components()) {
    if (component.has_connected && !component.is_attached()) report.connected.push_back(name);
  }
  return report;
}

}  // namespace sluice::matcher
