#pragma once
#include <string>

#include "run_figures.hpp"
#include "timeline.hpp"

namespace sluice::coordinator {

/// The report of a run as one page of HTML, which needs nothing else: graph, timeline, memory, tables,
/// advice.
[[nodiscard]] std::string as_page(const Timeline& timeline, const RunFigures& figures);

struct Reported {
  const Timeline* timeline = nullptr;
  const RunFigures* figures = nullptr;
};
/// Two runs side by side, as such a page.
[[nodiscard]] std::string as_comparison(const Reported& first, const Reported& second);

/// When, where and of what it ran, and how it ended, as HTML.
[[nodiscard]] std::string description_of(const Timeline& timeline);

/// The script of a page, which draws the timeline from the data of as_page(), and serves tables.
[[nodiscard]] const char* page_script() noexcept;
[[nodiscard]] const char* page_style() noexcept;

}  // namespace sluice::coordinator
