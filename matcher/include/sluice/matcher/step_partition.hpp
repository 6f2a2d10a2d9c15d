#pragma once
#include <cstdint>
#include <vector>

#include "sluice/formats/header.hpp"
#include "sluice/matcher/ownership.hpp"
#include "sluice/matcher/request_table.hpp"

namespace sluice::matcher {

/// How a step is divided among matchers: the ownership of each of its variables.
class StepPartition {
 public:
  /// `header`: with the number of records that the step has.
  StepPartition(const formats::Header& header, const Partition& partition);

  [[nodiscard]] std::uint32_t owners() const noexcept { return owners_; }
  /// Throws Error(NC_EIO) when there is no such variable.
  [[nodiscard]] const Ownership& of(int varid) const;
  /// Appends the parts of a request's box. Throws Error(NC_EIO) when there is no such variable, or it has
  /// another number of dimensions.
  void divide(const TableEntry& entry, std::vector<OwnedPart>& parts) const;

 private:
  struct Variable {
    int dimensions = 0;
    Ownership ownership;
  };
  [[nodiscard]] const Variable& at(int varid) const;

  std::uint32_t owners_;
  std::vector<Variable> variables_;
};

}  // namespace sluice::matcher
