#include <doctest/doctest.h>

#include <algorithm>

#include "sluice/workflows/workflow.hpp"

using namespace sluice::workflows;

namespace {

/// How many warnings of a for-each component with this command contain the text.
auto warnings_with(const std::string& command, const std::string& text) {
  const Workflow workflow = parse_workflow(
      "version: 1\ncomponents:\n  model: {command: model}\n  plot:\n    command: \"" + command +
          "\"\n    for-each: \"out_*.nc\"\nfiles:\n  - {path: \"out_*.nc\", writer: model, readers: "
          "[plot]}\n",
      "flow.yaml");
  return std::ranges::count_if(workflow.warnings, [&](const Mistake& warning) {
    return warning.text.find(text) != std::string::npos;
  });
}

}  // namespace

TEST_CASE("a placeholder of a job that is misspelt is told with the nearest one") {
  CHECK(warnings_with("plot {fil}", "contains {fil}: did you mean '{file}'?") == 1);
  CHECK(warnings_with("plot {file} --title={nmae}", "contains {nmae}: did you mean '{name}'?") == 1);
}

TEST_CASE("placeholders that are right, and braces of other programs, are not told") {
  for (const char* command :
       {"plot {file} {name} {stem} {step}", "plot {file} '{print $1}'", "plot {file} {resume}"})
    CHECK(warnings_with(command, "contains {") == 0);
}
