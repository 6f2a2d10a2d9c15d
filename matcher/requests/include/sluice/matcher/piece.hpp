#pragma once
#include <boost/container/small_vector.hpp>
#include <cstdint>

#include "sluice/formats/hyperslab.hpp"

namespace sluice::matcher {

/// The part of a read request that one write request serves. For each dimension it holds the element numbers
/// within the read and within the write (a = read, b = write).
struct Piece {
  std::uint32_t writer = 0;
  bool is_fill = false;
  std::uint64_t sequence = 0;
  std::uint64_t log_offset = 0;  ///< in bytes; of the write request's first element
  boost::container::small_vector<formats::CommonRange, 4> ranges;
  boost::container::small_vector<std::int64_t, 4>
      write_count;  ///< counts of the whole write request (its row-major shape in the log)
};

}  // namespace sluice::matcher
