#include "job_time.hpp"

#include <algorithm>
#include <ctime>
#include <vector>

#include "child_process.hpp"
#include "sluice/formats/error.hpp"
#include "whole_number.hpp"

namespace sluice::coordinator {
namespace {

using std::chrono::seconds;

std::optional<std::int64_t> digits_in(std::string_view text) {
  const auto number = whole_number<std::int64_t>(text);
  return number && *number >= 0 ? number : std::nullopt;
}

std::string value_in(const Environment& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

/// What the program prints; empty where there is no such program, or it fails.
std::string answer_of(const Environment& environment, std::vector<std::string> words) {
  ChildOptions child;
  child.program = "/usr/bin/env";
  child.arguments = {"env"};
  std::ranges::move(words, std::back_inserter(child.arguments));
  child.environment = environment;
  try {
    return output_of(std::move(child));
  } catch (const Error&) {
    return {};
  }
}

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

/// "Thu Nov 26 02:15:42 2026", as PBS writes the local time.
std::optional<std::chrono::system_clock::time_point> parse_date(std::string_view text) {
  std::tm date{};
  if (::strptime(std::string(text).c_str(), "%a %b %d %H:%M:%S %Y", &date) == nullptr) return std::nullopt;
  date.tm_isdst = -1;
  return std::chrono::system_clock::from_time_t(std::mktime(&date));
}

JobTime slurm_time(const Environment& environment, const std::string& job) {
  if (const auto end = digits_in(value_in(environment, "SLURM_JOB_END_TIME"))) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return {seconds(*end) - std::chrono::duration_cast<seconds>(now), {}};
  }
  const std::string answer = answer_of(environment, {"squeue", "-h", "-j", job, "-o", "%L"});
  const auto left = parse_slurm_time(trimmed(answer));
  if (left) return {left, {}};
  return {std::nullopt, "SLURM_JOB_END_TIME is not set, and 'squeue -h -j " + job + " -o %L' says '" +
                            std::string(trimmed(answer)) + "'"};
}

JobTime pbs_time(const Environment& environment, const std::string& job) {
  const std::string answer = answer_of(environment, {"qstat", "-f", job});
  if (const auto left = parse_qstat(answer, std::chrono::system_clock::now())) return {left, {}};
  if (const auto walltime = digits_in(value_in(environment, "PBS_WALLTIME"))) return {seconds(*walltime), {}};
  return {std::nullopt, "'qstat -f " + job + "' tells no walltime, and PBS_WALLTIME is not set"};
}

}  // namespace

bool is_in_batch_job(const Environment& environment) {
  return environment.contains("SLURM_JOB_ID") || environment.contains("PBS_JOBID");
}

JobTime find_job_time(const Environment& environment) {
  if (const std::string job = value_in(environment, "SLURM_JOB_ID"); !job.empty())
    return slurm_time(environment, job);
  if (const std::string job = value_in(environment, "PBS_JOBID"); !job.empty())
    return pbs_time(environment, job);
  return {std::nullopt, "neither SLURM_JOB_ID nor PBS_JOBID is set, so this is no batch job"};
}

std::optional<seconds> parse_slurm_time(std::string_view text) {
  std::int64_t total = 0;
  const std::size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    const auto days = digits_in(text.substr(0, dash));
    if (!days) return std::nullopt;
    total = *days * 24;  // hours, so far
    text.remove_prefix(dash + 1);
  }
  std::vector<std::int64_t> parts;
  for (;;) {
    const std::size_t colon = text.find(':');
    const auto part = digits_in(text.substr(0, colon));
    if (!part) return std::nullopt;
    parts.push_back(*part);
    if (colon == std::string_view::npos) break;
    text.remove_prefix(colon + 1);
  }
  if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
  if (parts.size() == 2) parts.insert(parts.begin(), 0);
  return seconds(((total + parts[0]) * 60 + parts[1]) * 60 + parts[2]);
}

std::optional<seconds> parse_qstat(std::string_view text, std::chrono::system_clock::time_point now) {
  const auto value_of = [&](std::string_view name) {
    const std::size_t at = text.find(name);
    if (at == std::string_view::npos) return std::string_view();
    std::string_view rest = text.substr(at + name.size());
    rest = rest.substr(0, rest.find('\n'));
    const std::size_t equals = rest.find('=');
    return equals == std::string_view::npos ? std::string_view() : trimmed(rest.substr(equals + 1));
  };
  const auto limit = parse_slurm_time(value_of("Resource_List.walltime"));
  if (!limit) return std::nullopt;
  const seconds left = *limit - parse_slurm_time(value_of("resources_used.walltime")).value_or(seconds(0));
  const auto start = parse_date(value_of(" stime "));
  if (!start) return left;
  return std::min(left, *limit - std::chrono::duration_cast<seconds>(now - *start));
}

}  // namespace sluice::coordinator
