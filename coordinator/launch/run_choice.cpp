#include "run_choice.hpp"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <vector>

#include "format.hpp"
#include "sluice/formats/near_match.hpp"

namespace sluice::coordinator {
namespace {

std::string user_name() {
  const passwd* const entry = ::getpwuid(::geteuid());
  return entry != nullptr ? entry->pw_name : std::to_string(::geteuid());
}

void print_runs(const std::vector<RunRecord>& runs) {
  std::vector<std::vector<std::string>> rows;
  for (const RunRecord& run : runs) {
    rows.push_back(describe_run(run));
    rows.back().front().insert(0, "  ");
  }
  std::cerr << format_table(rows, {});
}

std::string names_in(const std::vector<RunRecord>& runs, const std::string& named) {
  std::vector<std::string> names;
  for (const RunRecord& run : runs) names.push_back(run.name);
  return formats::suggestion(named, names);
}

}  // namespace

std::string format_time(std::time_t time) {
  const std::time_t now = std::time(nullptr);
  std::tm today{};
  std::tm parts{};
  ::localtime_r(&now, &today);
  ::localtime_r(&time, &parts);
  const bool is_today = today.tm_year == parts.tm_year && today.tm_yday == parts.tm_yday;
  char text[40];
  std::strftime(text, sizeof text, is_today ? "%H:%M:%S" : "%Y-%m-%d %H:%M", &parts);
  return text;
}

std::vector<std::string> describe_run(const RunRecord& run) {
  return {run.name, std::to_string(run.process), "since " + format_time(run.began), run.flow};
}

std::vector<RunRecord> runs_named(const std::vector<RunRecord>& all, const std::string& named) {
  std::vector<RunRecord> fitting;
  std::ranges::copy_if(all, std::back_inserter(fitting), [&](const RunRecord& run) {
    return named.empty() || run.name == named || std::to_string(run.process) == named;
  });
  if (!fitting.empty()) return fitting;
  namespace fs = std::filesystem;
  const auto is_same = [&](const fs::path& path) {
    std::error_code error;
    return fs::equivalent(named, path, error) && !error;
  };
  std::ranges::copy_if(all, std::back_inserter(fitting), [&](const RunRecord& run) {
    return is_same(run.flow) || is_same(fs::path(run.flow).parent_path()) || is_same(run.log_directory);
  });
  return fitting;
}

std::optional<RunRecord> choose_run(const std::string& command, const std::string& named) {
  const std::vector<RunRecord> all = find_runs();
  const std::vector<RunRecord> fitting = runs_named(all, named);
  if (fitting.size() == 1) return fitting.front();
  const std::string begin = "sluice " + command + ": ";
  if (all.empty()) {
    std::cerr << begin << "no workflow of the user " << user_name()
              << " runs on this machine\nsluice run FLOW starts one; others' runs cannot be looked at\n";
  } else if (fitting.empty()) {
    std::cerr << begin << "no run is called '" << named << "'" << names_in(all, named) << "; these run:\n";
    print_runs(all);
  } else {
    std::cerr << begin << format_count(fitting.size(), "run")
              << (named.empty() ? "" : " called '" + named + "'")
              << ": name one of them by its name or its number\n";
    print_runs(fitting);
  }
  return std::nullopt;
}

}  // namespace sluice::coordinator
