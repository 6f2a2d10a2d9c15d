#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "mpi_handles.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/formats/subfile_master.hpp"

namespace sluice::api {

/// Properties of a file that one rank finds for all ranks: the header, and the kind of file system.
struct HeaderProbe {
  formats::DecodedHeader header;
  bool is_local = false;
  bool is_made_up = false;      ///< constructed for blob files without a master file
  std::int64_t file_bytes = 0;  ///< size of the file; not set for a constructed header
};

/// Collective: rank 0 reads the header. Throws IoError or FormatError on all ranks.
[[nodiscard]] HeaderProbe look_together(const Communicator& comm, const std::string& path,
                                        std::int64_t chunk_bytes);

/// Collective: constructs the master header of blob files that have no master file. Throws on all ranks.
[[nodiscard]] HeaderProbe make_up_master_together(const Communicator& comm, const std::string& path);

/// Same as HeaderProbe, for a possible master of subfiles. If the file is a master, only rank 0 has the
/// header, without the parts that `master` took from it.
struct MasterLook {
  HeaderProbe look;
  bool is_master = false;
};
[[nodiscard]] MasterLook look_for_master(const Communicator& comm, const std::string& path,
                                         std::int64_t chunk_bytes, formats::MasterReader& master);

/// The header of each file; one rank reads it and sends it to all ranks. Collective. Throws on all ranks with
/// the text of the rank that failed.
[[nodiscard]] std::vector<HeaderProbe> look_at_all(const Communicator& comm,
                                                   const std::vector<std::string>& paths,
                                                   std::int64_t chunk_bytes, formats::Detail detail);

}  // namespace sluice::api
