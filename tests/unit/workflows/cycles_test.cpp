#include <doctest/doctest.h>

#include "sluice/workflows/workflow.hpp"

using namespace sluice::workflows;

namespace {
Workflow flow(std::vector<FileRule> rules) {
  Workflow workflow;
  for (const char* name : {"a", "b", "c", "d"}) {
    Component component;
    component.name = name;
    workflow.components.push_back(component);
  }
  workflow.files = std::move(rules);
  return workflow;
}
FileRule rule(const std::string& writer, std::vector<std::string> readers) {
  return {{"*.nc", writer, std::move(readers)}};
}
}  // namespace

TEST_CASE("a pipeline and a component that reads its own files have no cycle") {
  CHECK(find_cycles(flow({rule("a", {"b", "a"}), rule("b", {"c", "d"}), rule("c", {"d"})})).empty());
}

TEST_CASE("a cycle is named once, from its first component on") {
  CHECK(find_cycles(flow({rule("b", {"c"}), rule("c", {"b", "d"})})) == std::vector<Cycle>{{"b", "c"}});
  CHECK(find_cycles(flow({rule("a", {"b"}), rule("b", {"c"}), rule("c", {"d"}), rule("d", {"a"})})) ==
        std::vector<Cycle>{{"a", "b", "c", "d"}});
}

TEST_CASE("two cycles without common components are both named") {
  CHECK(find_cycles(flow({rule("a", {"b"}), rule("b", {"a"}), rule("c", {"d"}), rule("d", {"c"})})) ==
        std::vector<Cycle>{{"a", "b"}, {"c", "d"}});
}

TEST_CASE("a cycle is found among writers and readers that are in none") {
  CHECK(find_cycles(flow({rule("a", {"b", "d"}), rule("b", {"c"}), rule("c", {"b", "d"})})) ==
        std::vector<Cycle>{{"b", "c"}});
  CHECK(find_cycles(flow({rule("a", {"b"}), rule("b", {"a", "c"}), rule("c", {"d"})})) ==
        std::vector<Cycle>{{"a", "b"}});
}
