#pragma once
#include <cstdint>
#include <map>
#include <string>

namespace sluice::api {

/// Settings for the access to an ordinary file: from the hints, with defaults for its file system.
struct FileOptions {
  enum class Exchange { automatic, always, never };

  std::int64_t window_bytes = std::int64_t{4} << 20;  ///< an aggregator's staging window (cb_buffer_size)
  /// Staging for accesses without exchange. The size fits in a core's cache.
  std::int64_t direct_bytes = std::int64_t{256} << 10;
  std::int64_t alignment_bytes = 4096;                        ///< of aggregators' domains (striping_unit)
  std::int64_t move_bytes = std::int64_t{4} << 20;            ///< per rank and step (nc_data_move_chunk_size)
  std::int64_t header_chunk_bytes = std::int64_t{256} << 10;  ///< nc_header_read_chunk_size
  std::int64_t gap_bytes = 4096;                              ///< gaps up to this size are read along
  std::int64_t fill_gap_bytes = 4096;  ///< same for fills of records; these gaps are read and written back
  // Costs, in bytes that could be copied in the same time.
  std::int64_t access_cost = 4096;                   ///< one more access to the file
  std::int64_t byte_cost = 1;                        ///< one byte that is read but not requested
  std::int64_t extent_cost = 256;                    ///< one extent that passes through an exchange
  std::int64_t exchange_cost = 256 << 10;            ///< any exchange
  std::size_t batch_extents = std::size_t{1} << 18;  ///< extents per batch; bounds the memory for lists
  int aggregators = 0;                               ///< on all ranks (cb_nodes); 0: not set
  int aggregators_per_node = 0;                      ///< nc_num_aggrs_per_node; 0: not set
  Exchange put_exchange = Exchange::automatic;       ///< romio_cb_write
  Exchange get_exchange = Exchange::automatic;       ///< romio_cb_read
};

/// Ignores invalid values, as MPI does with hints.
[[nodiscard]] FileOptions file_options(const std::map<std::string, std::string>& hints,
                                       bool is_on_local_file_system);

}  // namespace sluice::api
