#include "sluice/runtime/files_matcher.hpp"

#include <unistd.h>

#include <cstdlib>

#include "sluice/runtime/matcher_choice.hpp"

namespace sluice::runtime {

namespace {

std::string text(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string{} : std::string(value);
}

/// Of a variable that `sluice run` sets (rules.hpp); 1 where it does not.
std::uint32_t count(const char* name) {
  const std::string digits = text(name);
  return digits.empty() ? 1 : static_cast<std::uint32_t>(std::strtoul(digits.c_str(), nullptr, 10));
}

}  // namespace

FilesMatcher files_matcher() {
  const std::string socket = text("SLUICE_SOCKET"), door = text("SLUICE_DOOR");
  if (socket.empty()) return {text("SLUICE_ATTACHED")};
  const MatcherShares shares{count("SLUICE_MATCHERS"), count("SLUICE_VIRTUAL_NODES")};
  const std::uint32_t own = matcher_index(world_place(::getenv), shares);
  const std::uint32_t first = shares.matchers == 0 ? own : own - own % shares.matchers;
  if (door.empty()) return {matcher_socket_path(socket, first)};
  return {matcher_socket_path(::geteuid() == 0 ? socket : door, first), matcher_socket_path(door, first)};
}

}  // namespace sluice::runtime
