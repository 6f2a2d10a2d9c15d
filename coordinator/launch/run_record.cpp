#include "run_record.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/rules.hpp"
#include "whole_number.hpp"

namespace sluice::coordinator {
namespace {

namespace fs = std::filesystem;

constexpr const char* first_line = "sluice run 2";

/// A record is lines of text, so a name in it may not have a line feed.
std::string on_one_line(std::string text) {
  std::ranges::replace(text, '\n', '?');
  return text;
}

std::optional<RunRecord> read_record(const fs::path& path) {
  std::ifstream stream(path);
  std::string version;
  std::string process;
  std::string began;
  RunRecord record;
  if (!std::getline(stream, version) || version != first_line) return std::nullopt;
  std::getline(stream, record.name);
  std::getline(stream, process);
  std::getline(stream, began);
  if (!std::getline(stream, record.flow) || !std::getline(stream, record.log_directory)) return std::nullopt;
  const auto id = whole_number<pid_t>(process);
  const auto time = whole_number<std::time_t>(began);
  if (!id || !time) return std::nullopt;
  std::ostringstream rules;
  rules << stream.rdbuf();
  record.process = *id;
  record.began = *time;
  record.rules = rules.str();
  return record;
}

/// Where `sluice run` may have put its directory, also if it has other variables than this process.
std::set<fs::path> bases() {
  return {base_for_run_directories(), base_for_run_directories(true),
          fs::path("/run/user") / std::to_string(::geteuid())};
}

}  // namespace

RunRecord record_of(const workflows::Workflow& workflow, std::time_t began, const fs::path& log_directory) {
  std::vector<runtime::ClientRule> rules;
  for (std::size_t i = 0; i < workflow.files.size(); ++i) {
    const workflows::FileRule& rule = workflow.files[i];
    if (matcher::is_in_files(rule.through)) continue;
    rules.push_back({static_cast<std::uint32_t>(i), rule.pattern, false, true, rule.through,
                     rule.is_drained(), rule.identity == matcher::Identity::name});
  }
  const auto line = [](const fs::path& path) {
    return on_one_line(fs::absolute(path).lexically_normal().string());
  };
  return {on_one_line(workflow.name), ::getpid(),          began,
          line(workflow.file),        line(log_directory), runtime::encode_rules(rules)};
}

void write_run_record(const RunDirectory& directory, const RunRecord& record) {
  const fs::path path = directory.record();
  const fs::path partial = path.string() + ".part";
  std::ofstream stream(partial);
  stream << first_line << '\n'
         << record.name << '\n'
         << record.process << '\n'
         << record.began << '\n'
         << record.flow << '\n'
         << record.log_directory << '\n'
         << record.rules;
  stream.close();
  std::error_code error;
  if (stream) fs::rename(partial, path, error);
  if (!stream || error) throw IoError(NC_EACCESS, errno, path.string(), "write");
}

std::vector<RunRecord> find_runs() {
  std::vector<RunRecord> runs;
  for (const fs::path& base : bases()) {
    for (const fs::path& directory : living_run_directories(base)) {
      auto record = read_record(record_in(directory));
      if (!record) continue;
      record->socket = socket_in(directory);
      runs.push_back(std::move(*record));
    }
  }
  std::ranges::sort(runs, {}, [](const RunRecord& run) { return std::pair(run.began, run.process); });
  runs.erase(std::unique(runs.begin(), runs.end(),
                         [](const RunRecord& a, const RunRecord& b) { return a.process == b.process; }),
             runs.end());  // one base may have two names
  return runs;
}

}  // namespace sluice::coordinator
