#include "log_choice.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <optional>

#include "log_directory.hpp"
#include "run_choice.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {
namespace {

namespace fs = std::filesystem;

constexpr const char* record = "timeline.tsv";

/// Whether NAME-DATE-TIME-NUMBER is a run of that name or number.
bool is_meant(const std::string& directory, const std::string& run) {
  if (run.empty() || directory.ends_with('-' + run)) return true;
  return directory.starts_with(run + '-') &&
         directory.find_first_not_of("0123456789-", run.size()) == std::string::npos;
}

/// The guardian of a run that was killed may still have something to remove.
std::vector<FormerRun> with_living(std::vector<FormerRun> runs) {
  for (const RunRecord& record : find_runs())
    for (FormerRun& run : runs) run.goes_on |= has_log(record, run);
  return runs;
}

}  // namespace

std::string name_of_workflow(const fs::path& file) {
  try {
    return workflows::parse_workflow(file).name;
  } catch (const Error&) {
    return file.stem().string();
  }
}

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

bool has_log(const RunRecord& record, const FormerRun& run) {
  std::error_code error;
  return fs::equivalent(run.log_directory, record.log_directory, error);
}

std::vector<FormerRun> runs_of(const std::string& place) {
  std::error_code error;
  if (fs::is_regular_file(place, error)) {
    std::vector<FormerRun> runs = logged_runs(logs_beside(place));
    const std::string name = name_of_workflow(place);
    std::erase_if(runs, [&](const FormerRun& run) { return run.name != name; });
    return with_living(std::move(runs));
  }
  const fs::path directory = place;
  const bool is_itself = fs::weakly_canonical(fs::current_path() / directory, error).filename() == ".sluice";
  return with_living(logged_runs(is_itself ? directory : directory / ".sluice"));
}

std::uint64_t bytes_on_disk(const FormerRun& run) {
  constexpr std::uint64_t block_bytes = 512;
  std::uint64_t blocks = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(run.log_directory, error), end; !error && entry != end;
       entry.increment(error)) {
    struct stat facts {};
    if (::lstat(entry->path().c_str(), &facts) == 0) blocks += static_cast<std::uint64_t>(facts.st_blocks);
  }
  return blocks * block_bytes;
}

std::string state_of(const FormerRun& run) {
  if (run.goes_on) return "goes on";
  if (run.status) return run.has_ended_well() ? "ended" : "failed";
  return run.run.number != 0 ? "was killed" : "-";
}

std::time_t beginning_of(const FormerRun& run) {
  return static_cast<std::time_t>(run.run.begin_ns / 1'000'000'000);
}

}  // namespace sluice::coordinator
