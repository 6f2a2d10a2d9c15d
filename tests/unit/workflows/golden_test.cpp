// Tests every file of tests/golden/workflows. `ok_*.yaml` has no mistakes; `bad_*.yaml` has exactly those in
// `bad_*.expected`. SLUICE_UPDATE_GOLDEN=1 writes the expected files again; read the difference before you
// commit it.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "sluice/workflows/workflow.hpp"

namespace {

using namespace sluice;

std::string read_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::string mistakes_of(const std::filesystem::path& file) {
  try {
    (void)workflows::parse_workflow(read_file(file), file.filename());
    return "";
  } catch (const workflows::WorkflowError& error) {
    return std::string(error.what()) + '\n';
  }
}

TEST_CASE("each workflow file of the golden directory has exactly the mistakes that are expected") {
  const bool update = std::getenv("SLUICE_UPDATE_GOLDEN") != nullptr;
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(GOLDEN_DIRECTORY)) {
    const std::filesystem::path& file = entry.path();
    if (file.extension() != ".yaml") continue;
    ++files;
    INFO(file.filename().string());
    const std::string found = mistakes_of(file);
    const bool is_good = file.filename().string().starts_with("ok_");
    std::filesystem::path expected = file;
    expected.replace_extension(".expected");
    if (update && !is_good) std::ofstream(expected, std::ios::binary) << found;
    CHECK(found == (is_good ? "" : read_file(expected)));
    CHECK(found.empty() == is_good);
  }
  CHECK(files > 25);
}

}  // namespace
