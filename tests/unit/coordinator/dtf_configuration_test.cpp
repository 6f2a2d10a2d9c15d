// Tests every file of tests/golden/dtf. `ok_*.ini` becomes the workflow `ok_*.yaml`; `bad_*.ini` has exactly
// the mistakes in `bad_*.expected`. SLUICE_UPDATE_GOLDEN=1 writes the expected files again; read the
// difference before you commit it.
#include "dtf_configuration.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace {

using namespace sluice;

std::string read_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// The workflow, or the mistakes.
std::string result_of(const std::filesystem::path& file) {
  try {
    const auto configuration = coordinator::read_dtf_configuration(read_file(file), file.filename());
    return coordinator::write_workflow_of(configuration, file);
  } catch (const workflows::WorkflowError& error) {
    return std::string(error.what()) + '\n';
  }
}

TEST_CASE("each DTF configuration of the golden directory becomes the workflow that is expected") {
  const bool update = std::getenv("SLUICE_UPDATE_GOLDEN") != nullptr;
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(GOLDEN_DIRECTORY)) {
    std::filesystem::path file = entry.path();
    if (file.extension() != ".ini") continue;
    ++files;
    INFO(file.filename().string());
    const bool is_good = file.filename().string().starts_with("ok_");
    const std::string found = result_of(file);
    file.replace_extension(is_good ? ".yaml" : ".expected");
    if (update) std::ofstream(file, std::ios::binary) << found;
    CHECK(found == read_file(file));
    if (is_good) CHECK_NOTHROW((void)workflows::parse_workflow(found, file.filename()));
  }
  CHECK(files > 10);
}

TEST_CASE("a name of the configuration's file cannot end a comment of the workflow") {
  const auto configuration =
      coordinator::read_dtf_configuration("[INFO]\ncomp_name=a\nunknown=1\n", "x\ny: 1.ini");
  const std::string yaml = coordinator::write_workflow_of(configuration, "x\ny: 1.ini");
  CHECK_NOTHROW((void)workflows::parse_workflow(yaml, "flow.yaml"));
}

TEST_CASE("readers of the same files are in one rule") {
  const auto configuration = coordinator::read_dtf_configuration(
      "[INFO]\ncomp_name=a\ncomp_name=b\ncomp_name=c\n[FILE]\nfilename=x.nc\ncomp1=a\ncomp2=b\n"
      "[FILE]\nfilename=x.nc\ncomp1=a\ncomp2=c\n",
      "x.ini");
  REQUIRE(configuration.files.size() == 1);
  CHECK(configuration.files[0].readers == std::vector<std::string>{"b", "c"});
}

}  // namespace
