#pragma once
#include <string>
#include <string_view>

namespace sluice::coordinator {

enum class Colour { none, red, green, yellow, cyan, bold };

/// Whether texts on the descriptor may have colours: it is a capable terminal, and NO_COLOR is not set
/// (no-color.org).
[[nodiscard]] bool has_colours(int descriptor);
/// Whether the descriptor is a terminal on which lines can be replaced.
[[nodiscard]] bool is_capable_terminal(int descriptor);

/// The text, with a colour if `are_shown`.
[[nodiscard]] std::string coloured(std::string_view text, Colour colour, bool are_shown);

}  // namespace sluice::coordinator
