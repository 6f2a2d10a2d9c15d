#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "sluice/formats/header.hpp"
#include "sluice/formats/layout.hpp"

namespace sluice::api {

/// Which variable's data lies at an offset of the file: the layout read backwards.
class FileMap {
 public:
  /// A place in a variable's data.
  struct Place {
    int varid = -1;
    std::int64_t record = 0;        ///< 0 for a fixed-size variable
    std::int64_t offset_bytes = 0;  ///< in the variable, or in one record of it
    std::int64_t rest_bytes = 0;    ///< from there to the end of the variable, or of the record of it
  };

  /// Both outlive the map.
  FileMap(const formats::Header& header, const formats::Layout& layout);

  /// What lies at an offset of the file; nothing where no variable has data.
  [[nodiscard]] std::optional<Place> at(std::int64_t offset_bytes) const;
  /// The same for one variable only.
  [[nodiscard]] std::optional<Place> in_variable(int varid, std::int64_t offset_bytes) const;

 private:
  /// A variable by where it begins: fixed-size ones in the file, others in a record.
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
