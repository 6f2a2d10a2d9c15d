#include <charconv>
#include <iostream>
#include <optional>

#include "commands.hpp"
#include "exit_status.hpp"
#include "log_choice.hpp"
#include "run_choice.hpp"
#include "serve.hpp"
#include "sluice/formats/error.hpp"
#include "timeline.hpp"

namespace sluice::coordinator {
namespace {

constexpr const char* serve_help = R"(sluice serve [RUN] [--port N | --socket PATH]
Shows a run in the browser while it goes on: components and what they wait for,
rates, memory, files, events; and the fields of its newest files as maps, lines
and histograms. Of a run that has ended, its record and the files that it has
kept. Prints the address of the page, and how to reach it by ssh. The address
has a secret: keep it. The run waits for no page, and nothing is asked of it
while nobody looks. RUN is the name of a workflow or the number of its run, or
what sluice report takes; without it, the only one that goes on, or the last one
of this directory.
  --port N       of the loopback interface; without it, any that is free
  --socket PATH  instead a Unix socket, which this user alone can connect to
Example: sluice serve tsunami
)";

std::optional<std::uint16_t> port_of(const std::string& word) {
  std::uint16_t port = 0;
  const auto end = std::from_chars(word.data(), word.data() + word.size(), port);
  if (end.ec != std::errc() || end.ptr != word.data() + word.size()) return std::nullopt;
  return port;
}

/// A run that has ended, by its log directory.
RunRecord ended_run(const std::filesystem::path& log_directory) {
  const Timeline timeline = read_timeline(log_directory);
  RunRecord run{timeline.name, 0, timeline.began, timeline.place.workflow};
  run.log_directory = std::filesystem::absolute(log_directory).string();
  return run;
}

/// One that goes on comes first.
std::optional<RunRecord> choose_any_run(const std::string& named) {
  const std::filesystem::path log_directory = find_log_directory(named);
  std::error_code none;
  const bool is_ended =
      runs_named(find_runs(), named).empty() && std::filesystem::exists(log_directory / timeline_file, none);
  return is_ended ? std::optional(ended_run(log_directory)) : choose_run("serve", named);
}

/// Empty: the arguments are in order.
std::string read_serve_arguments(const Arguments& arguments, ServeOptions& options) {
  bool has_port = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const bool takes_value = argument == "--port" || argument == "--socket";
    if (takes_value && i + 1 == arguments.size()) return argument + " needs a value";
    if (argument == "--port") {
      const auto port = port_of(arguments[++i]);
      if (!port) return "'" + arguments[i] + "' is no port: it is a number up to 65535";
      options.port = *port;
      has_port = true;
    } else if (argument == "--socket") {
      options.socket = arguments[++i];
      if (options.socket.empty()) return "--socket needs a path";
    } else if (argument.starts_with("-")) {
      return "there is no option '" + argument + "'";
    } else if (!options.name.empty()) {
      return "at most one run can be named";
    } else {
      options.name = argument;
    }
  }
  return has_port && !options.socket.empty() ? "either a port or a socket" : "";
}

}  // namespace

int serve_command(const Arguments& arguments) {
  if (prints_help(arguments, serve_help)) return status_ok;
  ServeOptions options;
  if (const std::string mistake = read_serve_arguments(arguments, options); !mistake.empty()) {
    std::cerr << "sluice serve: " << mistake << "\nwrite sluice serve [RUN] [--port N | --socket PATH]\n";
    return status_mistake;
  }
  try {
    const auto run = choose_any_run(options.name);
    if (!run) return status_mistake;
    serve_run(*run, options);
  } catch (const Error& error) {
    std::cerr << "sluice serve: " << error.what()
              << "\nname another port or socket, or leave --port and --socket out\n";
    return status_runtime_failure;
  }
}

}  // namespace sluice::coordinator
