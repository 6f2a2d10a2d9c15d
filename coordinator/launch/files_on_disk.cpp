#include "files_on_disk.hpp"

#include <glob.h>

#include <algorithm>
#include <span>
#include <string>

namespace sluice::coordinator {

namespace fs = std::filesystem;

namespace {

/// For glob(): what means something in a pattern is any one character.
std::string literal_path(const fs::path& path) {
  std::string text = path.string();
  std::ranges::replace_if(
      text, [](char c) { return c == '*' || c == '[' || c == ']' || c == '\\'; }, '?');
  return text;
}

}  // namespace

std::set<fs::path> files_on_disk(const workflows::Workflow& workflow, const workflows::FileRule& rule) {
  std::set<fs::path> files;
  std::set<fs::path> places{fs::absolute(workflow.file).parent_path().lexically_normal()};
  for (const workflows::Component& component : workflow.components) {
    const bool uses = component.name == rule.writer ||
                      std::ranges::find(rule.readers, component.name) != rule.readers.end();
    if (uses) places.insert(component.directory);
  }
  const auto parts = std::ranges::count(rule.pattern, '/') + 1;
  for (fs::path place : places) {
    for (auto above = 0; above < parts; ++above, place = place.parent_path()) {
      glob_t found{};
      if (::glob((literal_path(place) + "/" + rule.pattern).c_str(), GLOB_NOSORT, nullptr, &found) == 0)
        for (const char* const path : std::span(found.gl_pathv, found.gl_pathc)) {
          std::error_code error;
          if (fs::is_regular_file(path, error)) files.insert(path);
        }
      ::globfree(&found);
    }
  }
  return files;
}

}  // namespace sluice::coordinator
