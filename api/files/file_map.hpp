#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "sluice/formats/header.hpp"
#include "sluice/formats/layout.hpp"

namespace sluice::api {

/// Finds the variable whose data lies at an offset of the file: the inverse of the layout.
class FileMap {
 public:
  /// A position in a variable's data.
  struct Place {
    int varid = -1;
    std::int64_t record = 0;        ///< 0 for a fixed-size variable
    std::int64_t offset_bytes = 0;  ///< in the variable, or in one of its records
    std::int64_t rest_bytes = 0;    ///< from this position to the end of the variable or record
  };

  /// Both outlive the map.
  FileMap(const formats::Header& header, const formats::Layout& layout);

  /// The place at an offset of the file; nothing if no variable has data there.
  [[nodiscard]] std::optional<Place> at(std::int64_t offset_bytes) const;
  /// Same as at(), for one variable only.
  [[nodiscard]] std::optional<Place> in_variable(int varid, std::int64_t offset_bytes) const;

 private:
  /// The begin of a variable: fixed-size variables count from the start of the file, record variables within
  /// a record.
  struct Begin {
    std::int64_t offset_bytes;
    int varid;
  };

  [[nodiscard]] std::optional<Place> in_one_of(const std::vector<Begin>& begins, std::int64_t position,
                                               std::int64_t offset_bytes) const;

  const formats::Header& header_;
  const formats::Layout& layout_;
  std::vector<Begin> fixed_;   ///< ascending
  std::vector<Begin> record_;  ///< ascending, counted from the beginning of the record section
};

}  // namespace sluice::api
