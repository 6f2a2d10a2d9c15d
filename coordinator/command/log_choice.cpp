#include "log_choice.hpp"

#include <algorithm>
#include <optional>

#include "run_choice.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {
namespace {

namespace fs = std::filesystem;

constexpr const char* record = "timeline.tsv";

/// The name of the workflow in the file; of one with mistakes, that of the file.
std::string name_of_workflow(const fs::path& file) {
  try {
    return workflows::parse_workflow(file).name;
  } catch (const Error&) {
    return file.stem().string();
  }
}

/// Whether NAME-DATE-TIME-NUMBER is a run of that name or number.
bool is_meant(const std::string& directory, const std::string& run) {
  if (run.empty() || directory.ends_with('-' + run)) return true;
  return directory.starts_with(run + '-') &&
         directory.find_first_not_of("0123456789-", run.size()) == std::string::npos;
}

}  // namespace

fs::path find_log_directory(const std::string& run) {
  std::error_code error;
  if (!run.empty() && fs::exists(fs::path(run) / record, error)) return run;
  const std::vector<RunRecord> running = runs_named(find_runs(), run);
  if (!run.empty() && !running.empty())
    return std::ranges::max_element(running, {}, &RunRecord::began)->log_directory;
  const bool is_file = fs::is_regular_file(run, error);
  const bool is_directory = fs::is_directory(fs::path(run) / ".sluice", error);
  const fs::path beside = is_file ? fs::absolute(run).parent_path() : fs::path(is_directory ? run : ".");
  const std::string wanted = is_file ? name_of_workflow(run) : is_directory ? "" : run;
  fs::path newest = run;
  std::optional<fs::file_time_type> newest_time;
  for (fs::directory_iterator entry(beside / ".sluice", error), end; !error && entry != end;
       entry.increment(error)) {
    if (!is_meant(entry->path().filename().string(), wanted)) continue;
    std::error_code missing;
    const auto time = fs::last_write_time(entry->path() / record, missing);
    if (missing || (newest_time && time < *newest_time)) continue;
    newest = entry->path();
    newest_time = time;
  }
  return newest;
}

}  // namespace sluice::coordinator
