// Creating and opening ordinary files: create_file, open_file and delete_file of open_driver.hpp.
#include <array>
#include <cstring>
#include <vector>

#include "agreement.hpp"
#include "file_driver.hpp"
#include "open_driver.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/storage/posix_file_system.hpp"

namespace sluice::api {
namespace {

/// What rank 0 finds out for all: the bytes of the header, and on what kind of file system they are.
struct FirstLook {
  formats::DecodedHeader header;
  std::string header_bytes;
  bool is_local = false;
};

/// Refuses what is not for this library: NC_EFILE for a file too short to be anything, NC_ENOTBUILT for HDF5.
void check_magic(std::span<const std::byte> start, const std::string& path) {
  constexpr std::array<unsigned char, 8> hdf5{0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
  if (start.size() < hdf5.size())
    throw FormatError(NC_EFILE, path, start.size(),
                      "the file ends here; it is too short to be a netCDF file");
  if (std::memcmp(start.data(), hdf5.data(), hdf5.size()) == 0)
    throw FormatError(NC_ENOTBUILT, path, 0,
                      "this is a netCDF-4 (HDF5) file; only CDF-1, CDF-2 and CDF-5 are read");
}

/// Reads the header in chunks until it is whole. Throws IoError, FormatError.
FirstLook read_header(const std::string& path, std::int64_t chunk_bytes) {
  const auto file = storage::PosixFileSystem().open(path, storage::OpenMode::read);
  const std::int64_t file_bytes = file->size_bytes();
  std::vector<std::byte> prefix;
  for (std::int64_t wanted = chunk_bytes;; wanted *= 2) {
    const auto had = prefix.size();
    prefix.resize(static_cast<std::size_t>(std::min(wanted, file_bytes)));
    const auto got = file->read(static_cast<std::int64_t>(had), std::span(prefix).subspan(had));
    prefix.resize(had + got);
    if (had == 0) check_magic(prefix, path);
    const bool is_whole = static_cast<std::int64_t>(prefix.size()) == file_bytes || got == 0;
    if (auto decoded = formats::decode_header(prefix, is_whole, file_bytes, path)) {
      FirstLook look;
      look.header_bytes.assign(reinterpret_cast<const char*>(prefix.data()),
                               static_cast<std::size_t>(decoded->size_bytes));
      look.header = std::move(*decoded);
      look.is_local = storage::is_on_local_file_system(path);
      return look;
    }
    if (is_whole) throw FormatError(NC_ENOTNC, path, prefix.size(), "the file ends within its header");
  }
}

/// Collective: rank 0's value on all ranks.
bool broadcast_flag(const Communicator& comm, bool flag) {
  int value = flag ? 1 : 0;
  if (comm.size() > 1) check_mpi(MPI_Bcast(&value, 1, MPI_INT, 0, comm.get()), "broadcast");
  return value != 0;
}

FirstLook look_together(const OpenRequest& request, const std::string& path, std::int64_t chunk_bytes) {
  FirstLook look;
  together(request.comm, [&] {
    if (request.comm.is_root()) look = read_header(path, chunk_bytes);
  });
  broadcast(request.comm, look.header_bytes);
  look.is_local = broadcast_flag(request.comm, look.is_local);
  together(request.comm, [&] {
    if (request.comm.is_root()) return;
    const auto bytes = std::as_bytes(std::span(look.header_bytes));
    // The size of the file is not known here; rank 0 has checked against it.
    auto decoded = formats::decode_header(bytes, true, -1, path);
    if (!decoded) throw FormatError(NC_ENOTNC, path, bytes.size(), "the header ends here");
    look.header = std::move(*decoded);
  });
  // That of a file that was being streamed follows from its size.
  if (request.comm.size() > 1)
    check_mpi(MPI_Bcast(&look.header.header.record_count, 1, MPI_INT64_T, 0, request.comm.get()),
              "broadcast the number of records");
  return look;
}

/// Collective: MPI_File_open, failing on all ranks when it fails on any.
FileHandle open_together(const OpenRequest& request, const std::string& path, int mode) {
  FileHandle file;
  together(request.comm, [&] { file = FileHandle::open(request.comm, path, mode, request.info); });
  return file;
}

}  // namespace

OpenedDriver create_file(const OpenRequest& request) {
  const std::string path = storage::without_prefix(request.path);
  bool is_local = false;
  together(request.comm, [&] {
    if (!request.comm.is_root()) return;
    storage::prepare_creation(path, request.keeps_existing());
    is_local = storage::is_on_local_file_system(path);
  });
  is_local = broadcast_flag(request.comm, is_local);
  const int exclusive = request.keeps_existing() ? MPI_MODE_EXCL : 0;
  FileHandle file = open_together(request, path, MPI_MODE_RDWR | MPI_MODE_CREATE | exclusive);

  OpenedDriver opened;
  opened.hints = file.hints();
  FileDriver::Facts facts;
  facts.is_writable = true;
  facts.is_shared = request.is_shared();
  opened.driver = std::make_unique<FileDriver>(request.comm, std::move(file),
                                               file_options(request.hints, is_local), facts);
  return opened;
}

OpenedDriver open_file(const OpenRequest& request) {
  const std::string path = storage::without_prefix(request.path);
  FirstLook look = look_together(request, path, file_options(request.hints, true).header_chunk_bytes);
  FileHandle file = open_together(request, path, request.writes() ? MPI_MODE_RDWR : MPI_MODE_RDONLY);

  OpenedDriver opened;
  opened.hints = file.hints();
  opened.header = std::move(look.header.header);
  // As PnetCDF says it: what the header would take up if it were written now.
  opened.layout = formats::layout_of(opened.header, formats::encoded_size(opened.header));
  FileDriver::Facts facts;
  facts.version = opened.header.version;
  facts.record_count = opened.header.record_count;
  facts.is_writable = request.writes();
  facts.is_shared = request.is_shared();
  opened.driver = std::make_unique<FileDriver>(request.comm, std::move(file),
                                               file_options(request.hints, look.is_local), facts);
  return opened;
}

void delete_file(const std::string& path, MPI_Info) {
  storage::PosixFileSystem().remove(storage::without_prefix(path));
}

}  // namespace sluice::api
