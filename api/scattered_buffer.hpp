#pragma once
#include <cstdint>
#include <vector>

#include "buffer_type.hpp"

namespace sluice::api {

/// Where the elements of an access lie in the user's memory when that is not a dense row of them: a derived
/// MPI datatype, or varm's imap, or both (imap then speaks of the packed elements).
struct ScatteredBuffer {
  void* user = nullptr;
  BufferType type;
  std::int64_t items = 0;           ///< of type
  std::vector<std::int64_t> count;  ///< shape of the access; empty without imap
  std::vector<std::int64_t> imap;   ///< distance in elements between neighbours of each dimension

  /// User's memory → dense row of the access's elements in its own order.
  void gather(void* dense) const;
  /// And back. Memory between the elements is left alone.
  void scatter(const void* dense) const;
};

}  // namespace sluice::api
