// The views that a matcher keeps of the steps it works on.
#include "cached_steps.hpp"

#include <doctest/doctest.h>

#include <cstdint>

using namespace sluice::matcher;
using sluice::runtime::CachedSteps;

namespace {

StepView published(std::uint64_t step, std::size_t writers) {
  StepView view;
  view.step = step;
  view.is_final = true;
  view.logs.resize(writers);
  view.pattern.whole = {1, 2};
  return view;
}

}  // namespace

TEST_CASE("what is asked of all logs is looked for once, when the view comes") {
  CachedSteps steps;
  StepView whole = published(1, 3);
  CHECK_FALSE(whole.facts);
  const auto& first = *steps.take(std::move(whole)).view;
  REQUIRE(first.facts);
  CHECK(first.is_told_whole());
  CHECK_FALSE(first.is_continued());
  CHECK(first.pattern_of_offsets().whole == first.pattern.whole);

  StepView cut = published(2, 3);
  cut.logs[1].is_cut = true;
  CHECK_FALSE(steps.take(std::move(cut)).view->is_told_whole());

  StepView continued = published(3, 3);
  continued.logs[2].first_offset = 64;
  const auto& last = *steps.take(std::move(continued)).view;
  CHECK(last.is_told_whole());
  CHECK(last.is_continued());
  CHECK(last.pattern_of_offsets().whole != last.pattern.whole);
}

TEST_CASE("a view that replaces another one is looked through again") {
  CachedSteps steps;
  StepView growing = published(1, 2);
  growing.is_final = false;
  CHECK_FALSE(steps.take(growing).view->is_told_whole());
  StepView next = *steps.find(1)->view;  // as the registry would send it, with the facts of the first one
  next.is_final = true;
  next.logs[0].first_offset = 64;
  const auto& known = *steps.take(std::move(next)).view;
  CHECK(known.is_told_whole());
  CHECK(known.is_continued());
}
