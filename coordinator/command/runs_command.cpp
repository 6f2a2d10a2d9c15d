#include <algorithm>
#include <iostream>

#include "commands.hpp"
#include "exit_status.hpp"
#include "format.hpp"
#include "json_writer.hpp"
#include "log_choice.hpp"
#include "run_choice.hpp"

namespace sluice::coordinator {
namespace {

namespace fs = std::filesystem;

constexpr const char* runs_help = R"(sluice runs [WHERE] [--json]
Lists the runs whose logs are in .sluice, the oldest first: name, beginning,
state, exit status, size of the log, log directory; and the runs of this user
that go on elsewhere on this machine. WHERE is a directory, or a workflow's
file, for the runs of that workflow alone; without it: this directory.
  --json     the same for programs
Example: sluice runs flow.yaml
)";

/// Runs that go on with a log directory that is not among the others'.
std::vector<RunRecord> runs_elsewhere(const std::vector<FormerRun>& here) {
  std::vector<RunRecord> elsewhere = find_runs();
  std::erase_if(elsewhere, [&](const RunRecord& record) {
    return std::ranges::any_of(here, [&](const FormerRun& run) { return has_log(record, run); });
  });
  return elsewhere;
}

std::string status_text(const FormerRun& run) {
  return run.status ? std::to_string(*run.status) : "-";
}

void print_table(const std::vector<FormerRun>& runs, const std::vector<RunRecord>& elsewhere) {
  std::vector<std::vector<std::string>> rows{{"run", "began", "state", "status", "log", ""}};
  for (const FormerRun& run : runs) {
    const std::string state = state_of(run) + (run.can_be_resumed() ? ", can be resumed" : "");
    rows.push_back({run.name, format_time(beginning_of(run)), state, status_text(run),
                    format_bytes(bytes_on_disk(run)), run.log_directory.string()});
  }
  for (const RunRecord& run : elsewhere)
    rows.push_back({run.name, format_time(run.began), "goes on", "-", "-", run.log_directory});
  std::cout << format_table(std::move(rows), {false, false, false, true, true}) << std::flush;
}

void print_json(const std::vector<FormerRun>& runs, const std::vector<RunRecord>& elsewhere) {
  JsonWriter json;
  json.begin_list();
  for (const FormerRun& run : runs) {
    json.begin_object()
        .member("name", run.name)
        .member("began", static_cast<std::int64_t>(beginning_of(run)))
        .member("state", state_of(run))
        .member("can_be_resumed", run.can_be_resumed())
        .member("log_bytes", bytes_on_disk(run))
        .member("log_directory", fs::absolute(run.log_directory).string());
    if (run.status) json.member("exit_status", *run.status);
    json.end_object();
  }
  for (const RunRecord& run : elsewhere)
    json.begin_object()
        .member("name", run.name)
        .member("began", static_cast<std::int64_t>(run.began))
        .member("state", "goes on")
        .member("can_be_resumed", false)
        .member("log_directory", run.log_directory)
        .end_object();
  std::cout << json.end_list().text() << std::endl;
}

}  // namespace

int runs_command(const Arguments& arguments) {
  bool is_json = false;
  std::string place;
  for (const std::string& argument : arguments) {
    if (argument == "--help" || argument == "-h") {
      std::cout << runs_help;
      return status_ok;
    }
    if (argument == "--json") {
      is_json = true;
    } else if (argument.starts_with("-") || !place.empty()) {
      std::cerr << "sluice runs: "
                << (argument.starts_with("-") ? "there is no option '" + argument + "'"
                                              : "one place is expected")
                << "\nwrite sluice runs [WHERE] [--json]\n";
      return status_mistake;
    } else {
      place = argument;
    }
  }
  std::error_code error;
  if (!place.empty() && !fs::exists(place, error)) {
    std::cerr << "sluice runs: there is no '" << place << "'\nname a directory, or the file of a workflow\n";
    return status_mistake;
  }
  const std::vector<FormerRun> runs = runs_of(place);
  const std::vector<RunRecord> elsewhere = place.empty() ? runs_elsewhere(runs) : std::vector<RunRecord>();
  if (is_json) {
    print_json(runs, elsewhere);
  } else if (runs.empty() && elsewhere.empty()) {
    std::cerr << "sluice runs: no run has left a log in .sluice, and none goes on on this machine\n";
  } else {
    print_table(runs, elsewhere);
  }
  return status_ok;
}

}  // namespace sluice::coordinator
