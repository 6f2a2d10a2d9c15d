#include "file_handle.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "sluice/storage/file_descriptor.hpp"
#include "sluice/storage/posix_file_system.hpp"

namespace sluice::api {
namespace {

/// The limit of one MPI-IO call, because counts are int.
constexpr std::size_t largest_transfer_bytes = std::size_t{1} << 30;

/// Open MPI 4.1 overruns a buffer of 256 bytes that holds the path and ".lockedfile".
constexpr std::size_t longest_safe_path = 240;

/// Opens for reading and writing, or with the access that permissions allow. Returns an empty descriptor on
/// failure.
storage::FileDescriptor open_or_create(const std::string& path, int creation) noexcept {
  for (const int access : {O_RDWR, O_RDONLY}) {
    int number = -1;
    do number = ::open(path.c_str(), access | creation | O_CLOEXEC, 0666);
    while (number < 0 && errno == EINTR);
    if (number >= 0) return storage::FileDescriptor(number);
  }
  return {};
}

int open_code(const Communicator& comm, const std::string& path, int mode, MPI_Info info, MPI_File& file) {
  if (path.size() <= longest_safe_path) return MPI_File_open(comm.get(), path.c_str(), mode, info, &file);
  // A short name for the same file. Rank 0 creates the file; its descriptor must stay open until MPI has
  // opened the file.
  const int creation =
      ((mode & MPI_MODE_CREATE) != 0 ? O_CREAT : 0) | ((mode & MPI_MODE_EXCL) != 0 ? O_EXCL : 0);
  storage::FileDescriptor mine;
  if (comm.is_root()) mine = open_or_create(path, creation);
  check_mpi(MPI_Barrier(comm.get()), "wait for the file's creation");
  if (!comm.is_root()) mine = open_or_create(path, 0);
  int can_all = mine ? 1 : 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &can_all, 1, MPI_INT, MPI_MIN, comm.get()), "agree on a status");
  if (can_all == 0) return MPI_ERR_NO_SUCH_FILE;
  const auto name = "/proc/self/fd/" + std::to_string(mine.number());
  return MPI_File_open(comm.get(), name.c_str(), mode & ~(MPI_MODE_CREATE | MPI_MODE_EXCL), info, &file);
}

}  // namespace

FileHandle FileHandle::open(const Communicator& comm, const std::string& path, int mode, MPI_Info info) {
  FileHandle result;
  result.path_ = path;
  check_mpi(open_code(comm, path, mode, info, result.file_), "open " + path, NC_EFILE);
  check_mpi(MPI_File_set_errhandler(result.file_, MPI_ERRORS_RETURN), "set the error handler of a file");
  return result;
}

FileHandle::~FileHandle() {
  if (file_ != MPI_FILE_NULL && is_mpi_active()) MPI_File_close(&file_);
}

void FileHandle::read(std::int64_t offset_bytes, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), largest_transfer_bytes));
    MPI_Status status;
    check_mpi(
        MPI_File_read_at(file_, offset_bytes, part.data(), static_cast<int>(part.size()), MPI_BYTE, &status),
        "read " + path_, NC_EREAD);
    int count = 0;
    check_mpi(MPI_Get_count(&status, MPI_BYTE, &count), "count the bytes read from " + path_);
    const auto got = count == MPI_UNDEFINED ? std::size_t{0} : static_cast<std::size_t>(count);
    if (got < part.size()) {
      std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(got), bytes.end(), std::byte{0});
      return;
    }
    offset_bytes += static_cast<std::int64_t>(part.size());
    bytes = bytes.subspan(part.size());
  }
}

void FileHandle::write(std::int64_t offset_bytes, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(bytes.size(), largest_transfer_bytes));
    MPI_Status status;
    check_mpi(
        MPI_File_write_at(file_, offset_bytes, part.data(), static_cast<int>(part.size()), MPI_BYTE, &status),
        "write " + path_, NC_EWRITE);
    int count = 0;
    check_mpi(MPI_Get_count(&status, MPI_BYTE, &count), "count the bytes written to " + path_);
    // Open MPI counts the written bytes, but does not say why a write was incomplete.
    if (count != static_cast<int>(part.size())) {
      throw storage::is_out_of_space(path_, part.size())
          ? Error(NC_ENO_SPACE, "no space is left for " + path_)
          : Error(NC_EWRITE, "only a part could be written to " + path_);
    }
    offset_bytes += static_cast<std::int64_t>(part.size());
    bytes = bytes.subspan(part.size());
  }
}

std::int64_t FileHandle::size_bytes() const {
  MPI_Offset size = 0;
  check_mpi(MPI_File_get_size(file_, &size), "ask for the size of " + path_, NC_EFILE);
  return size;
}

void FileHandle::resize(std::int64_t size_bytes) const {
  check_mpi(MPI_File_set_size(file_, size_bytes), "lengthen " + path_, NC_EWRITE);
}

void FileHandle::sync() const {
  check_mpi(MPI_File_sync(file_), "sync " + path_, NC_EFILE);
}

void FileHandle::close() {
  if (file_ != MPI_FILE_NULL) check_mpi(MPI_File_close(&file_), "close " + path_, NC_EFILE);
}

std::map<std::string, std::string> FileHandle::hints() const {
  MPI_Info info = MPI_INFO_NULL;
  check_mpi(MPI_File_get_info(file_, &info), "tell the hints of " + path_, NC_EFILE);
  auto hints = InfoHandle::adopt(info).entries();
  // PnetCDF's hints are passed along; MPI-IO does not know whether they are in force.
  std::erase_if(hints, [](const auto& hint) {
    return hint.first.starts_with("nc_") || hint.first.starts_with("pnetcdf_");
  });
  return hints;
}

void FileHandle::swap(FileHandle& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(path_, other.path_);
}

}  // namespace sluice::api
