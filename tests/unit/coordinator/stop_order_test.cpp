#include "stop_order.hpp"

#include <doctest/doctest.h>

using namespace sluice;
using namespace sluice::coordinator;

namespace {

/// Components of one letter; a rule for each pair "writer reader".
workflows::Workflow workflow_of(const std::string& components, const std::vector<std::string>& pairs) {
  workflows::Workflow workflow;
  for (const char name : components) {
    workflow.components.emplace_back();
    workflow.components.back().name = std::string(1, name);
  }
  for (const std::string& pair : pairs) {
    workflow.files.emplace_back();
    workflow.files.back().writer = pair.substr(0, 1);
    workflow.files.back().readers = {pair.substr(1)};
  }
  return workflow;
}

}  // namespace

TEST_CASE("who reads from nobody ends first") {
  CHECK(first_to_stop(workflow_of("abc", {"ab", "bc"})) == std::set<std::string>{"a"});
  CHECK(first_to_stop(workflow_of("abc", {})) == std::set<std::string>{"a", "b", "c"});
  CHECK(first_to_stop(workflow_of("a", {"aa"})) == std::set<std::string>{"a"});
}

TEST_CASE("of a cycle all end first, unless others write for it") {
  CHECK(first_to_stop(workflow_of("abc", {"ab", "ba", "bc"})) == std::set<std::string>{"a", "b"});
  CHECK(first_to_stop(workflow_of("abcd", {"ab", "bc", "cb", "cd"})) == std::set<std::string>{"a"});
}
