#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <iostream>

#include "commands.hpp"
#include "exit_status.hpp"
#include "format.hpp"
#include "log_choice.hpp"
#include "run_choice.hpp"
#include "sluice/workflows/byte_size.hpp"
#include "whole_number.hpp"

namespace sluice::coordinator {
namespace {

namespace fs = std::filesystem;

constexpr const char* clean_help = R"(sluice clean [WHERE] [--older-than DAYS] [--keep N] [--at-most SIZE]
Removes the logs of runs from .sluice, the oldest first. WHERE is a directory,
or a workflow's file, for the runs of that workflow alone; without it: this
directory. At least one option says what goes; of several, each removes.
  --older-than DAYS   logs of runs that began longer ago
  --keep N            all but the N newest ones
  --at-most SIZE      as many as it takes until the others have this size
  --resumable         also those of runs that can be resumed, without asking
  -n, --dry-run       says what would go, and removes nothing
A run that goes on keeps its log. Where a run can be resumed (sluice run
--resume), clean asks on a terminal, and otherwise keeps its log. Burst-buffer
logs are not its concern: see sluice recover.
Example: sluice clean --keep 10
)";

struct CleanOptions {
  std::string place;
  std::optional<std::uint64_t> days;
  std::optional<std::uint64_t> keep;
  std::optional<std::uint64_t> most_bytes;
  bool are_resumable_meant = false;
  bool is_dry = false;
};

/// Takes an option with a value; what is wrong with it, or nothing.
std::string read_limit(const std::string& option, const std::string& value, CleanOptions& options) {
  if (option == "--at-most") {
    options.most_bytes = workflows::parse_byte_size(value);
    return options.most_bytes
               ? ""
               : option + " is '" + value + "': write " + std::string(workflows::byte_size_forms);
  }
  auto& count = option == "--keep" ? options.keep : options.days;
  count = whole_number<std::uint64_t>(value);
  return count ? "" : option + " is '" + value + "': write a whole number";
}

/// Empty: the options are in order.
std::string read_clean_options(const Arguments& arguments, CleanOptions& options) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--older-than" || argument == "--keep" || argument == "--at-most") {
      if (i + 1 == arguments.size()) return argument + " needs a value";
      if (const std::string problem = read_limit(argument, arguments[++i], options); !problem.empty())
        return problem;
    } else if (argument == "--resumable") {
      options.are_resumable_meant = true;
    } else if (argument == "-n" || argument == "--dry-run") {
      options.is_dry = true;
    } else if (argument.starts_with("-")) {
      return "there is no option '" + argument + "'";
    } else if (!options.place.empty()) {
      return "one place is expected";
    } else {
      options.place = argument;
    }
  }
  std::error_code error;
  if (!options.place.empty() && !fs::exists(options.place, error))
    return "there is no '" + options.place + "'";
  if (!options.days && !options.keep && !options.most_bytes)
    return "nothing says what goes: --older-than DAYS, --keep N or --at-most SIZE";
  return {};
}

/// The runs whose logs go, by the options alone. `runs`: the oldest first.
std::vector<FormerRun> chosen(const std::vector<FormerRun>& runs, const CleanOptions& options) {
  constexpr std::time_t day = 24 * 60 * 60;
  const std::time_t now = std::time(nullptr);
  std::uint64_t newer_bytes = 0;
  std::uint64_t newer_count = 0;
  std::vector<FormerRun> going;
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    newer_bytes += bytes_on_disk(*run);
    const bool is_old =
        options.days && now - beginning_of(*run) > static_cast<std::time_t>(*options.days) * day;
    const bool is_one_too_many = options.keep && newer_count >= *options.keep;
    const bool is_too_large = options.most_bytes && newer_bytes > *options.most_bytes;
    ++newer_count;
    if (!run->goes_on && (is_old || is_one_too_many || is_too_large)) going.push_back(*run);
  }
  std::ranges::reverse(going);
  return going;
}

/// Whether the log of a run that can be resumed may go.
bool may_remove(const FormerRun& run, const CleanOptions& options) {
  if (!run.can_be_resumed() || options.are_resumable_meant) return true;
  if (::isatty(STDIN_FILENO) == 0 || options.is_dry) {
    std::cout << "kept     " << run.log_directory.string()
              << ": the run can be resumed; --resumable removes it\n";
    return false;
  }
  std::cout << run.log_directory.string() << ": " << run.name << " of " << format_time(beginning_of(run))
            << ' ' << state_of(run) << " and can be resumed. Remove its log? [y/N] " << std::flush;
  std::string answer;
  return std::getline(std::cin, answer) && (answer == "y" || answer == "Y" || answer == "yes");
}

}  // namespace

int clean_command(const Arguments& arguments) {
  if (prints_help(arguments, clean_help)) return status_ok;
  CleanOptions options;
  if (const std::string problem = read_clean_options(arguments, options); !problem.empty()) {
    std::cerr << "sluice clean: " << problem
              << "\nwrite sluice clean [WHERE] [--older-than DAYS] [--keep N] [--at-most SIZE]\n";
    return status_mistake;
  }
  int status = status_ok;
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  for (const FormerRun& run : chosen(runs_of(options.place), options)) {
    if (!may_remove(run, options)) continue;
    const std::uint64_t run_bytes = bytes_on_disk(run);
    std::error_code error;
    if (!options.is_dry) fs::remove_all(run.log_directory, error);
    if (error) {
      std::cerr << "sluice clean: cannot remove " << run.log_directory.string() << ": " << error.message()
                << '\n';
      status = status_runtime_failure;
      continue;
    }
    std::cout << (options.is_dry ? "would go  " : "removed  ") << run.log_directory.string() << "  "
              << format_bytes(run_bytes) << '\n';
    bytes += run_bytes;
    ++count;
  }
  std::cout << format_count(count, "log") << (options.is_dry ? " would go, " : " removed, ")
            << format_bytes(bytes) << std::endl;
  return status;
}

}  // namespace sluice::coordinator
