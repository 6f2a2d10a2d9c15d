#include "files_on_disk.hpp"

#include <fnmatch.h>
#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <span>
#include <string>

#include "sluice/formats/near_match.hpp"
#include "sluice/formats/tool_files.hpp"

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

std::string last_part(const std::string& pattern) {
  return pattern.substr(pattern.rfind('/') + 1);  // npos + 1: the whole
}

bool fits(const std::string& pattern, const std::string& name) {
  return ::fnmatch(pattern.c_str(), name.c_str(), FNM_CASEFOLD) == 0;
}

bool is_similar(const std::string& pattern, const std::string& name) {
  constexpr std::size_t most_slips = 2, least_length = 5;
  const std::string stem = fs::path(pattern).stem().string();
  if (pattern.find_first_not_of("*?") == std::string::npos) return false;  // it is like every name
  if (fits(pattern, name)) return true;
  if (stem.find_first_not_of("*?") != std::string::npos && fits(stem + ".*", name)) return true;
  return pattern.size() >= least_length && pattern.find_first_of("*?[") == std::string::npos &&
         formats::edit_distance(pattern, name) <= most_slips;
}

}  // namespace

std::int64_t modification_time_of(const fs::path& file) {
  constexpr std::int64_t ns_in_s = 1'000'000'000;
  struct stat facts {};
  if (::stat(file.c_str(), &facts) != 0) return 0;
  return facts.st_mtim.tv_sec * ns_in_s + facts.st_mtim.tv_nsec;
}

fs::path similar_file(const workflows::Workflow& workflow, const workflows::FileRule& rule,
                      std::int64_t began_ns) {
  const auto is_another_rules = [&](const std::string& name) {
    return std::ranges::any_of(workflow.files, [&](const workflows::FileRule& other) {
      return &other != &rule && fits(last_part(other.pattern), name);
    });
  };
  const std::string pattern = last_part(rule.pattern);
  int left = 10'000;  // entries to look at: the directory may be a large one
  std::error_code error, unknown;
  fs::recursive_directory_iterator entry(fs::absolute(workflow.file).parent_path(),
                                         fs::directory_options::skip_permission_denied, error);
  for (const fs::recursive_directory_iterator end; !error && entry != end && --left > 0;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with('.')) {
      entry.disable_recursion_pending();
    } else if (is_similar(pattern, name) && !is_another_rules(name) &&
               !formats::is_tool_file(entry->path().native()) && entry->is_regular_file(unknown) &&
               modification_time_of(entry->path()) >= began_ns) {
      return entry->path();
    }
  }
  return {};
}

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
