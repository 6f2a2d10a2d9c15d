#pragma once
#include <cstdint>
#include <vector>

#include "buffer_type.hpp"

namespace sluice::api {

/// The positions of an access's elements in the user's memory, if the memory is not a dense row. Causes are a
/// derived MPI datatype, varm's imap, or both. With both, imap addresses the packed elements.
struct ScatteredBuffer {
  void* user = nullptr;
  BufferType type;
  std::int64_t items = 0;           ///< of type
  std::vector<std::int64_t> count;  ///< shape of the access; empty without imap
  std::vector<std::int64_t> imap;   ///< distance in elements between neighbours of each dimension

  /// Copies the user's memory to a dense row of elements in the access's order.
  void gather(void* dense) const;
  /// Copies the dense row to the user's memory. Memory between the elements is unchanged.
  void scatter(const void* dense) const;
};

}  // namespace sluice::api
