#pragma once
#include <cstdint>
#include <map>
#include <string>

namespace sluice::api {

/// How an ordinary file is accessed; from the hints, with defaults for the file system it is on.
struct FileOptions {
  enum class Exchange { automatic, always, never };

  std::int64_t window_bytes = std::int64_t{4} << 20;  ///< an aggregator's staging window (cb_buffer_size)
  /// Staging for accesses without exchange: small enough to stay in a core's cache.
  std::int64_t direct_bytes = std::int64_t{256} << 10;
  std::int64_t alignment_bytes = 4096;              ///< of aggregators' domains (striping_unit)
  std::int64_t move_bytes = std::int64_t{4} << 20;  ///< moved at once by a rank (nc_data_move_chunk_size)
  std::int64_t header_chunk_bytes = std::int64_t{256} << 10;  ///< nc_header_read_chunk_size
  std::int64_t gap_bytes = 4096;                              ///< gaps up to this are read along
  std::int64_t fill_gap_bytes = 4096;  ///< and when records are filled, read and written back
  // What things cost, in bytes that could be copied in the same time.
  std::int64_t access_cost = 4096;                   ///< one more access to the file
  std::int64_t byte_cost = 1;                        ///< a byte that is read although it was not asked for
  std::int64_t extent_cost = 256;                    ///< an extent that goes through an exchange
  std::int64_t exchange_cost = 256 << 10;            ///< exchanging anything at all
  std::size_t batch_extents = std::size_t{1} << 18;  ///< handled at once; bounds the memory for lists
  int aggregators = 0;                               ///< of all ranks (cb_nodes); 0: not said
  int aggregators_per_node = 0;                      ///< nc_num_aggrs_per_node; 0: not said
  Exchange put_exchange = Exchange::automatic;       ///< romio_cb_write
  Exchange get_exchange = Exchange::automatic;       ///< romio_cb_read
};

/// Values that make no sense are left out, as MPI does with hints.
[[nodiscard]] FileOptions file_options(const std::map<std::string, std::string>& hints,
                                       bool is_on_local_file_system);

}  // namespace sluice::api
