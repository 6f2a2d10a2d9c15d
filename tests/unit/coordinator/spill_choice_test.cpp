#include <doctest/doctest.h>

#include <filesystem>

#include "matcher_launch.hpp"

using namespace sluice::coordinator;
namespace fs = std::filesystem;

namespace {

/// No process can make files there.
const fs::path unusable = "/proc";

sluice::workflows::Workflow workflow_in(const fs::path& directory) {
  sluice::workflows::Workflow workflow;
  workflow.file = directory / "flow.yaml";
  workflow.has_automatic_spill = true;
  return workflow;
}

}  // namespace

TEST_CASE("data that does not fit into memory goes to the workflow's directory, or else to TMPDIR") {
  const fs::path here = fs::current_path();
  const SpillChoice first = choose_spill(workflow_in(here), {{"TMPDIR", "/no/such/directory"}});
  CHECK(first.directory == here);
  CHECK(first.is_automatic);
  CHECK(first.trouble.empty());
  const SpillChoice second = choose_spill(workflow_in(unusable), {{"TMPDIR", here.string()}});
  CHECK(second.directory == here);
  CHECK(second.is_automatic);
}

TEST_CASE("if neither directory can be used there is none, and both reasons are given") {
  const SpillChoice none = choose_spill(workflow_in(unusable), {{"TMPDIR", "/no/such/directory"}});
  CHECK(none.directory.empty());
  CHECK(none.trouble.find("/proc") != std::string::npos);
  CHECK(none.trouble.find("/no/such/directory") != std::string::npos);
}

TEST_CASE("the directory that the user names is taken as it is") {
  sluice::workflows::Workflow workflow = workflow_in(fs::current_path());
  workflow.has_automatic_spill = false;
  workflow.spill_directory = unusable;
  const SpillChoice choice = choose_spill(workflow, {});
  CHECK(choice.directory == unusable);
  CHECK_FALSE(choice.is_automatic);
}
