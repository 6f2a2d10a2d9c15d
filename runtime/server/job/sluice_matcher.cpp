// The program of a matcher; `sluice run` starts it.
#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "matcher_job.hpp"
#include "node_directory.hpp"
#include "sluice/runtime/guard_process.hpp"
#include "sluice/runtime/matcher_server.hpp"
#include "warm_heap.hpp"

using namespace sluice::runtime;

namespace {

constexpr int exit_usage = 2;
constexpr int exit_failed = 3;

/// When all messages of other matchers ring the bell, a matcher need not poll for them.
constexpr std::chrono::milliseconds longest_sleep_with_bell{100};

struct Arguments {
  std::string socket_path;
  int coordinator_descriptor = -1;  ///< for a single matcher
  std::string coordinator_path;     ///< for an MPI job: matcher 0 connects there
  int virtual_nodes = 1;
  bool is_on_several_machines = false;
  bool has_huge_pages = true;  ///< where the system gives them
};

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || rest != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::optional<Arguments> parse(int count, char** words) {
  Arguments arguments;
  if (count % 2 == 0) return std::nullopt;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string_view name = words[i];
    const std::string_view value = words[i + 1];
    if (name == "--socket") {
      arguments.socket_path = value;
    } else if (name == "--coordinator") {
      arguments.coordinator_path = value;
    } else if (name == "--huge-pages" && value == "off") {
      arguments.has_huge_pages = false;
    } else if (name == "--machines" && value == "several") {
      arguments.is_on_several_machines = true;
    } else if (const auto n = number(value); n && name == "--coordinator-fd") {
      arguments.coordinator_descriptor = *n;
    } else if (n && *n > 0 && name == "--virtual-nodes") {
      arguments.virtual_nodes = *n;
    } else {
      return std::nullopt;
    }
  }
  const bool is_alone = arguments.coordinator_descriptor >= 0;
  const bool is_complete = !arguments.socket_path.empty() && is_alone == arguments.coordinator_path.empty();
  return is_complete ? std::optional(arguments) : std::nullopt;
}

/// Every connection and every burst-buffer log takes descriptors: raises the limit as far as the system
/// allows.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

std::string door_path() {
  const char* const door = std::getenv("SLUICE_DOOR");
  return door == nullptr ? "" : door;
}

/// Runs without MPI.
void run_alone(const Arguments& arguments, std::optional<HugePageFiles> huge_pages) {
  MatcherServerOptions options;
  options.socket_path = arguments.socket_path;
  options.door_path = door_path();
  options.coordinator = PacketSocket(FileDescriptor(arguments.coordinator_descriptor));
  options.huge_pages = std::move(huge_pages);
  MatcherServer rank(std::move(options));
  rank.run();
}

void run_in_job(const Arguments& arguments, std::optional<HugePageFiles> huge_pages) {
  std::optional<NodeDirectory> directory;
  if (arguments.is_on_several_machines) directory.emplace(arguments.socket_path);
  MatcherJob job(arguments.socket_path, static_cast<std::uint32_t>(arguments.virtual_nodes));
  {
    MatcherServerOptions options;
    options.socket_path = arguments.socket_path;
    options.door_path = door_path();
    if (job.rank() == 0) options.coordinator = connect_to(arguments.coordinator_path);
    options.nodes = job.nodes();
    options.link = job.link();
    options.bell = job.bell();
    options.huge_pages = std::move(huge_pages);
    if (job.is_on_one_machine()) options.longest_sleep = longest_sleep_with_bell;
    MatcherServer rank(std::move(options));
    rank.run();
  }
  job.finish();
}

}  // namespace

int main(int count, char** words) {
  const auto arguments = parse(count, words);
  if (!arguments) {
    std::fputs(
        "usage: sluice-matcher --socket PATH (--coordinator-fd N | --coordinator PATH [--virtual-nodes K | "
        "--machines several]) [--huge-pages off]\n"
        "It is started by `sluice run`.\n",
        stderr);
    return exit_usage;
  }
  // ^C goes to the whole foreground group; the coordinator decides when the run ends.
  // Batch systems and users send signals to all processes of a run, and the coordinator knows what they mean.
  // A limit on file sizes becomes an error of a write, or of making a segment on disk.
  ignore_signals_of_users();
  raise_descriptor_limit();
  try {
    // This forks, so it must come first.
    std::optional<HugePageFiles> huge_pages;
    if (arguments->has_huge_pages) huge_pages = HugePageFiles::make();
    prepare_heap(matcher_heap_bytes);
    if (arguments->coordinator_path.empty()) {
      run_alone(*arguments, std::move(huge_pages));
    } else {
      run_in_job(*arguments, std::move(huge_pages));
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sluice-matcher: %s\n", error.what());
    std::fflush(stderr);
    // Not by exit(): the launcher must see that this rank ended without MPI_Finalize, so that it ends the
    // others.
    ::_exit(exit_failed);
  }
}
