#pragma once
#include <cstdint>
#include <span>

#include "sluice/formats/hyperslab.hpp"
#include "sluice/formats/types.hpp"

namespace sluice::storage {

/// One put or get of one variable, checked and normalised by the dataset: a list of hyperslabs (one for
/// var…varm, any number for varn) and one dense user buffer that holds their elements one after the other,
/// row-major. imap and derived MPI types have been resolved; bounds, modes and NC_ECHAR have been checked.
struct Access {
  int varid = -1;
  std::span<const formats::HyperslabView> slabs;
  void* buffer = nullptr;  ///< not written by a put
  formats::Type memory = formats::Type::nat;
  std::int64_t elements = 0;
  bool is_file_order = false;  ///< of a put: the buffer holds the file's bytes (external type, big-endian)
  bool is_taken = false;       ///< of a put: the driver has had it since it was posted
  int status =
      0;  ///< out: NC_NOERR, NC_ERANGE (data was transferred all the same), or the error of this access alone
};

}  // namespace sluice::storage
