#include "step_uses.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace sluice::coordinator {
namespace {

using runtime::Activity;
using Kind = Activity::Kind;
using FileName = std::pair<std::uint32_t, std::string>;  // rule, file

/// One step of one file, and how the reader has met it.
struct Published {
  const Activity* written = nullptr;  ///< by the rank that closed it last
  const Activity* opened = nullptr;   ///< first
  const Activity* passed = nullptr;   ///< a newer step of the file was opened instead

  [[nodiscard]] std::uint64_t time_ms() const { return written->end_ms; }
};
using StepsOfFile = std::vector<Published>;

bool is_opening(const Activity& activity) noexcept {
  return activity.kind == Kind::read || activity.kind == Kind::open;
}

std::map<FileName, StepsOfFile> published_steps(const Timeline& timeline) {
  std::map<FileName, StepsOfFile> files;
  for (const auto& [name, steps] : activities_by_step(timeline, Kind::write))
    for (const auto& of_step : steps)
      files[name].push_back({*std::ranges::max_element(of_step, {}, &Activity::end_ms)});
  return files;
}

/// Joins the opens of one reader with the steps of one file.
class FileReader {
 public:
  FileReader(const Timeline::Rule& rule, StepsOfFile& steps) : is_stream_(rule.is_stream), steps_(steps) {}

  void take(const Activity& opening) {
    const std::size_t number = number_of(opening);
    if (number >= steps_.size()) return;
    if (steps_[number].opened == nullptr) steps_[number].opened = &opening;
    for (; first_unread_ < number; ++first_unread_)
      if (steps_[first_unread_].opened == nullptr) steps_[first_unread_].passed = &opening;
  }

 private:
  /// In a stream the rank's next one, otherwise the newest. A look at a step again has no bytes.
  [[nodiscard]] std::size_t number_of(const Activity& opening) {
    if (is_stream_) {
      std::size_t& next = next_[opening.rank];
      return opening.kind == Kind::open && opening.bytes == 0 && next > 0 ? next - 1 : next++;
    }
    const auto newer = std::ranges::upper_bound(steps_, opening.begin_ms + 1, {}, &Published::time_ms);
    return newer == steps_.begin() ? 0 : static_cast<std::size_t>(newer - steps_.begin()) - 1;
  }

  bool is_stream_;
  StepsOfFile& steps_;
  std::size_t first_unread_ = 0;
  std::map<std::int32_t, std::size_t> next_;  ///< by rank, in a stream
};

void note_delays(Following& following) {
  std::vector<std::uint64_t> delays;
  for (const Following::Use& use : following.uses)
    delays.push_back(use.opened->begin_ms - std::min(use.opened->begin_ms, use.written->end_ms));
  if (delays.empty()) return;
  std::ranges::sort(delays);
  following.median_delay_ms = delays[delays.size() / 2];
  following.longest_delay_ms = delays.back();
}

void note_unread(Following& following, std::vector<std::pair<std::uint64_t, int>> changes) {
  std::ranges::sort(changes);
  std::int64_t unread = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    unread += changes[i].second;
    if (i + 1 < changes.size() && changes[i + 1].first == changes[i].first) continue;
    following.unread.push_back(
        {changes[i].first, static_cast<std::uint64_t>(std::max<std::int64_t>(unread, 0))});
    following.most_unread = std::max(following.most_unread, following.unread.back().unread);
  }
}

/// `openings`: of the reader, by file, in the order of their begin.
Following follow(std::uint32_t rule, const std::string& reader, const Timeline& timeline,
                 const std::map<FileName, StepsOfFile>& published,
                 const std::map<std::string, std::vector<const Activity*>>& openings) {
  Following following;
  following.rule = rule;
  following.reader = reader;
  std::vector<std::pair<std::uint64_t, int>> changes;
  for (auto file = published.lower_bound({rule, ""}); file != published.end() && file->first.first == rule;
       ++file) {
    StepsOfFile steps = file->second;
    FileReader joined(timeline.rules[rule], steps);
    if (const auto opened = openings.find(file->first.second); opened != openings.end())
      for (const Activity* const opening : opened->second) joined.take(*opening);
    following.steps += steps.size();
    for (const Published& step : steps) {
      changes.emplace_back(step.time_ms(), 1);
      if (const Activity* const end = step.opened != nullptr ? step.opened : step.passed)
        changes.emplace_back(std::max(end->begin_ms, step.time_ms()), -1);
      if (step.opened != nullptr) following.uses.push_back({step.written, step.opened});
      following.last_published_ms = std::max(following.last_published_ms, step.time_ms());
    }
  }
  for (const auto& [file, of_file] : openings)
    for (const Activity* const opening : of_file)
      following.last_closed_ms = std::max(following.last_closed_ms, opening->end_ms);
  std::ranges::sort(following.uses, {}, [](const Following::Use& use) { return use.written->end_ms; });
  note_delays(following);
  note_unread(following, std::move(changes));
  return following;
}

}  // namespace

StepsOfFiles activities_by_step(const Timeline& timeline, Kind kind) {
  StepsOfFiles files;
  std::map<std::pair<FileName, std::int32_t>, std::size_t> numbers;
  for (const Activity& activity : timeline.activities) {
    if (activity.kind != kind || activity.rule >= timeline.rules.size()) continue;
    const FileName name{activity.rule, activity.file};
    auto& steps = files[name];
    const std::size_t number = activity.rank < 0 ? steps.size() : numbers[{name, activity.rank}]++;
    if (steps.size() <= number) steps.resize(number + 1);
    steps[number].push_back(&activity);
  }
  return files;
}

std::vector<Following> followings_of(const Timeline& timeline) {
  const auto published = published_steps(timeline);
  std::map<std::pair<std::uint32_t, std::string>, std::map<std::string, std::vector<const Activity*>>>
      openings;
  for (const Activity& activity : timeline.activities)
    if (is_opening(activity) && activity.rule < timeline.rules.size() &&
        activity.component != timeline.rules[activity.rule].writer)
      openings[{activity.rule, activity.component}][activity.file].push_back(&activity);
  std::vector<Following> followings;
  for (auto& [who, files] : openings) {
    for (auto& [file, of_file] : files) std::ranges::stable_sort(of_file, {}, &Activity::begin_ms);
    followings.push_back(follow(who.first, who.second, timeline, published, files));
  }
  return followings;
}

}  // namespace sluice::coordinator
