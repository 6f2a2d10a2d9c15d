#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "mpi_handles.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/formats/subfile_master.hpp"

namespace sluice::api {

/// What one rank finds out about a file for all: its header, and on what kind of file system it is.
struct FirstLook {
  formats::DecodedHeader header;
  bool is_local = false;
  bool is_made_up = false;      ///< of blob files without a master: what it would say
  std::int64_t file_bytes = 0;  ///< of the file, unless it is made up
};

/// Collective: rank 0 reads the header. Throws on all ranks: IoError, FormatError.
[[nodiscard]] FirstLook look_together(const Communicator& comm, const std::string& path,
                                      std::int64_t chunk_bytes);

/// Collective: the master of blob files that have none. Throws on all ranks.
[[nodiscard]] FirstLook make_up_master_together(const Communicator& comm, const std::string& path);

/// The same for what may be a master of subfiles; where it is one, rank 0 alone has the header, without what
/// `master` has read on it.
struct MasterLook {
  FirstLook look;
  bool is_master = false;
};
[[nodiscard]] MasterLook look_for_master(const Communicator& comm, const std::string& path,
                                         std::int64_t chunk_bytes, formats::MasterReader& master);

/// The header of each file, read by one rank each and given to all. Collective; throws on all ranks, with the
/// text of the rank that failed.
[[nodiscard]] std::vector<FirstLook> look_at_all(const Communicator& comm,
                                                 const std::vector<std::string>& paths,
                                                 std::int64_t chunk_bytes, formats::Detail detail);

}  // namespace sluice::api
