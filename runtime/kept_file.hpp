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
  std::vector<int> sources;  ///< per variable of the file: the step's variable

  /// Bytes from the beginning of the file to the end of its last element.
  [[nodiscard]] std::int64_t size_bytes() const;
};

/// The whole of the step, laid out as its writer's dataset was; or, where `variables` (globs over names) says
/// so, some of its variables, the dimensions that these use, and all global attributes, laid out anew.
/// Throws FormatError for a damaged header, Error where the format cannot hold it.
[[nodiscard]] KeptFile kept_file(const matcher::StepView& view, formats::Version version,
                                 std::int64_t record_count, const std::vector<std::string>& variables);

/// Elements of one record of the variable, or of all of it, times their size.
[[nodiscard]] std::int64_t bytes_per_record(const formats::Header& header, int varid);

}  // namespace sluice::runtime
