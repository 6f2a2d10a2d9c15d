#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sluice/formats/header.hpp"
#include "sluice/matcher/request_table.hpp"
#include "sluice/matcher/write_index.hpp"

namespace sluice::matcher {

/// The write requests of a step (or of a part of it), in one index per variable.
class VariableIndexes {
 public:
  VariableIndexes() = default;
  /// Empty indexes for the variables of a header.
  explicit VariableIndexes(const formats::Header& header);

  /// Adds a request or a fill, with everything that the header says about it checked. Throws Error(NC_EIO).
  void add(std::uint32_t writer, const TableEntry& entry);

  /// The write requests of variable `varid`. Throws Error(NC_EIO) when the header has no such variable.
  [[nodiscard]] WriteIndex& writes(int varid) { return at(varid).writes; }
  [[nodiscard]] std::size_t element_bytes(int varid) const {
    return const_cast<VariableIndexes*>(this)->at(varid).element_bytes;
  }
  /// The end of the records that requests were added for.
  [[nodiscard]] std::int64_t records_end() const noexcept { return records_end_; }

 private:
  struct Variable {
    std::size_t element_bytes = 0;
    int dimensions = 0;
    bool has_records = false;
    WriteIndex writes;
  };
  [[nodiscard]] Variable& at(int varid);

  std::vector<Variable> variables_;
  std::int64_t records_end_ = 0;
};

}  // namespace sluice::matcher
