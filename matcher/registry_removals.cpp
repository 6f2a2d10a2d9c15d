// ncmpi_delete of datasets.
#include <algorithm>

#include "sluice/formats/error.hpp"
#include "sluice/matcher/registry.hpp"

namespace sluice::matcher {

/// As a group of one process, because it may have to wait.
void Registry::remove(const Ticket& ticket, ProcessId process, const DatasetKey& key,
                      const std::string& path) {
  constexpr std::uint64_t own_groups = std::uint64_t{1} << 63;  // clients draw theirs below
  Process& caller = processes_.at(process);
  std::uint64_t id = own_groups + next_removal_++;
  while (groups_.contains(GroupId{caller.component, id})) id = own_groups + next_removal_++;
  join(ticket, caller, GroupPurpose::remove, {key, {id, 0, 1}, false, 1, path});
  advance_on(key);
}

/// ncmpi_close is collective, and yet each process only tells that it has closed: what one of them does next
/// may be here before the others have told.
void Registry::decide_remove(Group& group) {
  if (refuse_other_path(group)) return;
  const ProcessId caller = group.members.begin()->second.process;
  const auto has_closed = [&](const Step* step) {
    return std::ranges::any_of(step->writers->members, [&](const auto& member) {
      return member.second.process == caller && member.second.is_finished;
    });
  };
  if (std::ranges::any_of(datasets_[group.key].in_progress, has_closed)) {
    wait(group, Group::WaitsFor::own_step);
  } else {
    take_away(group);
  }
}

/// What is published under the name goes, for all who do not have it open.
void Registry::take_away(Group& group) {
  Dataset& dataset = datasets_[group.key];
  const bool is_there = dataset.newest != nullptr || dataset.is_recycled;
  if (!is_there && !is_in_files(group.key)) {  // whether there is a file, the caller sees
    return refuse(group, NC_ENOENT, quoted(group.key) + " was not published: there is nothing to delete");
  }
  group.outcome = Group::Outcome::removed;
  stop_waiting(group);
  if (!is_there) return;
  dataset.is_recycled = false;
  dataset.drained_origin = 0;
  dataset.kept_path.clear();
  dataset.written_path.clear();
  drop_waiting_drains(group.key);
  supersede(dataset);
}

/// Who asked removes the file: it must not come behind that.
void Registry::answer_removal(const Ticket& ticket, const DatasetKey& key) {
  if (is_being_drained(key)) {
    waiting_removals_.push_back(ticket);
  } else {
    answers_.done(ticket);
  }
}

}  // namespace sluice::matcher
