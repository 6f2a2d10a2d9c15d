#include "colours.hpp"

#include <unistd.h>

#include <array>
#include <cstdlib>

namespace sluice::coordinator {

bool is_capable_terminal(int descriptor) {
  const char* const terminal = std::getenv("TERM");
  return ::isatty(descriptor) != 0 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

bool has_colours(int descriptor) {
  const char* const refusal = std::getenv("NO_COLOR");
  return (refusal == nullptr || *refusal == '\0') && is_capable_terminal(descriptor);
}

std::string coloured(std::string_view text, Colour colour, bool are_shown) {
  constexpr std::array<std::string_view, 6> codes{"",         "\x1b[31m", "\x1b[32m",
                                                  "\x1b[33m", "\x1b[36m", "\x1b[1m"};
  if (!are_shown || colour == Colour::none || text.empty()) return std::string(text);
  return std::string(codes.at(static_cast<std::size_t>(colour))).append(text).append("\x1b[0m");
}

}  // namespace sluice::coordinator
