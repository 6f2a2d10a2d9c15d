#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::coordinator {

using HtmlRow = std::vector<std::string>;

/// A table that the script of the page sorts, filters and folds. The first column is text, the others are
/// figures, but for so many at the end.
[[nodiscard]] std::string html_table(const HtmlRow& heads, const std::vector<HtmlRow>& rows,
                                     std::size_t last_texts = 0);
/// A list of sentences, each of the class.
[[nodiscard]] std::string html_list(const std::vector<std::string>& texts, const std::string& kind);
/// A whole page with this title, style and script.
[[nodiscard]] std::string html_page(const std::string& title, const std::string& body);

/// "3.40 GiB/s"; "–" where no time has passed.
[[nodiscard]] std::string rate_text(std::uint64_t bytes, std::uint64_t milliseconds);

}  // namespace sluice::coordinator
