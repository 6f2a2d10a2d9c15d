#include <algorithm>
#include <filesystem>
#include <iostream>
#include <vector>

#include "commands.hpp"
#include "exit_status.hpp"
#include "format.hpp"
#include "run_choice.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/observer.hpp"

namespace sluice::coordinator {
namespace {

using runtime::PublishedFile;

constexpr const char* ls_help = R"(sluice ls [RUN]
Lists the workflows of this user that run on this machine, and the files that
RUN has published: name, size, time of publication, and where the data is. RUN
is the name of a workflow or the number of its run; without it, the only one.
Example: sluice ls tsunami
)";

std::uint64_t bytes_of(const PublishedFile& file) {
  if (file.step != 0) return file.bytes;
  std::error_code error;
  const auto bytes = std::filesystem::file_size(file.path, error);
  return error ? 0 : bytes;
}

std::string list_files(const RunRecord& run) {
  const runtime::Listing listing = runtime::observe(run.socket).list({{}, true, {}});
  const std::time_t now = std::time(nullptr);
  std::vector<std::vector<std::string>> rows;
  for (const PublishedFile& file : listing.files) {
    const std::time_t published = now - static_cast<std::time_t>(file.age_ms / 1000);
    rows.push_back({"  " + file.name, format_bytes(bytes_of(file)), format_time(published),
                    file.step != 0 ? "in memory" : "on disk"});
  }
  std::string text = format_table(rows, {false, true, true});
  if (rows.empty()) text = "  no published file is there now\n";
  if (listing.gone != 0)
    text += "  " + format_count(listing.gone, "file") + " more had been read, and " +
            (listing.gone == 1 ? "is" : "are") + " not in memory any more\n";
  return text;
}

int list_runs(const std::vector<RunRecord>& runs) {
  std::vector<std::vector<std::string>> rows;
  for (const RunRecord& run : runs) rows.push_back(describe_run(run));
  std::cout << format_table(rows, {}) << std::flush;
  std::cerr << "sluice ls RUN lists the files of one run; RUN is its name or its number\n";
  return status_ok;
}

}  // namespace

int ls_command(const Arguments& arguments) {
  if (!arguments.empty() && (arguments.front() == "--help" || arguments.front() == "-h")) {
    std::cout << ls_help;
    return status_ok;
  }
  if (arguments.size() > 1) {
    std::cerr << "sluice ls: at most one run can be named\nwrite sluice ls [RUN]\n";
    return status_mistake;
  }
  if (arguments.empty()) {
    if (const auto runs = find_runs(); runs.size() > 1) return list_runs(runs);
  }
  const auto run = choose_run("ls", arguments.empty() ? "" : arguments.front());
  if (!run) return status_mistake;
  try {
    const std::string files = list_files(*run);
    std::cout << format_table({describe_run(*run)}, {}) << files << std::flush;
    return status_ok;
  } catch (const Error& error) {
    std::cerr << "sluice ls: the run " << run->name << " does not answer: " << error.what()
              << "\nit may just have ended, or its matchers are on other machines\n";
    return status_runtime_failure;
  }
}

}  // namespace sluice::coordinator
