#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sluice/formats/header.hpp"
#include "sluice/formats/layout.hpp"
#include "sluice/matcher/step_view.hpp"

namespace sluice::runtime {

/// The file that a step becomes.
struct KeptFile {
  formats::Header header;
  formats::Layout layout;
  std::vector<int> sources;  ///< for each variable of the file: the step's variable

  /// Bytes from the beginning of the file to the end of its last element.
  [[nodiscard]] std::int64_t size_bytes() const;
};

/// The file of the whole step, with the layout of its writer's dataset. If `variables` (globs over names)
/// selects some variables, the file has a new layout with these variables, their dimensions, and all global
/// attributes. Throws FormatError for a damaged header, Error when the format cannot hold the file.
[[nodiscard]] KeptFile kept_file(const matcher::StepView& view, formats::Version version,
                                 std::int64_t record_count, const std::vector<std::string>& variables);

/// The bytes of one record of the variable, or of the whole variable when it has no records.
[[nodiscard]] std::int64_t bytes_per_record(const formats::Header& header, int varid);

}  // namespace sluice::runtime
