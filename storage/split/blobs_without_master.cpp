#include "sluice/storage/blobs_without_master.hpp"

#include <array>
#include <cstring>
#include <span>

#include "sluice/formats/blobs.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/formats/layout.hpp"
#include "sluice/storage/header_file.hpp"
#include "sluice/storage/process_blob_files.hpp"

namespace sluice::storage {
namespace {

bool is_hdf5(FileSystem& system, const std::string& path) {
  constexpr std::array<unsigned char, 8> signature{0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  std::array<std::byte, signature.size()> start{};
  const auto got = system.open(path, OpenMode::read)->read(0, start);
  return got == start.size() && std::memcmp(start.data(), signature.data(), signature.size()) == 0;
}

}  // namespace

bool are_blobs_without_master(FileSystem& system, const std::string& path) {
  return !system.exists(path) && system.exists(formats::blob_file_path(path, 0));
}

formats::Header made_up_master(FileSystem& system, const std::string& path) {
  const auto first = formats::blob_file_path(path, 0);
  const bool are_of_processes = is_hdf5(system, first);
  auto header = formats::master_of_blob_file(
      are_of_processes ? described_blobs(locate_blobs(system, first), first).header
                       : read_header(*system.open(first, OpenMode::read)).decoded.header,
      are_of_processes, first);
  const int files =
      are_of_processes ? formats::process_blob_file_count(header) : formats::blob_file_count(header);
  if (files == 0)
    throw FormatError(NC_ENOTNC, first, 0, "the number of blob files (num_subfiles) is missing");
  (void)formats::compute_layout(header, {}, nullptr);
  return header;
}

}  // namespace sluice::storage
