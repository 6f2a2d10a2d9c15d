#pragma once
#include <string>

#include "run_figures.hpp"
#include "timeline.hpp"

namespace sluice::coordinator {

/// The report of a run as one page of HTML, which needs nothing else: graph, timeline, memory, tables,
/// advice.
[[nodiscard]] std::string as_page(const Timeline& timeline, const RunFigures& figures);

/// The script of the page, which draws the timeline from the data of as_page().
[[nodiscard]] const char* page_script() noexcept;
[[nodiscard]] const char* page_style() noexcept;

}  // namespace sluice::coordinator
