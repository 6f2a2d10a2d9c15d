#include "job_queue.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sluice::coordinator {

std::vector<JobFile> JobQueue::add(JobFile file) {
  const auto every = static_cast<std::uint64_t>(jobs_.every);
  if ((file.number - 1) % every != 0) return {std::move(file)};
  std::vector<JobFile> skipped;
  if (jobs_.is_latest) skipped = take_all();
  if (!paths_.insert(file.path).second) {  // the earlier publication of the same path is gone
    const auto earlier = std::ranges::find(files_, file.path, &JobFile::path);
    skipped.push_back(std::move(*earlier));
    files_.erase(earlier);
  }
  files_.push_back(std::move(file));
  return skipped;
}

std::optional<JobFile> JobQueue::next(const std::set<std::string>& busy) {
  const auto is_free = [&](const JobFile& file) { return !busy.contains(file.path); };
  auto found = std::ranges::find_if(files_, is_free);
  if (jobs_.order == workflows::ForEach::Order::any) {  // the newest: older data may be spilled
    const auto newest = std::find_if(files_.rbegin(), files_.rend(), is_free);
    if (newest != files_.rend()) found = std::prev(newest.base());
  }
  if (found == files_.end()) return std::nullopt;
  JobFile file = std::move(*found);
  files_.erase(found);
  paths_.erase(file.path);
  return file;
}

std::vector<JobFile> JobQueue::take_all() {
  paths_.clear();
  const std::deque<JobFile> files = std::exchange(files_, {});
  return {files.begin(), files.end()};
}

}  // namespace sluice::coordinator
