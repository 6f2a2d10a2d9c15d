#pragma once
#include <string>
#include <string_view>

namespace sluice::coordinator {

/// What a word means that heads a column of figures, in the summary, the status and the report; empty: it
/// explains itself.
[[nodiscard]] std::string_view meaning_of(std::string_view word) noexcept;
/// All of them, a line or two each, for a terminal of 80 columns.
[[nodiscard]] std::string explained_words();

}  // namespace sluice::coordinator
