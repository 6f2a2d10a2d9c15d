#include "step_notes.hpp"

#include "registry_outlet.hpp"

namespace sluice::runtime {
namespace {

/// Readers with such a name are parts of Sluice.
bool is_component(const std::string& reader) {
  return !reader.starts_with('.');
}

storage::RecordedRule recorded(const matcher::FileRule& rule) {
  storage::RecordedRule recorded;
  for (const std::string& reader : rule.readers) {
    if (!is_component(reader)) continue;
    recorded.readers.push_back(reader);
    if (rule.mode_of(reader).mode == matcher::ReadMode::latest) recorded.latest_readers.insert(reader);
  }
  recorded.is_stream = rule.is_stream;
  recorded.is_kept = rule.is_drained() && rule.keep.variables.empty();
  recorded.is_in_files = matcher::is_in_files(rule.through);
  return recorded;
}

}  // namespace

StepNotes::StepNotes(const std::string& path, const std::vector<matcher::FileRule>& rules,
                     RegistryOutlet& outlet)
    : outlet_(outlet), rules_(rules), path_(path) {
  if (path.empty()) return;
  std::vector<storage::RecordedRule> recorded_rules;
  for (const matcher::FileRule& rule : rules) recorded_rules.push_back(recorded(rule));
  recorder_.emplace(files_, path, std::move(recorded_rules));
}

/// The record may end in the middle, and the run then goes on without.
template <class Note>
void StepNotes::write(const Note& note) {
  if (!recorder_) return;
  note(*recorder_);
  if (recorder_->failure().empty()) return;
  outlet_.event("the record of steps ends here, so this run cannot be resumed with what follows: " +
                recorder_->failure());
  recorder_.reset();
}

std::vector<matcher::FormerStep> StepNotes::former_steps() const {
  std::vector<matcher::FormerStep> steps;
  if (!recorder_) return steps;
  const storage::StepRecord& record = recorder_->record();
  for (const std::uint64_t number : record.published()) {
    const storage::RecordedStep& step = record.steps.at(number);
    const std::uint64_t in_sequence = step.stream_number > 0 ? step.stream_number : step.number;
    steps.push_back(
        {{step.rule, step.name}, step.path, step.file, step.version, step.readers, in_sequence, step.number});
  }
  return steps;
}

std::vector<matcher::FormerCount> StepNotes::former_counts() const {
  std::vector<matcher::FormerCount> counts;
  if (!recorder_) return counts;
  for (const auto& [key, steps] : recorder_->record().counts) counts.push_back({{key.rule, key.name}, steps});
  return counts;
}

void StepNotes::begun(const matcher::Step& step) {
  write([&](storage::StepRecorder& recorder) {
    recorder.begin(step.id, {step.key.rule, step.key.name, step.path});
  });
}

void StepNotes::published(const matcher::Step& step) {
  write([&](storage::StepRecorder& recorder) {
    recorder.publish(step.id, {step.version, step.number_in_rule, step.number});
    for (std::size_t i = 0; i < step.read_by.size(); ++i)
      if (step.read_by[i].is_passed) recorder.read(step.id, rules_.at(step.key.rule).readers.at(i));
  });
  if (rules_.at(step.key.rule).is_drained()) sync();
}

void StepNotes::read(const matcher::Step& step, const std::string& reader) {
  if (is_component(reader)) write([&](storage::StepRecorder& recorder) { recorder.read(step.id, reader); });
}

void StepNotes::on_disk(const matcher::Step& step, const std::string& file) {
  write([&](storage::StepRecorder& recorder) { recorder.note_file(step.id, file); });
  sync();
}

/// Of what reaches the disk, the record is to know after a power failure, too. Nobody waits for that.
void StepNotes::sync() {
  is_changed_ = is_syncing_;
  if (is_syncing_ || !recorder_) return;
  is_syncing_ = true;
  outlet_.do_beside([path = path_] { storage::sync_step_record(path); },
                    [this] {
                      is_syncing_ = false;
                      if (is_changed_) sync();
                    });
}

void StepNotes::removed(const matcher::DatasetKey& key) {
  write([&](storage::StepRecorder& recorder) { recorder.remove(key.rule, key.name); });
}

void StepNotes::erased(matcher::StepId step) {
  write([&](storage::StepRecorder& recorder) { recorder.erase(step); });
}

void StepNotes::given_up(const matcher::Step& step) {
  write([&](storage::StepRecorder& recorder) { recorder.give_up(step.id); });
}

void StepNotes::writer_done(const std::string& component) {
  for (std::size_t rule = 0; rule < rules_.size(); ++rule) {
    if (rules_[rule].writer == component)
      write([&](storage::StepRecorder& recorder) { recorder.writer_done(static_cast<std::uint32_t>(rule)); });
  }
}

void StepNotes::logged(const matcher::LogPlace& place) {
  if (place.metadata_path.empty()) return;
  write([&](storage::StepRecorder& recorder) {
    recorder.note_log_directory(storage::directory_of(place.metadata_path));
  });
}

}  // namespace sluice::runtime
