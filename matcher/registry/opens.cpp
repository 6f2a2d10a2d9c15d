#include "opens.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "registry_parts.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/formats/path_pattern.hpp"

namespace sluice::matcher {

namespace {

void add_member(RegistryParts& parts, Group& group, const Ticket& ticket, Process& process,
                std::uint32_t rank) {
  group.members[rank] = {process.id, ticket, false, false, parts.now_ms()};
  process.memberships.set(group.serial, {&group, rank});
  process.has_opened = true;
  ProcessTable::change(process, [&] { ++process.waits; });
}

Group& join_at_once(RegistryParts& parts, const Process& first, const std::vector<ProcessId>& members,
                    const Open& open) {
  parts.uses.note_use(open.key.rule, first.component->name);
  const auto [group, is_new] = parts.groups.group_for(first, open);
  if (!is_new) throw Error(NC_EINVAL, first.name() + ": its group makes another call");
  const std::uint64_t now_ms = parts.now_ms();
  for (std::uint32_t rank = 0; rank < members.size(); ++rank) {
    group.members[rank] = {members[rank], std::nullopt, false, false, now_ms, now_ms};
    if (Process* const process = parts.processes.find(members[rank])) {
      process->memberships.set(group.serial, {&group, rank});
      ProcessTable::change(*process, [] {});  // it may act
    }
  }
  return group;
}

/// A job may open its file several times, and may be tried again. Two jobs of one file never run at once. The
/// process may be faster than the word that its job has begun: then its step is the newest that waits.
Step* step_of_job(RegistryParts& parts, const Group& group) {
  const Jobs* const jobs = parts.jobs.find(group.component->name, group.key.rule);
  if (jobs == nullptr) return nullptr;
  for (const std::set<StepId>* steps : {&jobs->running, &jobs->waiting}) {
    for (auto id = steps->rbegin(); id != steps->rend(); ++id) {
      Step* const step = parts.datasets.find_step(*id);
      if (step != nullptr && step->key == group.key) return step;
    }
  }
  return nullptr;
}

/// In a stream, a reader may have earlier steps to read, and their memory may be what the file waits for.
bool has_to_wait_behind_file(RegistryParts& parts, const Group& group) {
  if (parts.processes.writer_of(group.follows) == nullptr) return false;
  const FileRule& rule = parts.rules.of(group.key);
  const std::string& name = group.component->name;
  const bool takes_next = rule.is_stream && !group.writes() && name != rule.writer &&
                          !group.component->is_attached() && rule.mode_of(name).mode != ReadMode::latest;
  if (takes_next && group.continues != 0) return false;
  return !takes_next || (step_of_job(parts, group) == nullptr && parts.sequences.next_for(group) == nullptr);
}

/// Whether members that have not come may follow a file of their matcher that its writer has changed again:
/// the registry hears of such changes when they are published.
bool may_follow_others(RegistryParts& parts, const Group& group) {
  const bool opens = group.purpose == Purpose::read || group.purpose == Purpose::write;
  if (!opens || group.has_all_arrived() || group.component->name != parts.rules.of(group.key).writer)
    return false;
  const Dataset* const dataset = parts.datasets.find(group.key);
  return dataset != nullptr && dataset->newest != nullptr && dataset->newest->file_bytes;
}

/// Whether the file is being written on the disk and is now to be in memory, or the other way.
bool has_to_change_place(RegistryParts& parts, const Group& group, const Dataset& dataset) {
  return !parts.rules.is_in_files(group.key) &&
         std::ranges::any_of(dataset.in_progress,
                             [&](const Step* step) { return step->is_in_files != group.is_in_place; });
}

/// Whether the data of the step is in a file alone, although its rule has it in memory or in logs.
bool is_of_former_run(RegistryParts& parts, const Step* step, const DatasetKey& key) {
  return step != nullptr && step->is_in_files && !parts.rules.is_in_files(key);
}

bool has_to_wait_for_queue(RegistryParts& parts, const Group& group) {
  return parts.rules.of(group.key).when_full == WhenFull::wait && !group.exceeds_queue &&
         parts.sequences.is_full(group.key);
}

/// With `identity: name`, files of one writer in several directories would be one dataset.
bool refuse_other_path(RegistryParts& parts, Group& group) {
  if (parts.rules.of(group.key).identity != Identity::name || group.path.empty()) return false;
  std::string& written = parts.datasets[group.key].written_path;
  if (written.empty() && group.writes()) written = group.path;
  if (written.empty() || written == group.path) return false;
  refuse(parts, group, NC_EINVAL,
         "`identity: name` in the rule makes one file of " + group.path + " and " + written +
             " (written by " + group.component->name +
             "). Remove `identity: name`, or use a pattern with the directories: '*/" + group.key.name + "'");
  return true;
}

void decide_create(RegistryParts& parts, Group& group) {
  if (refuse_other_path(parts, group)) return;
  const Dataset& dataset = parts.datasets[group.key];
  const bool exists = dataset.newest != nullptr || dataset.is_recycled || !dataset.in_progress.empty();
  const bool is_on_disk_alone =
      dataset.is_only_on_disk() || is_of_former_run(parts, dataset.newest, group.key);
  const bool may_import = !exists || (is_on_disk_alone && dataset.in_progress.empty());
  if (group.is_import && !may_import) {
    refuse(parts, group, NC_EEXIST, parts.names.quoted(group.key) + " exists now");
  } else if (group.no_clobber && exists) {
    refuse(parts, group, NC_EEXIST, parts.names.quoted(group.key) + " exists, and NC_NOCLOBBER was given");
  } else if (has_to_change_place(parts, group, dataset)) {
    parts.groups.wait(group, Group::WaitsFor::own_step);
  } else if (!parts.groups.readers_of_file(group).empty()) {
    parts.groups.wait(group, Group::WaitsFor::readers);
  } else if (has_to_wait_for_queue(parts, group)) {
    parts.groups.wait(group, Group::WaitsFor::queue);
  } else if (Step* step = make_step(parts, group, nullptr)) {
    give_step(parts, group, *step);
  } else {
    parts.groups.wait(group, Group::WaitsFor::memory);
  }
}

/// Whether the writer asks for a file on disk that this run has neither made nor discarded, or a reader for
/// one that it has made itself.
bool is_from_before(RegistryParts& parts, const Group& group) {
  const bool is_untouched = parts.datasets.at(group.key).is_untouched();
  const bool is_read_in_place = parts.rules.is_in_files(group.key) && group.purpose == Purpose::write;
  const std::string& component = group.component->name;
  return group.is_on_disk && is_untouched && !is_read_in_place &&
         (component == parts.rules.of(group.key).writer || parts.uses.is_own_file(component, group.key));
}

std::string recycled_text(RegistryParts& parts, const Group& group) {
  const DatasetKey& key = group.key;
  const std::string passed = parts.sequences.passed_text(key, parts.datasets.at(key), group.component->name);
  if (!passed.empty()) return parts.names.quoted(key) + passed;
  const std::string text = parts.names.quoted(key) + " was read by all its readers";
  if (parts.datasets.at(key).claim == Claim::none)
    return text + ", and its memory was needed for newer data: raise staging.retain to keep it";
  return text +
         " that were there, or they only looked at it, and newer data needed its space: raise "
         "staging.memory, or set staging.spill to a directory with more space";
}

void decide_open_write(RegistryParts& parts, Group& group) {
  if (refuse_other_path(parts, group)) return;
  const Dataset& dataset = parts.datasets[group.key];
  if (!dataset.in_progress.empty()) {
    parts.groups.wait(group, Group::WaitsFor::own_step);
  } else if (!parts.groups.readers_of_file(group).empty()) {
    parts.groups.wait(group, Group::WaitsFor::readers);
  } else if (is_from_before(parts, group)) {
    give_earlier_file(parts, group);
  } else if (dataset.is_only_on_disk()) {
    give_file(parts, group, dataset.kept_path, dataset.kept_version);
  } else if (is_of_former_run(parts, dataset.newest, group.key)) {
    group.path = dataset.newest->data_path();
    give_earlier_file(parts, group);
  } else if (dataset.newest == nullptr &&
             !parts.rules.is_in_files(group.key)) {  // a file may be there already
    refuse(parts, group, NC_ENOENT,
           dataset.is_recycled ? recycled_text(parts, group) + ", or give it a rule of its own"
                               : parts.names.quoted(group.key) + " was never published" +
                                     parts.uses.near_miss_text(group.key));
  } else if (has_to_wait_for_queue(parts, group)) {
    parts.groups.wait(group, Group::WaitsFor::queue);
  } else if (Step* step = make_step(parts, group, dataset.newest)) {
    give_step(parts, group, *step);
  } else {
    parts.groups.wait(group, Group::WaitsFor::memory);
  }
}

/// Whether the rule says that its writer need not make the file, and it has not begun to.
bool is_optional(RegistryParts& parts, const Group& group) {
  const Dataset* const dataset = parts.datasets.find(group.key);
  return (dataset == nullptr || dataset->in_progress.empty()) &&
         std::ranges::any_of(parts.rules.of(group.key).optional, [&](const std::string& pattern) {
           return formats::covers_path(pattern, group.key.name);
         });
}

/// The writer may publish it.
void await_publication(RegistryParts& parts, Group& group) {
  if (!is_optional(parts, group)) return parts.groups.wait(group, Group::WaitsFor::publication);
  refuse_quietly(parts, group, parts.names.quoted(group.key) + " is optional, and not published now");
}

/// Whether the newest step and the one that is being written are the same file on disk.
bool is_being_changed(const Dataset& dataset) {
  return dataset.newest->is_in_files && dataset.in_progress.back()->is_in_files;
}

void decide_again(RegistryParts& parts, Group& group) {
  Step* const step = parts.datasets.find_step(group.continues);
  if (step != nullptr && step->key == group.key && step->state == StepState::published)
    return give_step(parts, group, *step);
  refuse(parts, group, NC_EIO,
         "the step that it has opened before is gone. Keep the file open, or raise staging.retain");
}

/// The writer has ended. Who has read files of the rule and asks for the next one has come to their end.
void refuse_for_good(RegistryParts& parts, Group& group) {
  if (is_optional(parts, group)) return await_publication(parts, group);  // as while its writer runs
  const std::string& writer = parts.rules.of(group.key).writer;
  const std::string text = parts.names.quoted(group.key) + " will not be published: its writer " + writer +
                           " " + parts.processes.find_component(writer)->reason;
  if (parts.sequences.has_taken_any(group.key.rule, group.component->name) &&
      parts.uses.differs_in_digits(group.key)) {
    return refuse_quietly(parts, group, text);
  }
  std::string advice = parts.uses.near_miss_text(group.key) + parts.names.elsewhere_text(group.key);
  if (advice.empty() && !parts.uses.has_published(group.key.rule))
    advice = " before it had published any file of '" + parts.rules.of(group.key).pattern +
             "': look at the output of " + writer + ", or compare 'path' with the names that it writes";
  if (parts.uses.has_published(group.key.rule))
    advice += (advice.ends_with('?') ? " If " : ". If ") + group.component->name +
              " makes this file itself, give it a name that '" + parts.rules.of(group.key).pattern +
              "' does not cover";
  refuse(parts, group, NC_ENOENT, text + advice);
}

/// Each reader goes through the steps of the name in order, or as its mode says.
void decide_next_of_stream(RegistryParts& parts, Group& group) {
  const FileRule& rule = parts.rules.of(group.key);
  const Component* const writer = parts.processes.find_component(rule.writer);
  if (group.continues != 0) return decide_again(parts, group);
  if (Step* const own = step_of_job(parts, group)) {
    give_step(parts, group, *own);
  } else if (Step* const next = parts.sequences.next_for(group)) {
    give_step(parts, group, *next);
  } else if (writer == nullptr || !writer->has_exited) {
    await_publication(parts, group);
  } else if (parts.datasets[group.key].steps_published > 0) {
    refuse_quietly(
        parts, group,
        "the stream has ended: no step is left, and its writer " + rule.writer + " " + writer->reason);
  } else {
    refuse_for_good(parts, group);
  }
}

/// Whether the calling process has closed a step that is still in progress. ncmpi_close is collective, and
/// each process reports its close separately. So what the caller does next may overtake the reports of other
/// processes.
bool is_closed_by_caller(const Group& group, const Dataset& dataset) {
  return dataset.is_closed_by(group.members.begin()->second.process);
}

/// Who only looks holds back nobody: nothing waits for it, and it waits for a step alone that it has closed
/// itself.
void decide_newest(RegistryParts& parts, Group& group) {
  const Dataset* const dataset = parts.datasets.find(group.key);
  if (dataset != nullptr && !group.component->is_attached() && is_closed_by_caller(group, *dataset))
    return parts.groups.wait(group, Group::WaitsFor::own_step);
  Step* const newest = dataset != nullptr ? dataset->newest : nullptr;
  const bool is_writer = group.component->name == parts.rules.of(group.key).writer;
  Step* const last =
      dataset == nullptr || dataset->in_progress.empty() ? nullptr : dataset->in_progress.back();
  if (last != nullptr && group.which == Open::Which::last && !last->is_in_files) {
    parts.groups.wait(group, Group::WaitsFor::own_step);
  } else if (last != nullptr && is_writer && last->is_in_files) {
    show_file(parts, group, last->path);
    // What is written by the C library has a version when it is closed; until then its matcher has its bytes.
  } else if (last != nullptr && is_writer && group.which == Open::Which::growing && last->version != 0) {
    give_step(parts, group, *last);
  } else if (newest != nullptr && !newest->is_in_files) {
    give_step(parts, group, *newest);
  } else if (newest != nullptr) {
    show_file(parts, group, newest->data_path());
  } else if (dataset != nullptr && dataset->is_recycled && !dataset->kept_path.empty()) {
    show_file(parts, group, dataset->kept_path);
  } else {
    refuse(parts, group, NC_ENOENT, parts.names.quoted(group.key) + " is not published now");
  }
}

/// A process that has not read the file would find it on a disk: without it, the run is no success.
void refuse_recycled(RegistryParts& parts, Group& group) {
  Dataset& dataset = parts.datasets[group.key];
  const auto& first = group.members.begin()->second;
  const auto has_it = [&](const ProcessSet& readers) { return readers.contains(first.process); };
  const bool is_missed = group.purpose == Purpose::read && !group.is_look() && dataset.claim != Claim::none &&
                         std::ranges::none_of(dataset.had_read, has_it);
  if (is_missed) dataset.steps_lost = std::max(dataset.steps_lost, 1U);
  if (group.is_look()) dataset.note_missed_by(group.component->name, parts.rules.of(group.key));
  refuse(parts, group, NC_ENOENT, recycled_text(parts, group));
}

void decide_open_read(RegistryParts& parts, Group& group) {
  if (group.component->is_attached() || group.wants_newest()) return decide_newest(parts, group);
  const Dataset& dataset = parts.datasets[group.key];
  const FileRule& rule = parts.rules.of(group.key);
  const std::string& writer_name = rule.writer;
  if (rule.is_stream && group.component->name != writer_name) return decide_next_of_stream(parts, group);
  const Component* const writer = parts.processes.find_component(writer_name);
  const bool is_writer = group.component->name == writer_name;
  if (Step* const growing = dataset.visible_in_progress()) {
    give_step(parts, group, *growing);
  } else if (is_writer && !dataset.in_progress.empty()) {
    parts.groups.wait(group, Group::WaitsFor::own_step);
    // In files, the earlier step was the same file. NOLINTNEXTLINE(bugprone-branch-clone): the order matters
  } else if (!dataset.in_progress.empty() &&
             (dataset.newest == nullptr || is_being_changed(dataset) || dataset.is_closed_by())) {
    parts.groups.wait(group, Group::WaitsFor::publication);
  } else if (dataset.newest != nullptr) {
    give_step(parts, group, *dataset.newest);
  } else if (dataset.is_only_on_disk()) {
    give_file(parts, group, dataset.kept_path, dataset.kept_version);
  } else if (dataset.is_recycled) {
    refuse_recycled(parts, group);
  } else if (is_from_before(parts, group)) {
    give_earlier_file(parts, group);
  } else if (is_writer) {
    refuse(parts, group, NC_ENOENT,
           writer_name + " itself is the writer of " + parts.names.quoted(group.key) +
               ", and has not created it" + parts.uses.near_miss_text(group.key));
  } else if (writer != nullptr && writer->has_exited) {
    refuse_for_good(parts, group);
  } else {
    await_publication(parts, group);
  }
}

/// As an open for reading, but the writer need not have closed the step: as with a file, the header is
/// enough.
void decide_inquire(RegistryParts& parts, Group& group) {
  const auto& in_progress = parts.datasets[group.key].in_progress;
  if (group.component->name != parts.rules.of(group.key).writer || in_progress.empty())
    return decide_open_read(parts, group);
  const Step& step = *in_progress.back();
  if (step.header.empty()) {
    refuse(parts, group, NC_EFILE,
           parts.names.quoted(group.key) + " is in define mode: it has no header before ncmpi_enddef");
  } else {
    describe(parts, group, step.version);
  }
}

void decide_remove(RegistryParts& parts, Group& group) {
  if (refuse_other_path(parts, group)) return;
  if (is_closed_by_caller(group, parts.datasets[group.key])) {
    parts.groups.wait(group, Group::WaitsFor::own_step);
  } else {
    take_away(parts, group);
  }
}

}  // namespace

Group& join_group(RegistryParts& parts, const Ticket& ticket, Process& process, const Open& open,
                  const WrittenFile& follows) {
  if (open.purpose > Purpose::remove) throw Error(NC_EINVAL, process.name() + ": an unknown kind of open");
  if (open.key.name.empty()) throw Error(NC_EINVAL, process.name() + ": a file without a name");
  const FileRule& rule = parts.rules.of(open.key);
  const std::string& name = process.component->name;
  const bool is_writer = name == rule.writer;
  const bool is_reader = std::find(rule.readers.begin(), rule.readers.end(), name) != rule.readers.end();
  const bool is_attached = process.component->is_attached() && open.purpose == Purpose::read;
  if (!is_attached && !is_writer && (open.writes() || !is_reader)) {
    throw Error(NC_EPERM, "the workflow does not name " + name + " as a " +
                              (open.writes() ? "writer" : "reader") + " of " + parts.names.quoted(open.key));
  }
  if (!is_attached) parts.uses.note_use(open.key.rule, name);
  const std::string mistake = parts.groups.join_mistake(process, open);
  if (!mistake.empty()) throw Error(NC_EINVAL, process.name() + ": " + mistake);

  const auto [group, is_new] = parts.groups.group_for(process, open, follows);
  add_member(parts, group, ticket, process, open.member.rank);
  if (is_new) {
    decide(parts, group);
  } else {
    if (group.is_waiting() && follows.connection != 0) group.follows = follows;
    parts.sequences.note_joined(group, process.id);
  }
  return group;
}

void join_further(RegistryParts& parts, Group& group, const Ticket& ticket, Process& process,
                  const Member& member) {
  const std::string mistake = GroupTable::member_mistake(group, process, member);
  if (!mistake.empty()) throw Error(NC_EINVAL, process.name() + ": " + mistake);
  add_member(parts, group, ticket, process, member.rank);
  parts.sequences.note_joined(group, process.id);
}

/// A create of a file of such a rule gets a step at once, whatever there is (OfferMaker::may_have_offers).
Group& join_all(RegistryParts& parts, const OfferBook::Page& page, StepOffer offer, const Open& open) {
  Process& first = parts.processes.at(page.members.front());
  Group& group = join_at_once(parts, first, page.members, open);
  give_step(parts, group, make_step(parts, group, std::move(offer)));
  return group;
}

/// The step is the newest one of its name, or was when the group has taken it (ReadOffers).
Group& join_read(RegistryParts& parts, const ReadOffers::Page& page, Step& step, const Open& open) {
  Process& first = parts.processes.at(page.members.front());
  Group& group = join_at_once(parts, first, page.members, open);
  group.is_offered = true;
  give_step(parts, group, step);
  return group;
}

void decide(RegistryParts& parts, Group& group) {
  if (has_to_wait_behind_file(parts, group)) return parts.groups.wait(group, Group::WaitsFor::file);
  if (may_follow_others(parts, group)) return parts.groups.wait(group, Group::WaitsFor::members);
  try {
    switch (group.purpose) {
      case Purpose::create:
        decide_create(parts, group);
        break;
      case Purpose::write:
        decide_open_write(parts, group);
        break;
      case Purpose::read:
        decide_open_read(parts, group);
        break;
      case Purpose::describe:
        decide_inquire(parts, group);
        break;
      case Purpose::remove:
        decide_remove(parts, group);
        break;
      case Purpose::change:
      case Purpose::hide:
        break;  // these have no group
    }
  } catch (const Error& error) {  // the system has no memory
    refuse(parts, group, error.status(), error.what());
  }
}

}  // namespace sluice::matcher
