#pragma once
#include <mpi.h>

#include <cstddef>
#include <deque>
#include <vector>

namespace sluice::api {

/// A list of hyperslabs in the form of varn's arguments.
class VarnSlabs {
 public:
  explicit VarnSlabs(std::size_t dimensions) : dimensions_(dimensions) {}
  VarnSlabs(VarnSlabs&&) = default;
  VarnSlabs& operator=(VarnSlabs&&) = default;
  VarnSlabs(const VarnSlabs&) = delete;  // pointers into itself
  VarnSlabs& operator=(const VarnSlabs&) = delete;

  /// Appends one slab; the caller fills in the numbers.
  struct Slab {
    MPI_Offset* start;
    MPI_Offset* count;
  };
  Slab append() {
    auto& numbers = numbers_.emplace_back(2 * dimensions_, 0);
    starts_.push_back(numbers.data());
    counts_.push_back(numbers.data() + dimensions_);
    return {starts_.back(), counts_.back()};
  }

  [[nodiscard]] int size() const noexcept { return static_cast<int>(starts_.size()); }
  [[nodiscard]] MPI_Offset* const* starts() const noexcept { return starts_.data(); }
  [[nodiscard]] MPI_Offset* const* counts() const noexcept { return counts_.data(); }

 private:
  std::size_t dimensions_;
  std::deque<std::vector<MPI_Offset>> numbers_;  // pointers stay valid while the deque grows
  std::vector<MPI_Offset*> starts_;
  std::vector<MPI_Offset*> counts_;
};

/// A list of hyperslabs of one variable.
struct VariableSlabs {
  int varid = -1;
  VarnSlabs slabs;
};

}  // namespace sluice::api
