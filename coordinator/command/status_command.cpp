#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <iostream>
#include <optional>
#include <thread>

#include "commands.hpp"
#include "exit_status.hpp"
#include "figure_words.hpp"
#include "run_choice.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/observer.hpp"
#include "status_text.hpp"

namespace sluice::coordinator {
namespace {

constexpr const char* status_help = R"(sluice status [RUN] [--watch] [--files] [--json]
Says what a run does now: components, who waits for what since when, memory,
rates, files by rule, and files that are open or unread, as many as fit into 24
lines. The run does not notice. RUN is the name of a workflow or the number
of its run; without it, the only one.
  --watch   shows it anew every second, until the run ends or ^C
  --files   shows all files, components and waits, however many there are
  --json    for programs: one object on one line, with --watch one line a second
  --explain what the figures mean
  --via HOST   by ssh, of a run on another node; also of ls, cp and attach
kill -USR1 PID, with the number of the run, lets sluice run print the same.
Example: sluice status tsunami --watch
)";

struct StatusOptions {
  std::string run;
  bool watches = false;
  bool is_json = false;
  bool has_all = false;
};

/// Nothing: there is a mistake, which is printed.
std::optional<StatusOptions> read_status_options(const Arguments& arguments) {
  StatusOptions options;
  for (const std::string& argument : arguments) {
    if (argument == "--watch" || argument == "-w") {
      options.watches = true;
    } else if (argument == "--files") {
      options.has_all = true;
    } else if (argument == "--json") {
      options.is_json = true;
    } else if (argument.starts_with("-") || !options.run.empty()) {
      std::cerr << "sluice status: "
                << (argument.starts_with("-") ? "there is no option '" + argument + "'"
                                              : std::string("at most one run can be named"))
                << "\nwrite sluice status [RUN] [--watch] [--files] [--json]\n";
      return std::nullopt;
    } else {
      options.run = argument;
    }
  }
  return options;
}

std::string headline(const RunRecord& run) {
  const std::vector<std::string> words = describe_run(run);
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : "  ") + word;
  return text + "\n";
}

/// Prints views one after the other; on a terminal each one in the place of the one before.
class Screen {
 public:
  explicit Screen(bool watches)
      : is_terminal_(watches && ::isatty(STDOUT_FILENO) == 1), separates_(watches && !is_terminal_) {}

  /// `headline`, then as many lines as fit of what `describe` makes.
  void show(const std::string& headline, const std::function<std::string(std::size_t)>& describe) {
    constexpr const char* home_and_clear = "\x1b[H\x1b[J";
    winsize size{};
    const bool is_known =
        is_terminal_ && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 1;
    const std::size_t lines = is_known ? size.ws_row - 1U : 23U;
    const std::string text = headline + describe(lines - 1);
    if (is_terminal_)
      std::cout << home_and_clear << fit_to_screen(text, is_known ? size.ws_col : 80U, lines);
    else
      std::cout << text << (separates_ ? "\n" : "");
    std::cout << std::flush;
  }

 private:
  bool is_terminal_;
  bool separates_;
};

/// Shows one view, or one a second while the run goes on. Sets `has_shown` after the first one. Throws Error.
void show_views(const RunRecord& run, const StatusOptions& options, bool& has_shown) {
  constexpr std::chrono::seconds interval{1};
  runtime::Observer observer = runtime::observe(run.socket);
  Screen screen(options.watches);
  std::optional<runtime::RunView> earlier;
  for (;;) {
    runtime::RunView view = observer.watch({});
    const ProcessStates states = own_states(sample_processes(run.socket), view);
    if (options.is_json) {
      std::cout << status_as_json(view, run.name, run.process, earlier, states) << '\n' << std::flush;
    } else {
      screen.show(headline(run), [&](std::size_t lines) {
        return options.has_all ? describe_status(view, earlier, states)
                               : describe_status(view, earlier, states, lines);
      });
    }
    if (!options.watches || !std::cout) return;
    has_shown = true;
    earlier = std::move(view);
    std::this_thread::sleep_for(interval);
  }
}

}  // namespace

int status_command(const Arguments& arguments) {
  if (prints_help(arguments, status_help)) return status_ok;
  if (!arguments.empty() && arguments.front() == "--explain") {
    std::cout << explained_words();
    return status_ok;
  }
  const auto options = read_status_options(arguments);
  if (!options) return status_mistake;
  const auto run = choose_run("status", options->run);
  if (!run) return status_mistake;
  bool has_shown = false;
  try {
    show_views(*run, *options, has_shown);
    return status_ok;
  } catch (const Error& error) {
    if (has_shown) {
      std::cerr << "the run " << run->name << " has ended\n";
      return status_ok;
    }
    std::cerr << "sluice status: the run " << run->name << " does not answer: " << error.what()
              << "\nit may just have ended, or its matchers are on other machines\n";
    return status_runtime_failure;
  }
}

}  // namespace sluice::coordinator
