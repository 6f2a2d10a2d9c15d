#include "continued_files.hpp"

#include <algorithm>

namespace sluice::matcher {
namespace {

/// Beyond it, a run is told of no more files: the first ones show what is wrong.
constexpr std::size_t most_told_files = 10'000;

/// By reader of the rule: whether it has opened the newest step.
std::vector<bool> takers(const Dataset& dataset, std::size_t readers) {
  std::vector<bool> have_taken(readers);
  if (dataset.newest != nullptr) {
    for (std::size_t i = 0; i < readers; ++i) have_taken[i] = dataset.newest->read_by[i].is_taken;
  } else if (dataset.is_recycled) {
    for (const std::size_t reader : dataset.taken_by) have_taken.at(reader) = true;
  }
  return have_taken;
}

}  // namespace

bool ContinuedFiles::takes_whole_files(std::uint32_t rule, const std::string& reader) const {
  const FileRule& known = rules_.at(rule);
  const ReaderMode mode = known.mode_of(reader);
  return reader != known.writer && !known.is_stream && known.publish_at == PublishAt::close &&
         mode.mode == ReadMode::all;
}

void ContinuedFiles::File::end_contents() {
  for (std::size_t i = 0; i < has_part.size(); ++i) had_part[i] = had_part[i] || has_part[i];
  has_part.assign(has_part.size(), false);
}

void ContinuedFiles::note_published(const Step& step, Dataset& dataset) {
  const bool goes_on = !step.is_new && dataset.steps_published > 0;
  dataset.closes = goes_on ? std::max(dataset.closes + 1, step.closes) : step.closes;
  auto known = files_.find(step.key);
  if (!goes_on) {
    if (known != files_.end()) known->second.end_contents();
    return;
  }
  const auto& readers = rules_.of(step.key).readers;
  const std::vector<bool> have_taken = takers(dataset, readers.size());
  if (known == files_.end()) {
    if (std::ranges::find(have_taken, true) == have_taken.end() || files_.size() == most_told_files) return;
    known = files_.emplace(step.key, File{step.name, 0, !step.file_bytes, 0, have_taken, {}}).first;
    known->second.had_part.resize(readers.size());
  }
  File& file = known->second;
  file.closes = std::max(file.closes, dataset.closes);
  file.newest = step.id;
  for (std::size_t i = 0; i < readers.size(); ++i)
    file.has_part[i] = (file.has_part[i] || have_taken[i]) && takes_whole_files(step.key.rule, readers[i]);
}

void ContinuedFiles::note_taken(const Step& step, const std::string& component) {
  const auto known = files_.empty() ? files_.end() : files_.find(step.key);
  if (known == files_.end() || known->second.newest != step.id) return;
  const auto reader = rules_.of(step.key).index_of(component);
  if (!reader) return;
  File& file = known->second;
  file.has_part[*reader] = false;
  const auto has_any = [](const std::vector<bool>& flags) {
    return std::ranges::find(flags, true) != flags.end();
  };
  if (!has_any(file.has_part) && !has_any(file.had_part)) files_.erase(known);
}

void ContinuedFiles::report(std::vector<RuleStatus>& rules) const {
  for (const auto& [key, file] : files_) {
    if (key.rule >= rules.size()) continue;
    const auto& readers = rules_.at(key.rule).readers;
    std::vector<PartlyRead>& told = rules[key.rule].partly_read;
    for (std::size_t i = 0; i < readers.size(); ++i) {
      if (!file.has_part[i] && !file.had_part[i]) continue;
      auto entry = std::ranges::find(told, readers[i], &PartlyRead::reader);
      if (entry == told.end())
        entry = told.insert(told.end(), {readers[i], 0, file.name, file.closes, file.is_by_puts});
      ++entry->files;
      if (entry->closes != file.closes) entry->closes = 0;
    }
  }
}

}  // namespace sluice::matcher
