#pragma once
#include <cstdint>
#include <vector>

#include "sluice/formats/header.hpp"
#include "sluice/matcher/ownership.hpp"
#include "sluice/matcher/request_table.hpp"

namespace sluice::matcher {

/// The division of a step among matchers: the ownership of each of its variables.
class StepPartition {
 public:
  /// `header` includes the step's number of records.
  StepPartition(const formats::Header& header, const Partition& partition);

  [[nodiscard]] std::uint32_t owners() const noexcept { return owners_; }
  /// Throws Error(NC_EIO) when there is no such variable.
  [[nodiscard]] const Ownership& of(int varid) const;
  /// Appends the parts of a request's box. Throws Error(NC_EIO) when the variable does not exist or has
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
