#include "sluice/storage/header_file.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

namespace sluice::storage {
namespace {

/// Refuses files for other libraries: NC_EFILE for a file that is too short for any format, NC_ENOTBUILT for
/// HDF5.
void check_magic(std::span<const std::byte> start, const std::string& path) {
  constexpr std::array<unsigned char, 8> hdf5{0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  if (start.size() < hdf5.size())
    throw FormatError(NC_EFILE, path, start.size(),
                      "the file ends here; it is too short to be a netCDF file");
  if (std::memcmp(start.data(), hdf5.data(), hdf5.size()) == 0)
    throw FormatError(NC_ENOTBUILT, path, 0,
                      "this is a netCDF-4 (HDF5) file; only CDF-1, CDF-2 and CDF-5 are read");
}

}  // namespace

HeaderOfFile read_header(const File& file, std::int64_t chunk_bytes, formats::Detail detail,
                         formats::AttributeTaker* taker, std::int64_t begin_bytes) {
  const std::int64_t file_bytes = std::max<std::int64_t>(0, file.size_bytes() - begin_bytes);
  HeaderOfFile result;
  auto& prefix = result.bytes;
  for (std::int64_t wanted = chunk_bytes;; wanted *= 8) {
    const auto had = prefix.size();
    prefix.resize(static_cast<std::size_t>(std::min(wanted, file_bytes)));
    const auto got = file.read(begin_bytes + static_cast<std::int64_t>(had), std::span(prefix).subspan(had));
    prefix.resize(had + got);
    if (had == 0) check_magic(prefix, file.path());
    const bool is_whole = static_cast<std::int64_t>(prefix.size()) == file_bytes || got == 0;
    if (auto decoded = formats::decode_header(prefix, is_whole, file_bytes, file.path(), detail, taker)) {
      prefix.resize(static_cast<std::size_t>(decoded->size_bytes));
      result.decoded = std::move(*decoded);
      return result;
    }
    if (is_whole) throw FormatError(NC_ENOTNC, file.path(), prefix.size(), "the file ends within its header");
  }
}

}  // namespace sluice::storage
