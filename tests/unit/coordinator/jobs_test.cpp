#include <doctest/doctest.h>

#include "job_queue.hpp"
#include "job_words.hpp"

using namespace sluice::coordinator;
using sluice::workflows::Component;
using sluice::workflows::ForEach;

namespace {

std::vector<std::uint64_t> steps_of(const std::vector<JobFile>& files) {
  std::vector<std::uint64_t> steps;
  for (const JobFile& file : files) steps.push_back(file.step);
  return steps;
}

/// Adds files 1, 2, … under names of their own. Returns the steps that are skipped.
std::vector<std::uint64_t> add(JobQueue& queue, std::uint64_t count) {
  std::vector<std::uint64_t> skipped;
  for (std::uint64_t step = 1; step <= count; ++step)
    for (const JobFile& file : queue.add({step, "/run/f" + std::to_string(step), step}))
      skipped.push_back(file.step);
  return skipped;
}

std::vector<std::uint64_t> take_all_by_turn(JobQueue& queue) {
  std::vector<std::uint64_t> steps;
  while (const auto file = queue.next({})) steps.push_back(file->step);
  return steps;
}

using Steps = std::vector<std::uint64_t>;

}  // namespace

TEST_CASE("files have their jobs in the order of publication") {
  JobQueue queue(ForEach{});
  CHECK(add(queue, 4).empty());
  CHECK(take_all_by_turn(queue) == Steps{1, 2, 3, 4});
  CHECK(queue.empty());
}

TEST_CASE("in any order, the newest file comes first") {
  ForEach jobs;
  jobs.order = ForEach::Order::any;
  JobQueue queue(jobs);
  CHECK(add(queue, 4).empty());
  CHECK(take_all_by_turn(queue) == Steps{4, 3, 2, 1});
}

TEST_CASE("the first file and every N-th behind it have jobs") {
  ForEach jobs;
  jobs.every = 3;
  JobQueue queue(jobs);
  CHECK(add(queue, 8) == Steps{2, 3, 5, 6, 8});
  CHECK(take_all_by_turn(queue) == Steps{1, 4, 7});
}

TEST_CASE("every N-th file counts from the first one of all runs") {
  ForEach jobs;
  jobs.every = 3;
  JobQueue queue(jobs);
  Steps skipped;
  for (const std::uint64_t number : {6, 7, 8, 9, 10})
    for (const JobFile& file : queue.add({number - 5, "/run/f" + std::to_string(number), number}))
      skipped.push_back(file.number);
  CHECK(skipped == Steps{6, 8, 9});
}

TEST_CASE("of the files that wait, only the latest is kept") {
  ForEach jobs;
  jobs.is_latest = true;
  JobQueue queue(jobs);
  CHECK(add(queue, 4) == Steps{1, 2, 3});
  CHECK(take_all_by_turn(queue) == Steps{4});
}

TEST_CASE("a path that is published again has one place in the queue, with the newest step") {
  JobQueue queue(ForEach{});
  CHECK(queue.add({1, "/run/a", 1}).empty());
  CHECK(queue.add({2, "/run/b", 2}).empty());
  CHECK(steps_of(queue.add({3, "/run/a", 3})) == Steps{1});
  CHECK(take_all_by_turn(queue) == Steps{2, 3});
  CHECK(queue.add({4, "/run/a", 4}).empty());
}

TEST_CASE("a path that has a job now waits, while others go on") {
  JobQueue queue(ForEach{});
  CHECK(queue.add({1, "/run/a", 1}).empty());
  CHECK(queue.add({2, "/run/b", 2}).empty());
  CHECK(queue.next({"/run/a"})->step == 2);
  CHECK_FALSE(queue.next({"/run/a"}));
  CHECK(steps_of(queue.take_all()) == Steps{1});
  CHECK(queue.empty());
}

TEST_CASE("placeholders are replaced in arguments and environment, and nothing else is") {
  Component component;
  component.command = {"plot", "{file}", "-o{stem}.png", "{name}:{step}", "awk '{print}' {", "{{stem}}"};
  component.environment = {{"INPUT", "{file}"}};
  const Component job = component_for(component, {9, "/run/a b.{stem}.nc", 12});
  CHECK(job.command == std::vector<std::string>{"plot", "/run/a b.{stem}.nc", "-oa b.{stem}.png",
                                                "a b.{stem}.nc:12", "awk '{print}' {", "{a b.{stem}}"});
  CHECK(job.environment.at("INPUT") == "/run/a b.{stem}.nc");
  CHECK(component.command[1] == "{file}");
}
