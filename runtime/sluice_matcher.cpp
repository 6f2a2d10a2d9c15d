// The program of a matcher rank; `sluice run` starts it.
#include <sys/resource.h>

#include <charconv>
#include <csignal>
#include <cstdio>
#include <exception>
#include <optional>
#include <string_view>
#include <utility>

#include "sluice/runtime/matcher_rank.hpp"

namespace {

constexpr int exit_usage = 2;
constexpr int exit_failed = 3;

struct Arguments {
  std::string socket_path;
  int coordinator_descriptor = -1;
};

std::optional<Arguments> parse(int count, char** words) {
  Arguments arguments;
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string_view name = words[i];
    const std::string_view value = words[i + 1];
    if (name == "--socket") {
      arguments.socket_path = value;
    } else if (name == "--coordinator-fd") {
      const auto end = value.data() + value.size();
      const auto [rest, error] = std::from_chars(value.data(), end, arguments.coordinator_descriptor);
      if (error != std::errc{} || rest != end) return std::nullopt;
    } else {
      return std::nullopt;
    }
  }
  const bool is_complete =
      count == 5 && !arguments.socket_path.empty() && arguments.coordinator_descriptor >= 0;
  return is_complete ? std::optional(arguments) : std::nullopt;
}

/// Every segment is a descriptor here: use as many as the system lets us.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int main(int count, char** words) {
  using namespace sluice::runtime;
  const auto arguments = parse(count, words);
  if (!arguments) {
    std::fputs("usage: sluice-matcher --socket PATH --coordinator-fd N\nIt is started by `sluice run`.\n",
               stderr);
    return exit_usage;
  }
  // ^C goes to the whole foreground group; it is the coordinator that decides when this ends.
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
  raise_descriptor_limit();
  try {
    MatcherRank rank(
        {arguments->socket_path, PacketSocket(FileDescriptor(arguments->coordinator_descriptor))});
    rank.run();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sluice-matcher: %s\n", error.what());
    return exit_failed;
  }
}
