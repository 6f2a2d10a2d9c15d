#include "retention.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace sluice::matcher {

Retention::Retention(const Parts& parts, const RegistryOptions& options)
    : parts_(parts),
      nodes_(options.nodes),
      retain_bytes_(options.retain_bytes),
      spill_directory_(options.spill_directory),
      consumed_(options.nodes, parts.rules.size()),
      doubtful_(options.nodes, parts.rules.size()) {}

void Retention::review(Step& step) {
  const bool is_open = is_in_use(step);
  const bool is_past_use =
      step.state == StepState::discarded || (step.state == StepState::published && step.is_superseded);
  if (!is_open && is_past_use && parts_.reads.withdraw(step.id)) {
    erase(step);
    return;
  }
  Claim claim = is_open || is_past_use || step.state != StepState::published ? Claim::needed
                                                                             : parts_.readers.claim_on(step);
  if (claim != Claim::needed && !parts_.reads.withdraw(step.id)) claim = Claim::needed;
  const bool is_left = claim == Claim::none && is_for_resume(step);
  if (claim == Claim::none && !is_left && is_past(step)) {
    erase(step);
    return;
  }
  if (claim == step.claim) return;
  keep(step);
  if (claim == Claim::needed) return;
  step.claim = claim;
  (claim == Claim::none ? consumed_ : doubtful_)
      .add(step, parts_.datasets.is_on_disk(step) && parts_.readers.is_partly_read(step));
  unconsumed_.erase(step.id);
  if (claim == Claim::none && !is_left) free_disk(step);
}

/// A read that was taken counts before its letter is handled.
bool Retention::is_in_use(const Step& step) const {
  return step.writers != nullptr || !step.readers.empty() || step.is_draining() || step.is_becoming_image() ||
         parts_.reads.is_taken(step.id);
}

/// The logs of a stream's unread steps are all that a run which is killed leaves of them, and it loses its
/// readers first (docs/design/resume.md).
bool Retention::is_for_resume(const Step& step) const {
  const FileRule& rule = parts_.rules.of(step.key);
  return step.state == StepState::published && rule.is_stream && rule.through == Through::burst_buffer &&
         parts_.readers.is_left_unread(step);
}

/// No name leads to the step of a stream any more.
bool Retention::is_past(const Step& step) const {
  return parts_.rules.of(step.key).is_stream && parts_.datasets.at(step.key).newest != &step;
}

/// The step is needed: removes it from the lists of steps whose memory may be reclaimed.
void Retention::keep(Step& step) {
  if (step.claim == Claim::needed) return;
  (step.claim == Claim::none ? consumed_ : doubtful_).remove(step);
  step.claim = Claim::needed;
  unconsumed_.emplace(step.id, &step);
}

void Retention::drop_image(Step& step, std::uint32_t node) {
  keep(step);  // its bytes change
  step.images.erase(node);
  review(step);
}

void Retention::note_continued(std::uint32_t rule) {
  if (!parts_.readers.note_continued(rule)) return;
  for (Step* const step : consumed_.steps_of(rule)) review(*step);
}

void Retention::review_steps_read_by(const Component& component) {
  std::vector<StepId> concerned;  // a review may erase others of them
  const auto collect = [&](const Step& step) {
    if (parts_.readers.may_change_claim(step, component)) concerned.push_back(step.id);
  };
  for (const auto& [id, step] : unconsumed_) collect(*step);
  for (std::uint32_t rule = 0; rule < parts_.rules.size(); ++rule) {
    for (const Step* const step : doubtful_.steps_of(rule)) collect(*step);
    if (component.processes > 0) continue;  // all its processes may have been known before
    for (const Step* const step : consumed_.steps_of(rule)) collect(*step);
  }
  for (const StepId id : concerned)
    if (Step* const step = parts_.datasets.find_step(id)) review(*step);
}

void Retention::note_reader_restart(const Component& component) {
  std::vector<StepId> concerned;  // a review may erase others of them
  const auto note = [&](Step& step) {
    if (parts_.readers.note_restart(step, component)) concerned.push_back(step.id);
  };
  for (const auto& [id, step] : unconsumed_) note(*step);
  for (std::uint32_t rule = 0; rule < parts_.rules.size(); ++rule)
    for (Step* const step : doubtful_.steps_of(rule)) note(*step);
  for (const StepId id : concerned)
    if (Step* const step = parts_.datasets.find_step(id)) review(*step);
}

void Retention::supersede(Dataset& dataset) {
  Step* const old = std::exchange(dataset.newest, nullptr);
  if (old == nullptr) return;
  old->is_superseded = true;
  (void)parts_.reads.withdraw(old->id);
  review(*old);
}

void Retention::leave_in_stream(Dataset& dataset) {
  if (Step* const old = std::exchange(dataset.newest, nullptr)) review(*old);
}

void Retention::erase(Step& step) {
  const Claim claim = step.claim;
  keep(step);
  Dataset& dataset = parts_.datasets[step.key];
  if (dataset.newest == &step) {
    dataset.newest = nullptr;
    dataset.is_recycled = true;
    dataset.claim = claim;
    dataset.had_read.clear();
    for (ReaderRecord& record : step.read_by) dataset.had_read.push_back(std::move(record.processes));
    parts_.datasets.note_past(step.key);
  }
  parts_.sequences.erase(step, dataset);
  parts_.readers.forget(step.id);
  parts_.answers.erased(step.id);
  unconsumed_.erase(step.id);
  parts_.datasets.erase(step);
}

bool Retention::erase_if_any(Step* step) {
  if (step == nullptr) return false;
  erase(*step);
  return true;
}

bool Retention::erase_spilled(std::uint32_t node, bool even_last) {
  Step* const first =
      even_last ? consumed_.first_on(node, Medium::disk) : consumed_.first_spare_on(node, Medium::disk);
  return erase_if_any(first);
}

bool Retention::erase_doubtful(std::uint32_t node, Medium medium) {
  Step* const first = doubtful_.first_on(node, medium);
  if (first == nullptr) return false;
  tell_of_doubtful(*first, no_space());
  erase(*first);
  return true;
}

std::string Retention::no_space() const {
  return spill_directory_.empty() ? "memory is used up, and there is no staging.spill"
                                  : "memory and the space in " + spill_directory_ + " are used up";
}

void Retention::tell_of_doubtful(const Step& step, const std::string& why) {
  if (std::exchange(has_told_of_doubtful_, true)) return;
  parts_.answers.event(parts_.names.quoted(step.key) + " is removed, although a reader may open it again: " +
                       why + ". More files may follow: " + remedy_for(step) +
                       "raise staging.memory, or give staging.spill more space");
}

/// Of the first reader whose number of processes is unknown.
std::string Retention::remedy_for(const Step& step) const {
  const std::string reader = parts_.readers.unknown_reader(step);
  if (reader.empty()) return {};
  return "nobody knows how many processes of " + reader + " read a file; say `ranks: 1` if it is one, or " +
         "`for-each` if a command of its own reads each file; or ";
}

bool Retention::erase_given_up(std::uint32_t node) {
  return erase_given_up([node](const Step& step) { return step.has_data_on(node); });
}

Step* Retention::first_given_up(const std::function<bool(const Step&)>& is_meant) const {
  const auto is_given_up = [&](const auto& entry) {
    const Step& step = *entry.second;
    return !is_in_use(step) && step.state == StepState::published && is_meant(step) &&
           parts_.readers.is_given_up(step);
  };
  const auto found = std::ranges::find_if(unconsumed_, is_given_up);
  return found == unconsumed_.end() ? nullptr : found->second;
}

bool Retention::erase_given_up(const std::function<bool(const Step&)>& is_meant) {
  while (Step* const step = first_given_up(is_meant)) {
    if (!parts_.reads.withdraw(step->id)) continue;  // it is taken, and counts as open now
    tell_of_doubtful(*step, no_space());
    erase(*step);
    return true;
  }
  return false;
}

/// A consumed step on the disk, else the oldest doubtful one, else one that is given up.
Step* Retention::first_read(std::uint32_t node) const {
  if (Step* const consumed = consumed_.first_on(node, Medium::disk)) return consumed;
  Step* const staged = doubtful_.first_on(node, Medium::memory);
  Step* const spilled = doubtful_.first_on(node, Medium::disk);
  if (staged != nullptr && spilled != nullptr)
    return *staged->consumed_place < *spilled->consumed_place ? staged : spilled;
  if (staged != nullptr || spilled != nullptr) return staged != nullptr ? staged : spilled;
  return first_given_up([node](const Step& step) { return step.has_data_on(node); });
}

bool Retention::has_read(std::uint32_t node) const {
  return first_read(node) != nullptr;
}

bool Retention::erase_read(std::uint32_t node) {
  return erase_for_reserve(first_read(node));
}

bool Retention::erase_read_on_disk(std::uint32_t node) {
  Step* first = consumed_.first_on(node, Medium::disk);
  if (first == nullptr) first = doubtful_.first_on(node, Medium::disk);
  if (first == nullptr)
    first = first_given_up([node](const Step& step) { return step.bytes_in(Medium::disk).contains(node); });
  return erase_for_reserve(first);
}

bool Retention::erase_for_reserve(Step* step) {
  if (step == nullptr || (step->claim == Claim::needed && !parts_.reads.withdraw(step->id))) return false;
  if (step->claim != Claim::none)
    tell_of_doubtful(*step, "the last tenth of the disk of " + spill_directory_ +
                                ", at least 1 GiB, stays free for other files");
  erase(*step);
  return true;
}

bool Retention::erase_on_disk() {
  const auto erase_on_any_node = [&](const auto& erase_on) {
    for (std::uint32_t node = 0; node < nodes_; ++node)
      if (erase_on(node)) return true;
    return false;
  };
  return erase_on_any_node([&](std::uint32_t node) { return erase_spilled(node, false); }) ||
         erase_on_any_node([&](std::uint32_t node) { return erase_spilled(node, true); }) ||
         erase_on_any_node([&](std::uint32_t node) { return erase_doubtful(node, Medium::disk); }) ||
         erase_given_up([](const Step& step) { return !step.bytes_in(Medium::disk).empty(); });
}

/// The disk space is for other steps, so a step that has been read is erased (with burst-buffer logs, once
/// its file has the data). The last step of the rule stays, and so does staging.retain.
void Retention::free_disk(const Step& step) {
  const std::uint32_t rule = step.key.rule;
  // Like a file, a spilled step stays readable while a reader lives, until a put finds the disk full.
  const bool is_log = parts_.rules.at(rule).through == Through::burst_buffer;
  if (!is_log && !parts_.readers.have_readers_ended(rule)) return;
  while (consumed_.most_bytes(Medium::disk) > retain_bytes_) {
    if (!erase_if_any(consumed_.first_spare_of(rule))) return;
  }
}

}  // namespace sluice::matcher
