#include <algorithm>
#include <filesystem>
#include <iostream>
#include <vector>

#include "commands.hpp"
#include "exit_status.hpp"
#include "format.hpp"
#include "json_writer.hpp"
#include "run_choice.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/observer.hpp"

namespace sluice::coordinator {
namespace {

using runtime::PublishedFile;

constexpr const char* ls_help = R"(sluice ls [RUN] [--json]
Lists the workflows of this user that run on this machine, and the files that
RUN has published: name, size, time of publication, and where the data is. RUN
is the name of a workflow or the number of its run; without it, the only one.
  --json     the files of one run, for programs
Example: sluice ls tsunami
)";

std::uint64_t bytes_of(const PublishedFile& file) {
  if (file.step != 0) return file.bytes;
  std::error_code error;
  const auto bytes = std::filesystem::file_size(file.path, error);
  return error ? 0 : bytes;
}

std::string describe_files(const runtime::Listing& listing) {
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

std::string files_as_json(const RunRecord& run, const runtime::Listing& listing) {
  JsonWriter json;
  json.begin_object()
      .member("name", run.name)
      .member("process", static_cast<std::int64_t>(run.process))
      .member("began", static_cast<std::int64_t>(run.began))
      .member("flow", run.flow)
      .member("log_directory", run.log_directory)
      .member("gone", static_cast<std::uint64_t>(listing.gone))
      .key("files")
      .begin_list();
  for (const PublishedFile& file : listing.files)
    json.begin_object()
        .member("name", file.name)
        .member("path", file.path)
        .member("bytes", bytes_of(file))
        .member("age_ms", static_cast<std::uint64_t>(file.age_ms))
        .member("publication", static_cast<std::uint64_t>(file.publication))
        .member("in_memory", file.step != 0)
        .end_object();
  return json.end_list().end_object().text() + '\n';
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
  if (prints_help(arguments, ls_help)) return status_ok;
  bool is_json = false;
  std::string named;
  for (const std::string& argument : arguments) {
    if (argument == "--json") {
      is_json = true;
    } else if (argument.starts_with("-") || !named.empty()) {
      std::cerr << "sluice ls: "
                << (named.empty() ? "there is no option '" + argument + "'" : "at most one run can be named")
                << "\nwrite sluice ls [RUN] [--json]\n";
      return status_mistake;
    } else {
      named = argument;
    }
  }
  if (named.empty() && !is_json) {
    if (const auto runs = find_runs(); runs.size() > 1) return list_runs(runs);
  }
  const auto run = choose_run("ls", named);
  if (!run) return status_mistake;
  try {
    const runtime::Listing listing = runtime::observe(run->socket).list({{}, true, {}});
    std::cout << (is_json ? files_as_json(*run, listing)
                          : format_table({describe_run(*run)}, {}) + describe_files(listing))
              << std::flush;
    return status_ok;
  } catch (const Error& error) {
    std::cerr << "sluice ls: the run " << run->name << " does not answer: " << error.what()
              << "\nit may just have ended, or its matchers are on other machines\n";
    return status_runtime_failure;
  }
}

}  // namespace sluice::coordinator
