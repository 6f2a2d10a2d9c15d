// Groups: how their members come together, and what they are given.
#include <algorithm>
#include <utility>

#include "sluice/formats/error.hpp"
#include "sluice/matcher/registry.hpp"

namespace sluice::matcher {

namespace {
constexpr std::uint32_t max_group_size = 1U << 20;

const char* refused_call(GroupPurpose purpose) noexcept {
  if (purpose == GroupPurpose::create) return " cannot create ";
  if (purpose == GroupPurpose::remove) return " cannot delete ";
  return purpose == GroupPurpose::inquire ? " cannot inquire about " : " cannot open ";
}
}  // namespace

void Registry::create(const Ticket& ticket, ProcessId process, const CreateRequest& request) {
  join(ticket, processes_.at(process), GroupPurpose::create, request);
}

void Registry::open_write(const Ticket& ticket, ProcessId process, const OpenRequest& request) {
  join(ticket, processes_.at(process), GroupPurpose::open_write,
       {request.key, request.member, false, 1, request.path, false, request.is_on_disk, request.continues});
}

void Registry::open_read(const Ticket& ticket, ProcessId process, const OpenRequest& request) {
  join(ticket, processes_.at(process), GroupPurpose::open_read,
       {request.key, request.member, false, 1, request.path, false, request.is_on_disk});
}

void Registry::inquire(const Ticket& ticket, ProcessId process, const OpenRequest& request) {
  join(ticket, processes_.at(process), GroupPurpose::inquire,
       {request.key, request.member, false, 1, request.path, false, request.is_on_disk});
}

void Registry::join(const Ticket& ticket, Process& process, GroupPurpose purpose,
                    const CreateRequest& request) {
  const FileRule& rule = rule_of(request.key);
  const std::string& name = process.component->name;
  const bool is_writer = name == rule.writer;
  const bool is_reader = std::find(rule.readers.begin(), rule.readers.end(), name) != rule.readers.end();
  const bool reads = purpose != GroupPurpose::create && purpose != GroupPurpose::open_write;
  if (!is_writer && (!reads || !is_reader)) {
    throw Error(NC_EPERM, "the workflow does not have " + name + " among those who " +
                              (reads ? "read " : "write ") + quoted(request.key));
  }
  note_use(request.key.rule, name);
  const std::string mistake = join_mistake(process, purpose, request);
  if (!mistake.empty()) throw Error(NC_EINVAL, process.name() + ": " + mistake);

  auto& entry = groups_[GroupId{process.component, request.member.group}];
  const bool is_new = entry == nullptr;
  if (is_new) {
    entry = std::make_unique<Group>();
    entry->id = request.member.group;
    entry->component = process.component;
    entry->purpose = purpose;
    entry->key = request.key;
    entry->size = request.member.size;
    entry->no_clobber = request.no_clobber;
    entry->is_import = request.is_import;
    entry->is_on_disk = request.is_on_disk;
    entry->version = request.version;
    entry->path = request.path;
    entry->continues = request.continues;
    entry->spans_nodes = request.member.spans_nodes;
    entry->node = process.place.node;
  }
  Group& group = *entry;
  group.members[request.member.rank] = {process.id, ticket, false, now_ms_()};
  process.memberships.push_back({&group, request.member.rank});
  ProcessTable::change(process, [&] { ++process.waits; });
  if (is_new) decide(group);
  if (group.is_waiting()) {
    fail_waits();
  } else if (answer_member(group, request.member.rank)) {
    finish_member(group, request.member.rank);
  }
}

std::string Registry::join_mistake(const Process& process, GroupPurpose purpose,
                                   const CreateRequest& request) const {
  const Member& member = request.member;
  if (member.size == 0 || member.size > max_group_size) {
    return "a group of " + std::to_string(member.size) + " processes";
  }
  if (member.rank >= member.size) {
    return "rank " + std::to_string(member.rank) + " in a group of " + std::to_string(member.size);
  }
  const auto found = groups_.find(GroupId{process.component, member.group});
  if (found == groups_.end()) return {};
  const Group& group = *found->second;
  if (group.purpose != purpose || group.key != request.key) {
    return "its group makes another call on " + quoted(group.key);
  }
  if (group.size != member.size) {
    return "its group has " + std::to_string(group.size) + " processes, not " + std::to_string(member.size);
  }
  if (group.spans_nodes != member.spans_nodes || (!group.spans_nodes && group.node != process.place.node)) {
    return "not all processes of its group say the same of whether it is on several nodes";
  }
  if (group.members.contains(member.rank)) return "rank " + std::to_string(member.rank) + " is there already";
  return {};
}

void Registry::decide(Group& group) {
  try {
    switch (group.purpose) {
      case GroupPurpose::create:
        decide_create(group);
        break;
      case GroupPurpose::open_write:
        decide_open_write(group);
        break;
      case GroupPurpose::open_read:
        decide_open_read(group);
        break;
      case GroupPurpose::inquire:
        decide_inquire(group);
        break;
      case GroupPurpose::remove:
        decide_remove(group);
        break;
    }
  } catch (const Error& error) {  // the system has no memory
    refuse(group, error.status(), error.what());
  }
}

void Registry::decide_create(Group& group) {
  if (refuse_other_path(group)) return;
  const Dataset& dataset = datasets_[group.key];
  const bool exists = dataset.newest != nullptr || dataset.is_recycled || !dataset.in_progress.empty();
  if (group.is_import && exists) {
    refuse(group, NC_EEXIST, quoted(group.key) + " is there by now");
  } else if (group.no_clobber && exists) {
    refuse(group, NC_EEXIST, quoted(group.key) + " exists, and NC_NOCLOBBER was given");
  } else if (!readers_of_file(group.key).empty()) {
    wait(group, Group::WaitsFor::readers);
  } else if (Step* step = make_step(group, nullptr)) {
    give_step(group, *step);
  } else {
    wait(group, Group::WaitsFor::memory);
  }
}

void Registry::decide_open_write(Group& group) {
  if (refuse_other_path(group)) return;
  const Dataset& dataset = datasets_[group.key];
  if (!dataset.in_progress.empty()) {
    wait(group, Group::WaitsFor::own_step);
  } else if (!readers_of_file(group.key).empty()) {
    wait(group, Group::WaitsFor::readers);
  } else if (is_from_before(group)) {
    give_earlier_file(group);
  } else if (dataset.newest == nullptr && !is_in_files(group.key)) {  // a file may be there already
    refuse(group, NC_ENOENT,
           dataset.is_recycled ? recycled_text(group.key) + ", or give it a rule of its own"
                               : quoted(group.key) + " was never published" + near_miss_text(group.key));
  } else if (Step* step = make_step(group, dataset.newest)) {
    give_step(group, *step);
  } else {
    wait(group, Group::WaitsFor::memory);
  }
}

std::string Registry::recycled_text(const DatasetKey& key) const {
  const std::string text = quoted(key) + " was read by all its readers";
  if (datasets_.at(key).claim != Claim::doubtful)
    return text + ", and its memory was needed for newer data: raise staging.retain to keep it";
  return text +
         " that were there, and there was no room for it beside newer data: raise staging.memory, or give "
         "staging.spill a directory with more room";
}

void Registry::decide_open_read(Group& group) {
  const Dataset& dataset = datasets_[group.key];
  const std::string& writer_name = rule_of(group.key).writer;
  const Component* const writer = processes_.find_component(writer_name);
  const bool is_writer = group.component->name == writer_name;
  if (Step* const growing = visible_in_progress(dataset)) {
    give_step(group, *growing);
  } else if (is_writer && !dataset.in_progress.empty()) {
    wait(group, Group::WaitsFor::own_step);
    // In files, the earlier step was the same file. NOLINTNEXTLINE(bugprone-branch-clone): the order matters
  } else if (!dataset.in_progress.empty() && (dataset.newest == nullptr || is_in_files(group.key))) {
    wait(group, Group::WaitsFor::publication);
  } else if (dataset.newest != nullptr) {
    give_step(group, *dataset.newest);
  } else if (dataset.is_recycled && !dataset.kept_path.empty()) {
    give_file(group, dataset.kept_path, dataset.kept_version);
  } else if (dataset.is_recycled) {
    refuse(group, NC_ENOENT, recycled_text(group.key));
  } else if (is_from_before(group)) {
    give_earlier_file(group);
  } else if (is_writer) {
    refuse(group, NC_ENOENT,
           quoted(group.key) + " is written by " + writer_name + " itself, which has not created it" +
               near_miss_text(group.key));
  } else if (writer != nullptr && writer->has_exited) {
    refuse(group, NC_ENOENT,
           quoted(group.key) + " can no longer come: its writer " + writer_name + " " + writer->reason +
               near_miss_text(group.key) + elsewhere_text(group.key));
  } else {
    wait(group, Group::WaitsFor::publication);
  }
}

/// What an open for reading would find; but the writer need not have closed it: as with a file, its header
/// tells as soon as it is there.
void Registry::decide_inquire(Group& group) {
  const auto& in_progress = datasets_[group.key].in_progress;
  if (group.component->name != rule_of(group.key).writer || in_progress.empty())
    return decide_open_read(group);
  const Step& step = *in_progress.back();
  if (step.header.empty()) {
    refuse(group, NC_EFILE, quoted(group.key) + " is in define mode: it has no header before ncmpi_enddef");
  } else {
    describe(group, step.version);
  }
}

void Registry::describe(Group& group, std::uint8_t version) {
  group.outcome = Group::Outcome::described;
  group.version = version;
  stop_waiting(group);
}

/// Its step has gone, and its file is there.
void Registry::give_file(Group& group, const std::string& path, std::uint8_t version) {
  if (group.purpose == GroupPurpose::inquire) return describe(group, version);
  group.outcome = Group::Outcome::file;
  group.path = path;
  stop_waiting(group);
  answers_.event(group.component->name + " reads " + quoted(group.key) + " from the file " + path +
                 ": its memory was needed for newer data");
}

/// Whether the writer asks for a file that this run has not made, or given up, and that is there.
bool Registry::is_from_before(const Group& group) const {
  const Dataset& dataset = datasets_.at(group.key);
  const bool is_untouched =
      dataset.steps_published + dataset.steps_discarded == 0 && dataset.in_progress.empty();
  const bool is_read_in_place = is_in_files(group.key) && group.purpose == GroupPurpose::open_write;
  return group.is_on_disk && is_untouched && !is_read_in_place &&
         group.component->name == rule_of(group.key).writer;
}

/// The caller goes on with the file: reads it, or imports it into a step.
void Registry::give_earlier_file(Group& group) {
  constexpr std::uint8_t look_yourself = 0;
  if (group.purpose == GroupPurpose::inquire) return describe(group, look_yourself);
  group.outcome = Group::Outcome::file;
  stop_waiting(group);
  answers_.event(group.component->name + (group.writes() ? " goes on in the file " : " reads the file ") +
                 group.path + ", which was there before the run");
}

void Registry::wait(Group& group, Group::WaitsFor waits_for) {
  std::list<Group*>& queue =
      waits_for == Group::WaitsFor::memory ? memory_groups_ : datasets_[group.key].waiting;
  if (group.queue == nullptr) {
    group.place_in_all = waiting_groups_.insert(waiting_groups_.end(), &group);
    group.place_in_queue = queue.insert(queue.end(), &group);
  } else {
    if (group.queue != &queue) queue.splice(queue.end(), *group.queue, group.place_in_queue);
    if (group.waits_for == Group::WaitsFor::publication) --publication_waits_[group.key.rule];
  }
  group.queue = &queue;
  group.waits_for = waits_for;
  if (waits_for == Group::WaitsFor::publication) ++publication_waits_[group.key.rule];
}

void Registry::stop_waiting(Group& group) noexcept {
  if (group.queue == nullptr) return;
  std::exchange(group.queue, nullptr)->erase(group.place_in_queue);
  waiting_groups_.erase(group.place_in_all);
  if (group.waits_for == Group::WaitsFor::publication) --publication_waits_[group.key.rule];
}

void Registry::refuse(Group& group, int status, std::string text) {
  group.outcome = Group::Outcome::refused;
  group.status = status;
  group.text = std::move(text);
  stop_waiting(group);
  if (status == NC_EEXIST || (status == NC_ENOENT && group.purpose == GroupPurpose::remove)) return;
  answers_.event(group.component->name + refused_call(group.purpose) + quoted(group.key) + ": " + group.text);
}

void Registry::give_step(Group& group, Step& step) {
  if (group.purpose == GroupPurpose::inquire) return describe(group, step.version);
  group.outcome = Group::Outcome::step;
  group.step = &step;
  stop_waiting(group);
  if (group.purpose != GroupPurpose::open_read) return;
  step.readers.push_back(&group);
  group.seen_publication = step.publications;
  review(step);
}

Step* Registry::make_step(Group& group, const Step* base) {
  auto step = std::make_unique<Step>();
  step->version = group.version;
  step->is_in_files = is_in_files(group.key);
  step->path = group.path;
  if (base != nullptr && !step->is_in_files) {  // before memory is taken: that may be the base's
    note_continued(group.key.rule);
    step->version = base->version;
    step->path = base->path;
    step->origin = base->origin;
    step->record_count = base->record_count;
    step->pattern.base_record = base->record_count;
    step->header = base->header;
    step->header_revision = ++step->revision;
    step->structure = base->structure;
    step->logs = base->logs;
    continue_logs(*step, *base, group);
    for (const auto& log : base->logs)
      step->pattern.last_put = std::max(step->pattern.last_put, log->pattern.last_put);
  }
  if (!group.spans_nodes && !step->is_in_files) {
    const Process& first = processes_.at(group.members.begin()->second.process);
    const std::uint64_t bytes = control_slot_bytes * group.size + control_common_bytes;
    const SegmentPool::Request request{bytes, SegmentUse::control, first.id, first.place.index};
    auto control = take(first.place, request, MemoryKind::needed);
    while (!control && erase_doubtful(first.place.node))
      control = take(first.place, request, MemoryKind::needed);
    if (!control) return nullptr;
    step->control = std::move(*control);
  }
  step->id = next_step_++;
  if (step->origin == 0) step->origin = step->id;
  step->key = group.key;
  step->name = name_of(group.key);
  step->publish_at = rule_of(group.key).publish_at;
  step->partition = rule_of(group.key).partition;
  step->read_by.resize(rule_of(group.key).readers.size());
  step->writers = &group;
  if (!step->is_continued) add_own_logs(*step, group.size);
  step->pattern.first_writer = static_cast<std::uint32_t>(step->first_own_log);
  Step* const made = step.get();
  datasets_[group.key].in_progress.push_back(made);
  steps_.emplace(made->id, std::move(step));
  unconsumed_.emplace(made->id, made);
  return made;
}

void Registry::add_own_logs(Step& step, std::uint32_t processes) {
  step.first_own_log = step.logs.size();
  for (std::uint32_t rank = 0; rank < processes; ++rank) {
    step.logs.push_back(std::make_shared<WriteLog>());  // shared by the steps that continue this one
    if (step.publish_at == PublishAt::sync) step.logs.back()->published = {0, 0};
  }
}

/// The processes that wrote the base go on in their logs: so a step that adds a record takes no more than
/// that.
void Registry::continue_logs(Step& step, const Step& base, const Group& group) {
  if (group.continues != base.id || base.is_cut || group.size != base.logs.size() - base.first_own_log)
    return;
  std::vector<std::shared_ptr<WriteLog>> logs;
  for (std::size_t i = base.first_own_log; i < base.logs.size(); ++i) {
    if (!base.logs[i]->may_be_continued()) return;
    auto log = base.logs[i]->continued();
    if (log == nullptr) return;
    if (rule_of(base.key).publish_at != PublishAt::sync) log->published = {};
    logs.push_back(std::move(log));
  }
  std::ranges::move(logs, step.logs.begin() + static_cast<std::ptrdiff_t>(base.first_own_log));
  step.first_own_log = base.first_own_log;
  step.is_continued = true;
}

/// Gives the outcome to the members that wait for it. May end the group.
void Registry::answer_members(Group& group) {
  std::vector<std::uint32_t> finished;
  for (const auto& [rank, member] : group.members)
    if (answer_member(group, rank)) finished.push_back(rank);
  for (const std::uint32_t rank : finished) finish_member(group, rank);
}

/// The same for one of them. True: it has nothing more to do with the group.
bool Registry::answer_member(Group& group, std::uint32_t rank) {
  Group::MemberState& member = group.members.at(rank);
  if (member.is_finished) return false;
  const bool is_discarded = group.step != nullptr && (group.step->state == StepState::discarded ||
                                                      (group.step->is_cut && group.writes()));
  const bool ends_with_answer = !group.is_waiting() && group.outcome != Group::Outcome::step;
  if (!member.ticket) return ends_with_answer;
  const Ticket ticket = *std::exchange(member.ticket, std::nullopt);
  if (Process* process = processes_.find(member.process))
    ProcessTable::change(*process, [&] { --process->waits; });
  if (is_discarded) {
    answers_.refused(ticket, NC_EIO, group.step->reason);
  } else {
    answer(ticket, group);
  }
  return ends_with_answer || is_discarded;
}

void Registry::answer(const Ticket& ticket, const Group& group) {
  if (group.outcome == Group::Outcome::refused) {
    answers_.refused(ticket, group.status, group.text);
  } else if (group.outcome == Group::Outcome::file) {
    answers_.opened_file(ticket, group.path);
  } else if (group.outcome == Group::Outcome::removed) {
    answer_removal(ticket, group.key);
  } else if (group.outcome == Group::Outcome::described) {
    answers_.described(ticket, group.version);
  } else if (group.purpose == GroupPurpose::create) {
    answers_.created(ticket, *group.step);
  } else {
    answers_.opened(ticket, *group.step);
  }
}

}  // namespace sluice::matcher
