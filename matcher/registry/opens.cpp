#include "opens.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "registry_parts.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/formats/path_pattern.hpp"

namespace sluice::matcher {

Group& Opens::join(const Ticket& ticket, Process& process, const Open& open, const WrittenFile& follows) {
  if (open.purpose > Purpose::remove) throw Error(NC_EINVAL, process.name() + ": an unknown kind of open");
  if (open.key.name.empty()) throw Error(NC_EINVAL, process.name() + ": a file without a name");
  const FileRule& rule = parts_.rules.of(open.key);
  const std::string& name = process.component->name;
  const bool is_writer = name == rule.writer;
  const bool is_reader = std::find(rule.readers.begin(), rule.readers.end(), name) != rule.readers.end();
  const bool is_attached = process.component->is_attached() && open.purpose == Purpose::read;
  if (!is_attached && !is_writer && (open.writes() || !is_reader)) {
    throw Error(NC_EPERM, "the workflow does not name " + name + " as a " +
                              (open.writes() ? "writer" : "reader") + " of " + parts_.names.quoted(open.key));
  }
  if (!is_attached) parts_.uses.note_use(open.key.rule, name);
  const std::string mistake = parts_.groups.join_mistake(process, open);
  if (!mistake.empty()) throw Error(NC_EINVAL, process.name() + ": " + mistake);

  const auto [group, is_new] = parts_.groups.group_for(process, open, follows);
  add_member(group, ticket, process, open.member.rank);
  if (is_new) {
    decide(group);
  } else {
    if (group.is_waiting() && follows.connection != 0) group.follows = follows;
    parts_.sequences.note_joined(group, process.id);
  }
  return group;
}

void Opens::join_further(Group& group, const Ticket& ticket, Process& process, const Member& member) {
  const std::string mistake = GroupTable::member_mistake(group, process, member);
  if (!mistake.empty()) throw Error(NC_EINVAL, process.name() + ": " + mistake);
  add_member(group, ticket, process, member.rank);
  parts_.sequences.note_joined(group, process.id);
}

void Opens::add_member(Group& group, const Ticket& ticket, Process& process, std::uint32_t rank) {
  group.members[rank] = {process.id, ticket, false, false, parts_.now_ms()};
  process.memberships.set(group.serial, {&group, rank});
  process.has_opened = true;
  ProcessTable::change(process, [&] { ++process.waits; });
}

/// A create of a file of such a rule gets a step at once, whatever there is (OfferMaker::may_have_offers).
Group& Opens::join_all(const OfferBook::Page& page, StepOffer offer, const Open& open) {
  Process& first = parts_.processes.at(page.members.front());
  Group& group = join_at_once(first, page.members, open);
  parts_.outcomes.give_step(group, parts_.maker.make(group, std::move(offer)));
  return group;
}

/// The step is the newest one of its name, or was when the group has taken it (ReadOffers).
Group& Opens::join_read(const ReadOffers::Page& page, Step& step, const Open& open) {
  Process& first = parts_.processes.at(page.members.front());
  Group& group = join_at_once(first, page.members, open);
  group.is_offered = true;
  parts_.outcomes.give_step(group, step);
  return group;
}

Group& Opens::join_at_once(const Process& first, const std::vector<ProcessId>& members, const Open& open) {
  parts_.uses.note_use(open.key.rule, first.component->name);
  const auto [group, is_new] = parts_.groups.group_for(first, open);
  if (!is_new) throw Error(NC_EINVAL, first.name() + ": its group makes another call");
  const std::uint64_t now_ms = parts_.now_ms();
  for (std::uint32_t rank = 0; rank < members.size(); ++rank) {
    group.members[rank] = {members[rank], std::nullopt, false, false, now_ms, now_ms};
    if (Process* const process = parts_.processes.find(members[rank])) {
      process->memberships.set(group.serial, {&group, rank});
      ProcessTable::change(*process, [] {});  // it may act
    }
  }
  return group;
}

void Opens::decide(Group& group) {
  if (has_to_wait_behind_file(group)) return parts_.groups.wait(group, Group::WaitsFor::file);
  if (may_follow_others(group)) return parts_.groups.wait(group, Group::WaitsFor::members);
  try {
    switch (group.purpose) {
      case Purpose::create:
        decide_create(group);
        break;
      case Purpose::write:
        decide_open_write(group);
        break;
      case Purpose::read:
        decide_open_read(group);
        break;
      case Purpose::describe:
        decide_inquire(group);
        break;
      case Purpose::remove:
        decide_remove(group);
        break;
      case Purpose::change:
      case Purpose::hide:
        break;  // these have no group
    }
  } catch (const Error& error) {  // the system has no memory
    parts_.outcomes.refuse(group, error.status(), error.what());
  }
}

/// In a stream, a reader may have earlier steps to read, and their memory may be what the file waits for.
bool Opens::has_to_wait_behind_file(const Group& group) const {
  if (parts_.processes.writer_of(group.follows) == nullptr) return false;
  const FileRule& rule = parts_.rules.of(group.key);
  const std::string& name = group.component->name;
  const bool takes_next = rule.is_stream && !group.writes() && name != rule.writer &&
                          !group.component->is_attached() && rule.mode_of(name).mode != ReadMode::latest;
  if (takes_next && group.continues != 0) return false;
  return !takes_next || (step_of_job(group) == nullptr && parts_.sequences.next_for(group) == nullptr);
}

/// Whether members that have not come may follow a file of their matcher that its writer has changed again:
/// the registry hears of such changes when they are published.
bool Opens::may_follow_others(const Group& group) const {
  const bool opens = group.purpose == Purpose::read || group.purpose == Purpose::write;
  if (!opens || group.has_all_arrived() || group.component->name != parts_.rules.of(group.key).writer)
    return false;
  const Dataset* const dataset = parts_.datasets.find(group.key);
  return dataset != nullptr && dataset->newest != nullptr && dataset->newest->file_bytes;
}

void Opens::decide_create(Group& group) {
  if (refuse_other_path(group)) return;
  const Dataset& dataset = parts_.datasets[group.key];
  const bool exists = dataset.newest != nullptr || dataset.is_recycled || !dataset.in_progress.empty();
  const bool is_on_disk_alone = dataset.is_only_on_disk() || is_of_former_run(dataset.newest, group.key);
  const bool may_import = !exists || (is_on_disk_alone && dataset.in_progress.empty());
  if (group.is_import && !may_import) {
    parts_.outcomes.refuse(group, NC_EEXIST, parts_.names.quoted(group.key) + " exists now");
  } else if (group.no_clobber && exists) {
    parts_.outcomes.refuse(group, NC_EEXIST,
                           parts_.names.quoted(group.key) + " exists, and NC_NOCLOBBER was given");
  } else if (has_to_change_place(group, dataset)) {
    parts_.groups.wait(group, Group::WaitsFor::own_step);
  } else if (!parts_.groups.readers_of_file(group).empty()) {
    parts_.groups.wait(group, Group::WaitsFor::readers);
  } else if (has_to_wait_for_queue(group)) {
    parts_.groups.wait(group, Group::WaitsFor::queue);
  } else if (Step* step = parts_.maker.make(group, nullptr)) {
    parts_.outcomes.give_step(group, *step);
  } else {
    parts_.groups.wait(group, Group::WaitsFor::memory);
  }
}

/// Whether the file is being written on the disk and is now to be in memory, or the other way.
bool Opens::has_to_change_place(const Group& group, const Dataset& dataset) const {
  return !parts_.rules.is_in_files(group.key) &&
         std::ranges::any_of(dataset.in_progress,
                             [&](const Step* step) { return step->is_in_files != group.is_in_place; });
}

void Opens::decide_open_write(Group& group) {
  if (refuse_other_path(group)) return;
  const Dataset& dataset = parts_.datasets[group.key];
  if (!dataset.in_progress.empty()) {
    parts_.groups.wait(group, Group::WaitsFor::own_step);
  } else if (!parts_.groups.readers_of_file(group).empty()) {
    parts_.groups.wait(group, Group::WaitsFor::readers);
  } else if (is_from_before(group)) {
    parts_.outcomes.give_earlier_file(group);
  } else if (dataset.is_only_on_disk()) {
    parts_.outcomes.give_file(group, dataset.kept_path, dataset.kept_version);
  } else if (is_of_former_run(dataset.newest, group.key)) {
    group.path = dataset.newest->data_path();
    parts_.outcomes.give_earlier_file(group);
  } else if (dataset.newest == nullptr &&
             !parts_.rules.is_in_files(group.key)) {  // a file may be there already
    parts_.outcomes.refuse(group, NC_ENOENT,
                           dataset.is_recycled ? recycled_text(group) + ", or give it a rule of its own"
                                               : parts_.names.quoted(group.key) + " was never published" +
                                                     parts_.uses.near_miss_text(group.key));
  } else if (has_to_wait_for_queue(group)) {
    parts_.groups.wait(group, Group::WaitsFor::queue);
  } else if (Step* step = parts_.maker.make(group, dataset.newest)) {
    parts_.outcomes.give_step(group, *step);
  } else {
    parts_.groups.wait(group, Group::WaitsFor::memory);
  }
}

/// Whether the data of the step is in a file alone, although its rule has it in memory or in logs.
bool Opens::is_of_former_run(const Step* step, const DatasetKey& key) const {
  return step != nullptr && step->is_in_files && !parts_.rules.is_in_files(key);
}

bool Opens::has_to_wait_for_queue(const Group& group) {
  return parts_.rules.of(group.key).when_full == WhenFull::wait && !group.exceeds_queue &&
         parts_.sequences.is_full(group.key);
}

void Opens::decide_open_read(Group& group) {
  if (group.component->is_attached() || group.wants_newest()) return decide_newest(group);
  const Dataset& dataset = parts_.datasets[group.key];
  const FileRule& rule = parts_.rules.of(group.key);
  const std::string& writer_name = rule.writer;
  if (rule.is_stream && group.component->name != writer_name) return decide_next_of_stream(group);
  const Component* const writer = parts_.processes.find_component(writer_name);
  const bool is_writer = group.component->name == writer_name;
  if (Step* const growing = dataset.visible_in_progress()) {
    parts_.outcomes.give_step(group, *growing);
  } else if (is_writer && !dataset.in_progress.empty()) {
    parts_.groups.wait(group, Group::WaitsFor::own_step);
    // In files, the earlier step was the same file. NOLINTNEXTLINE(bugprone-branch-clone): the order matters
  } else if (!dataset.in_progress.empty() &&
             (dataset.newest == nullptr || is_being_changed(dataset) || dataset.is_closed_by())) {
    parts_.groups.wait(group, Group::WaitsFor::publication);
  } else if (dataset.newest != nullptr) {
    parts_.outcomes.give_step(group, *dataset.newest);
  } else if (dataset.is_only_on_disk()) {
    parts_.outcomes.give_file(group, dataset.kept_path, dataset.kept_version);
  } else if (dataset.is_recycled) {
    refuse_recycled(group);
  } else if (is_from_before(group)) {
    parts_.outcomes.give_earlier_file(group);
  } else if (is_writer) {
    parts_.outcomes.refuse(group, NC_ENOENT,
                           writer_name + " itself is the writer of " + parts_.names.quoted(group.key) +
                               ", and has not created it" + parts_.uses.near_miss_text(group.key));
  } else if (writer != nullptr && writer->has_exited) {
    refuse_for_good(group);
  } else {
    await_publication(group);
  }
}

/// Whether the rule says that its writer need not make the file, and it has not begun to.
bool Opens::is_optional(const Group& group) const {
  const Dataset* const dataset = parts_.datasets.find(group.key);
  return (dataset == nullptr || dataset->in_progress.empty()) &&
         std::ranges::any_of(parts_.rules.of(group.key).optional, [&](const std::string& pattern) {
           return formats::covers_path(pattern, group.key.name);
         });
}

/// The writer may publish it.
void Opens::await_publication(Group& group) {
  if (!is_optional(group)) return parts_.groups.wait(group, Group::WaitsFor::publication);
  parts_.outcomes.refuse_quietly(group,
                                 parts_.names.quoted(group.key) + " is optional, and not published now");
}

/// Whether the newest step and the one that is being written are the same file on disk.
bool Opens::is_being_changed(const Dataset& dataset) {
  return dataset.newest->is_in_files && dataset.in_progress.back()->is_in_files;
}

/// Each reader goes through the steps of the name in order, or as its mode says.
void Opens::decide_next_of_stream(Group& group) {
  const FileRule& rule = parts_.rules.of(group.key);
  const Component* const writer = parts_.processes.find_component(rule.writer);
  if (group.continues != 0) return decide_again(group);
  if (Step* const own = step_of_job(group)) {
    parts_.outcomes.give_step(group, *own);
  } else if (Step* const next = parts_.sequences.next_for(group)) {
    parts_.outcomes.give_step(group, *next);
  } else if (writer == nullptr || !writer->has_exited) {
    await_publication(group);
  } else if (parts_.datasets[group.key].steps_published > 0) {
    parts_.outcomes.refuse_quietly(
        group, "the stream has ended: no step is left, and its writer " + rule.writer + " " + writer->reason);
  } else {
    refuse_for_good(group);
  }
}

void Opens::decide_again(Group& group) {
  Step* const step = parts_.datasets.find_step(group.continues);
  if (step != nullptr && step->key == group.key && step->state == StepState::published)
    return parts_.outcomes.give_step(group, *step);
  parts_.outcomes.refuse(
      group, NC_EIO,
      "the step that it has opened before is gone. Keep the file open, or raise staging.retain");
}

/// A job may open its file several times, and may be tried again. Two jobs of one file never run at once. The
/// process may be faster than the word that its job has begun: then its step is the newest that waits.
Step* Opens::step_of_job(const Group& group) const {
  const Jobs* const jobs = parts_.jobs.find(group.component->name, group.key.rule);
  if (jobs == nullptr) return nullptr;
  for (const std::set<StepId>* steps : {&jobs->running, &jobs->waiting}) {
    for (auto id = steps->rbegin(); id != steps->rend(); ++id) {
      Step* const step = parts_.datasets.find_step(*id);
      if (step != nullptr && step->key == group.key) return step;
    }
  }
  return nullptr;
}

/// The writer has ended. Who has read files of the rule and asks for the next one has come to their end.
void Opens::refuse_for_good(Group& group) {
  if (is_optional(group)) return await_publication(group);  // as while its writer runs
  const std::string& writer = parts_.rules.of(group.key).writer;
  const std::string text = parts_.names.quoted(group.key) + " will not be published: its writer " + writer +
                           " " + parts_.processes.find_component(writer)->reason;
  if (parts_.sequences.has_taken_any(group.key.rule, group.component->name) &&
      parts_.uses.differs_in_digits(group.key)) {
    return parts_.outcomes.refuse_quietly(group, text);
  }
  std::string advice = parts_.uses.near_miss_text(group.key) + parts_.names.elsewhere_text(group.key);
  if (advice.empty() && !parts_.uses.has_published(group.key.rule))
    advice = " before it had published any file of '" + parts_.rules.of(group.key).pattern +
             "': look at the output of " + writer + ", or compare 'path' with the names that it writes";
  if (parts_.uses.has_published(group.key.rule))
    advice += (advice.ends_with('?') ? " If " : ". If ") + group.component->name +
              " makes this file itself, give it a name that '" + parts_.rules.of(group.key).pattern +
              "' does not cover";
  parts_.outcomes.refuse(group, NC_ENOENT, text + advice);
}

/// Who only looks holds back nobody: nothing waits for it, and it waits for a step alone that it has closed
/// itself.
void Opens::decide_newest(Group& group) {
  const Dataset* const dataset = parts_.datasets.find(group.key);
  if (dataset != nullptr && !group.component->is_attached() && is_closed_by_caller(group, *dataset))
    return parts_.groups.wait(group, Group::WaitsFor::own_step);
  Step* const newest = dataset != nullptr ? dataset->newest : nullptr;
  const bool is_writer = group.component->name == parts_.rules.of(group.key).writer;
  Step* const last =
      dataset == nullptr || dataset->in_progress.empty() ? nullptr : dataset->in_progress.back();
  if (last != nullptr && group.which == Open::Which::last && !last->is_in_files) {
    parts_.groups.wait(group, Group::WaitsFor::own_step);
  } else if (last != nullptr && is_writer && last->is_in_files) {
    parts_.outcomes.show_file(group, last->path);
    // What is written by the C library has a version when it is closed; until then its matcher has its bytes.
  } else if (last != nullptr && is_writer && group.which == Open::Which::growing && last->version != 0) {
    parts_.outcomes.give_step(group, *last);
  } else if (newest != nullptr && !newest->is_in_files) {
    parts_.outcomes.give_step(group, *newest);
  } else if (newest != nullptr) {
    parts_.outcomes.show_file(group, newest->data_path());
  } else if (dataset != nullptr && dataset->is_recycled && !dataset->kept_path.empty()) {
    parts_.outcomes.show_file(group, dataset->kept_path);
  } else {
    parts_.outcomes.refuse(group, NC_ENOENT, parts_.names.quoted(group.key) + " is not published now");
  }
}

/// As an open for reading, but the writer need not have closed the step: as with a file, the header is
/// enough.
void Opens::decide_inquire(Group& group) {
  const auto& in_progress = parts_.datasets[group.key].in_progress;
  if (group.component->name != parts_.rules.of(group.key).writer || in_progress.empty())
    return decide_open_read(group);
  const Step& step = *in_progress.back();
  if (step.header.empty()) {
    parts_.outcomes.refuse(
        group, NC_EFILE,
        parts_.names.quoted(group.key) + " is in define mode: it has no header before ncmpi_enddef");
  } else {
    parts_.outcomes.describe(group, step.version);
  }
}

/// Whether the calling process has closed a step that is still in progress. ncmpi_close is collective, and
/// each process reports its close separately. So what the caller does next may overtake the reports of other
/// processes.
bool Opens::is_closed_by_caller(const Group& group, const Dataset& dataset) {
  return dataset.is_closed_by(group.members.begin()->second.process);
}

void Opens::decide_remove(Group& group) {
  if (refuse_other_path(group)) return;
  if (is_closed_by_caller(group, parts_.datasets[group.key])) {
    parts_.groups.wait(group, Group::WaitsFor::own_step);
  } else {
    parts_.outcomes.take_away(group);
  }
}

/// With `identity: name`, files of one writer in several directories would be one dataset.
bool Opens::refuse_other_path(Group& group) {
  if (parts_.rules.of(group.key).identity != Identity::name || group.path.empty()) return false;
  std::string& written = parts_.datasets[group.key].written_path;
  if (written.empty() && group.writes()) written = group.path;
  if (written.empty() || written == group.path) return false;
  parts_.outcomes.refuse(group, NC_EINVAL,
                         "`identity: name` in the rule makes one file of " + group.path + " and " + written +
                             " (written by " + group.component->name +
                             "). Remove `identity: name`, or use a pattern with the directories: '*/" +
                             group.key.name + "'");
  return true;
}

/// Whether the writer asks for a file on disk that this run has neither made nor discarded, or a reader for
/// one that it has made itself.
bool Opens::is_from_before(const Group& group) const {
  const bool is_untouched = parts_.datasets.at(group.key).is_untouched();
  const bool is_read_in_place = parts_.rules.is_in_files(group.key) && group.purpose == Purpose::write;
  const std::string& component = group.component->name;
  return group.is_on_disk && is_untouched && !is_read_in_place &&
         (component == parts_.rules.of(group.key).writer || parts_.uses.is_own_file(component, group.key));
}

/// A process that has not read the file would find it on a disk: without it, the run is no success.
void Opens::refuse_recycled(Group& group) {
  Dataset& dataset = parts_.datasets[group.key];
  const auto& first = group.members.begin()->second;
  const auto has_it = [&](const ProcessSet& readers) { return readers.contains(first.process); };
  const bool is_missed = group.purpose == Purpose::read && !group.is_look() && dataset.claim != Claim::none &&
                         std::ranges::none_of(dataset.had_read, has_it);
  if (is_missed) dataset.steps_lost = std::max(dataset.steps_lost, 1U);
  if (group.is_look()) dataset.note_missed_by(group.component->name, parts_.rules.of(group.key));
  parts_.outcomes.refuse(group, NC_ENOENT, recycled_text(group));
}

std::string Opens::recycled_text(const Group& group) const {
  const DatasetKey& key = group.key;
  const std::string passed =
      parts_.sequences.passed_text(key, parts_.datasets.at(key), group.component->name);
  if (!passed.empty()) return parts_.names.quoted(key) + passed;
  const std::string text = parts_.names.quoted(key) + " was read by all its readers";
  if (parts_.datasets.at(key).claim == Claim::none)
    return text + ", and its memory was needed for newer data: raise staging.retain to keep it";
  return text +
         " that were there, or they only looked at it, and newer data needed its space: raise "
         "staging.memory, or set staging.spill to a directory with more space";
}

}  // namespace sluice::matcher
