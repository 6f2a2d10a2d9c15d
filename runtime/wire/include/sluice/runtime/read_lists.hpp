#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "sluice/formats/hyperslab.hpp"
#include "sluice/runtime/protocol.hpp"

namespace sluice::runtime {

/// Writes the accesses of a get message. Accesses with hyperslabs in the same memory share one list.
class GetWriter {
 public:
  explicit GetWriter(std::uint64_t step) { get_.step = step; }
  /// `slabs` must not change until take().
  void add(int varid, std::span<const formats::HyperslabView> slabs);
  [[nodiscard]] Get take() noexcept;

 private:
  struct Known {
    std::size_t slabs = 0;
    std::uint32_t list = 0;
  };
  Get get_;
  std::unordered_map<const formats::HyperslabView*, Known> lists_;
};

/// The hyperslabs of a list; they point to the list's numbers. Throws Error(NC_EIO) when the list has too few
/// or too many numbers.
[[nodiscard]] std::vector<formats::HyperslabView> slabs_of(const ReadList& list);

/// The list of an access of `get`. Throws Error(NC_EIO) when the list does not exist.
[[nodiscard]] const ReadList& list_of(const Get& get, const ReadAccess& access);

}  // namespace sluice::runtime
