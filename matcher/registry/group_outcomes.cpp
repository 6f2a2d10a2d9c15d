#include "group_outcomes.hpp"

#include <utility>

#include "registry_parts.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::matcher {

namespace {

const char* refused_call(Purpose purpose) noexcept {
  if (purpose == Purpose::create) return " cannot create ";
  if (purpose == Purpose::remove) return " cannot delete ";
  return purpose == Purpose::describe ? " cannot inquire about " : " cannot open ";
}

}  // namespace

void GroupOutcomes::refuse(Group& group, int status, std::string text) {
  group.outcome = Group::Outcome::refused;
  group.status = status;
  group.text = std::move(text);
  parts_.groups.stop_waiting(group);
  if (group.component->is_attached() || group.wants_newest()) return;
  if (status == NC_EEXIST || (status == NC_ENOENT && group.purpose == Purpose::remove)) return;
  parts_.answers.event(group.component->name + refused_call(group.purpose) + parts_.names.quoted(group.key) +
                       ": " + group.text);
}

void GroupOutcomes::refuse_quietly(Group& group, std::string text) {
  group.outcome = Group::Outcome::refused;
  group.status = NC_ENOENT;
  group.text = std::move(text);
  parts_.groups.stop_waiting(group);
  parts_.answers.detail(group.component->name + refused_call(group.purpose) + parts_.names.quoted(group.key) +
                        ": " + group.text);
}

void GroupOutcomes::give_step(Group& group, Step& step) {
  if (group.purpose == Purpose::describe)
    return describe(group, step.version == 0 ? no_cdf_version : step.version);
  group.outcome = Group::Outcome::step;
  group.step = &step;
  parts_.groups.stop_waiting(group);
  if (group.purpose != Purpose::read) return;
  step.readers.push_back(&group);
  group.seen_publication = step.publications;
  parts_.sequences.note_taken(step, group);
  if (!group.is_look()) parts_.continued.note_taken(step, group.component->name);
  Step* const before = parts_.sequences.before(step);
  parts_.retention.review(step);
  if (before != nullptr) parts_.retention.review(*before);
}

void GroupOutcomes::describe(Group& group, std::uint8_t version) {
  group.outcome = Group::Outcome::described;
  group.version = version;
  parts_.groups.stop_waiting(group);
}

void GroupOutcomes::give_file(Group& group, const std::string& path, std::uint8_t version) {
  if (group.purpose == Purpose::describe) return describe(group, version);
  group.outcome = Group::Outcome::file;
  group.path = path;
  parts_.groups.stop_waiting(group);
  parts_.answers.event(group.component->name + (group.writes() ? " continues " : " reads ") +
                       parts_.names.quoted(group.key) + " from the file " + path +
                       ": its memory was needed for newer data");
}

void GroupOutcomes::show_file(Group& group, const std::string& path) {
  group.outcome = Group::Outcome::file;
  group.path = path;
  parts_.groups.stop_waiting(group);
}

void GroupOutcomes::give_earlier_file(Group& group) {
  constexpr std::uint8_t look_yourself = 0;
  if (group.purpose == Purpose::describe) return describe(group, look_yourself);
  group.outcome = Group::Outcome::file;
  parts_.groups.stop_waiting(group);
  parts_.answers.event(group.component->name +
                       (group.writes() ? " continues the file " : " reads the file ") + group.path +
                       " from before the run");
}

void GroupOutcomes::take_away(Group& group) {
  Dataset& dataset = parts_.datasets[group.key];
  const bool is_there = dataset.newest != nullptr || dataset.is_recycled;
  const bool is_in_files = parts_.rules.is_in_files(group.key);
  const bool was_written = !is_in_files && parts_.publication.take_name(group.key);
  dataset.written_path.clear();
  if (!is_there && !was_written && !group.is_on_disk && !is_in_files) {  // the caller looks for the file
    return refuse(group, NC_ENOENT,
                  parts_.names.quoted(group.key) + " was not published: there is nothing to delete");
  }
  group.outcome = Group::Outcome::removed;
  parts_.groups.stop_waiting(group);
  if (!is_there) return;
  parts_.answers.removed(group.key);
  dataset.is_recycled = false;
  dataset.kept_path.clear();
  parts_.drains.forget(group.key);
  if (parts_.rules.of(group.key).is_stream) return parts_.retention.leave_in_stream(dataset);
  parts_.retention.supersede(dataset);
}

}  // namespace sluice::matcher
