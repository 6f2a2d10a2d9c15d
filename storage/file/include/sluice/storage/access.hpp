#pragma once
#include <cstdint>
#include <span>

#include "sluice/formats/hyperslab.hpp"
#include "sluice/formats/types.hpp"

namespace sluice::storage {

/// One put or get of one variable, checked and normalised by the dataset. It has a list of hyperslabs: one
/// for var…varm, any number for varn. Its dense user buffer holds their elements one after the other,
/// row-major. imap and derived MPI types have been resolved. Bounds, modes and NC_ECHAR have been checked.
struct Access {
  int varid = -1;
  std::span<const formats::HyperslabView> slabs;
  void* buffer = nullptr;  ///< a put does not write to the buffer
  formats::Type memory = formats::Type::nat;
  std::int64_t elements = 0;
  bool is_file_order = false;  ///< for a put: the buffer holds the file's bytes (external type, big-endian)
  bool is_taken = false;       ///< for a put: the driver took the data when the request was posted
  int status =
      0;  ///< out: NC_NOERR, NC_ERANGE (data was transferred nevertheless), or the error of this access alone
};

}  // namespace sluice::storage
