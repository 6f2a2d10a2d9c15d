#include "group_outcomes.hpp"

#include <utility>

#include "publication.hpp"
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

void refuse(RegistryParts& parts, Group& group, int status, std::string text) {
  group.outcome = Group::Outcome::refused;
  group.status = status;
  group.text = std::move(text);
  parts.groups.stop_waiting(group);
  if (group.component->is_attached() || group.wants_newest()) return;
  if (status == NC_EEXIST || (status == NC_ENOENT && group.purpose == Purpose::remove)) return;
  parts.answers.event(group.component->name + refused_call(group.purpose) + parts.names.quoted(group.key) +
                      ": " + group.text);
}

void refuse_quietly(RegistryParts& parts, Group& group, std::string text) {
  group.outcome = Group::Outcome::refused;
  group.status = NC_ENOENT;
  group.text = std::move(text);
  parts.groups.stop_waiting(group);
  parts.answers.detail(group.component->name + refused_call(group.purpose) + parts.names.quoted(group.key) +
                       ": " + group.text);
}

void give_step(RegistryParts& parts, Group& group, Step& step) {
  if (group.purpose == Purpose::describe)
    return describe(parts, group, step.version == 0 ? no_cdf_version : step.version);
  group.outcome = Group::Outcome::step;
  group.step = &step;
  parts.groups.stop_waiting(group);
  if (group.purpose != Purpose::read) return;
  step.readers.push_back(&group);
  group.seen_publication = step.publications;
  parts.sequences.note_taken(step, group);
  if (!group.is_look()) parts.continued.note_taken(step, group.component->name);
  Step* const before = parts.sequences.before(step);
  parts.retention.review(step);
  if (before != nullptr) parts.retention.review(*before);
}

void describe(RegistryParts& parts, Group& group, std::uint8_t version) {
  group.outcome = Group::Outcome::described;
  group.version = version;
  parts.groups.stop_waiting(group);
}

void give_file(RegistryParts& parts, Group& group, const std::string& path, std::uint8_t version) {
  if (group.purpose == Purpose::describe) return describe(parts, group, version);
  group.outcome = Group::Outcome::file;
  group.path = path;
  parts.groups.stop_waiting(group);
  parts.answers.event(group.component->name + (group.writes() ? " continues " : " reads ") +
                      parts.names.quoted(group.key) + " from the file " + path +
                      ": its memory was needed for newer data");
}

void show_file(RegistryParts& parts, Group& group, const std::string& path) {
  group.outcome = Group::Outcome::file;
  group.path = path;
  parts.groups.stop_waiting(group);
}

void give_earlier_file(RegistryParts& parts, Group& group) {
  constexpr std::uint8_t look_yourself = 0;
  if (group.purpose == Purpose::describe) return describe(parts, group, look_yourself);
  group.outcome = Group::Outcome::file;
  parts.groups.stop_waiting(group);
  parts.answers.event(group.component->name + (group.writes() ? " continues the file " : " reads the file ") +
                      group.path + " from before the run");
}

void take_away(RegistryParts& parts, Group& group) {
  Dataset& dataset = parts.datasets[group.key];
  const bool is_there = dataset.newest != nullptr || dataset.is_recycled;
  const bool is_in_files = parts.rules.is_in_files(group.key);
  const bool was_written = !is_in_files && take_name(parts, group.key);
  dataset.written_path.clear();
  if (!is_there && !was_written && !group.is_on_disk && !is_in_files) {  // the caller looks for the file
    return refuse(parts, group, NC_ENOENT,
                  parts.names.quoted(group.key) + " was not published: there is nothing to delete");
  }
  group.outcome = Group::Outcome::removed;
  parts.groups.stop_waiting(group);
  if (!is_there) return;
  parts.answers.removed(group.key);
  dataset.is_recycled = false;
  dataset.kept_path.clear();
  parts.drains.forget(group.key);
  if (parts.rules.of(group.key).is_stream) return parts.retention.leave_in_stream(dataset);
  parts.retention.supersede(dataset);
}

}  // namespace sluice::matcher
