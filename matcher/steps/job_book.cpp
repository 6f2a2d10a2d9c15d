#include "job_book.hpp"

#include <utility>

namespace sluice::matcher {

JobBook::JobBook(std::vector<JobReader> readers) {
  for (JobReader& reader : readers) {
    std::string component = reader.component;
    jobs_.try_emplace(std::move(component), Jobs{std::move(reader), {}, {}});
  }
}

std::vector<std::string> JobBook::note_published(const Step& step) {
  std::vector<std::string> components;
  for (auto& [component, jobs] : jobs_) {
    if (jobs.reader.rule != step.key.rule) continue;
    jobs.waiting.insert(step.id);
    components.push_back(component);
  }
  return components;
}

void JobBook::begin(std::string_view component, StepId step) {
  const auto found = jobs_.find(component);
  if (found == jobs_.end() || found->second.waiting.erase(step) == 0) return;
  found->second.running.insert(step);
}

void JobBook::end(std::string_view component, StepId step) {
  const auto found = jobs_.find(component);
  if (found == jobs_.end()) return;
  found->second.waiting.erase(step);
  found->second.running.erase(step);
}

const Jobs* JobBook::find(std::string_view component) const {
  const auto found = jobs_.find(component);
  return found == jobs_.end() ? nullptr : &found->second;
}

const Jobs* JobBook::find(std::string_view component, std::uint32_t rule) const {
  const Jobs* const jobs = find(component);
  return jobs != nullptr && jobs->reader.rule == rule ? jobs : nullptr;
}

}  // namespace sluice::matcher
