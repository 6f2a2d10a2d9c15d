#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "sluice/formats/layout.hpp"
#include "sluice/formats/placement.hpp"

namespace sluice::formats {

[[nodiscard]] ElementSteps steps_of(const Header& header, const Layout& layout, int varid);

/// append_runs (layout.hpp) for known steps between the elements.
void append_runs(const ElementSteps& steps, std::span<const std::int64_t> start,
                 std::span<const std::int64_t> count, std::span<const std::int64_t> stride,
                 std::vector<FileRun>& runs);

}  // namespace sluice::formats
