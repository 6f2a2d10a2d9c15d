#pragma once
#include <boost/container/small_vector.hpp>
#include <cstdint>

#include "sluice/formats/hyperslab.hpp"

namespace sluice::matcher {

/// A part of a read request served by one write request. Per dimension: which of the read's and of the
/// write's own elements it is (a = read, b = write).
struct Piece {
  std::uint32_t writer = 0;
  bool is_fill = false;
  std::uint64_t sequence = 0;
  std::uint64_t log_offset = 0;  ///< bytes; of the write request's first element
  boost::container::small_vector<formats::CommonRange, 4> ranges;
  boost::container::small_vector<std::int64_t, 4>
      write_count;  ///< counts of the whole write request (its row-major shape in the log)
};

}  // namespace sluice::matcher
