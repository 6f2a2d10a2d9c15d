// Writes files of process-centric blobs with the HDF5 library: docs/formats/blobs-hdf5.md. This is a single
// source file, because it becomes a single shared object that exports one function.
#include <dlfcn.h>
#include <fcntl.h>
#include <hdf5.h>
#include <mpi.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "sluice/storage/hdf5_interface.h"

namespace {

constexpr const char* header_name = "header_blob";
constexpr const char* data_name = "data_blob";

/// The innermost message of HDF5's error stack, which names the cause.
std::string last_message() {
  std::string text;
  const auto take = [](unsigned, const H5E_error2_t* error, void* to) -> herr_t {
    if (error->desc != nullptr) *static_cast<std::string*>(to) = error->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, take, &text);
  return text;
}

/// A failure, and the errno of the system if there is one.
struct Failure : std::runtime_error {
  Failure(const std::string& what, int number) : std::runtime_error(what), error_number(number) {}
  int error_number;
};

[[noreturn]] void fail(const std::string& action) {
  const auto message = last_message();
  // HDF5 reports the errno only in its text.
  constexpr std::string_view before = "errno = ";
  const auto at = message.find(before);
  const int number = at == std::string::npos ? 0 : std::atoi(message.c_str() + at + before.size());
  throw Failure("HDF5 could not " + action + ": " + message, number);
}

void check(herr_t result, const char* action) {
  if (result < 0) fail(action);
}

/// Silences HDF5's error messages while it lives. Restores the program's own setting afterwards, because the
/// program may use the same HDF5.
class QuietErrors {
 public:
  QuietErrors() {
    H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  ~QuietErrors() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }
  QuietErrors(const QuietErrors&) = delete;
  QuietErrors& operator=(const QuietErrors&) = delete;

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

/// Owns an HDF5 id; closes it with the given function.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t), const std::string& action) : id_(id), close_(close) {
    if (id < 0) fail(action);
  }
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&&) = delete;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  [[nodiscard]] hid_t get() const noexcept { return id_; }
  void close(const char* action) { check(close_(std::exchange(id_, -1)), action); }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

/// All ranks write and read all metadata collectively.
Handle parallel_access(const sluice_hdf5_file& file) {
  Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "make a property list");
  check(H5Pset_fapl_mpio(access.get(), *static_cast<const MPI_Comm*>(file.comm),
                         *static_cast<const MPI_Info*>(file.info)),
        "use MPI");
  check(H5Pset_all_coll_metadata_ops(access.get(), true), "access metadata collectively");
  check(H5Pset_coll_metadata_write(access.get(), true), "write metadata collectively");
  return access;
}

Handle transfer_mode(H5FD_mpio_xfer_t mode) {
  Handle transfer(H5Pcreate(H5P_DATASET_XFER), H5Pclose, "make a property list");
  check(H5Pset_dxpl_mpio(transfer.get(), mode), "choose how to write");
  return transfer;
}

Handle bytes_space(hsize_t bytes) {
  return Handle(H5Screate_simple(1, &bytes, nullptr), H5Sclose, "describe a range of bytes");
}

/// Creates a contiguous dataset without fill values, because every byte is written later. Its space is
/// allocated at once.
Handle create_dataset(hid_t file, const char* name, hsize_t bytes) {
  const Handle space = bytes_space(bytes);
  const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "make a property list");
  check(H5Pset_layout(creation.get(), H5D_CONTIGUOUS), "choose the layout");
  check(H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY), "choose when to allocate");
  check(H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER), "leave out the filling");
  return Handle(
      H5Dcreate2(file, name, H5T_NATIVE_UCHAR, space.get(), H5P_DEFAULT, creation.get(), H5P_DEFAULT),
      H5Dclose, std::string("create ") + name);
}

/// Selects this rank's part of data_blob, in the file and in memory.
void select_part(hid_t space, hid_t memory, const sluice_hdf5_file& request) {
  const hsize_t begin = request.data_begin;
  const hsize_t bytes = request.data_bytes;
  if (bytes == 0) {
    check(H5Sselect_none(space), "select nothing");
    check(H5Sselect_none(memory), "select nothing");
  } else {
    check(H5Sselect_hyperslab(space, H5S_SELECT_SET, &begin, nullptr, &bytes, nullptr), "select a range");
  }
}

Handle plain_access() {
  Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "make a property list");
  check(H5Pset_fapl_sec2(access.get()), "access files");
  return access;
}

/// Creates the file with both datasets in one process, without MPI. Writes the bytes of the header dataset.
/// Returns the offset of data_blob.
std::uint64_t create_file(const sluice_hdf5_file& request) {
  const Handle access = plain_access();
  Handle file(H5Fcreate(request.path, H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose,
              std::string("create ") + request.path);
  std::uint64_t begin = 0;
  {
    const Handle header = create_dataset(file.get(), header_name, request.header_bytes);
    const Handle data = create_dataset(file.get(), data_name, request.all_bytes);
    check(H5Dwrite(header.get(), H5T_NATIVE_UCHAR, H5S_ALL, H5S_ALL, H5P_DEFAULT, request.header),
          "write header_blob");
    if (request.all_bytes > 0) begin = H5Dget_offset(data.get());
  }
  file.close("close the file");
  return begin;
}

/// Reserves disk space for this process's part, if the file system supports that.
void reserve(const sluice_hdf5_file& request, std::uint64_t data_offset) {
  if (request.data_bytes == 0) return;
  const int file = ::open(request.path, O_WRONLY | O_CLOEXEC);
  if (file < 0) throw Failure(std::string("cannot open ") + request.path, errno);
  const auto begin = static_cast<off_t>(data_offset + request.data_begin);
  int result = 0;
  do {
    result = ::fallocate(file, FALLOC_FL_KEEP_SIZE, begin, static_cast<off_t>(request.data_bytes));
  } while (result != 0 && errno == EINTR);
  const int number = result == 0 ? 0 : errno;
  ::close(file);
  const bool is_possible = number != EOPNOTSUPP && number != ENOSYS && number != ENODEV && number != EINVAL;
  if (number != 0 && is_possible)
    throw Failure(std::string("cannot reserve space for data_blob: ") + std::strerror(number), number);
}

/// Collective: runs `work` on all ranks. If `work` fails on any rank, throws on all ranks.
template <class Work>
void together(MPI_Comm comm, const Work& work) {
  constexpr int no_number = -1;
  std::exception_ptr failure;
  int number = 0;
  try {
    work();
  } catch (const Failure& error) {
    failure = std::current_exception();
    number = error.error_number > 0 ? error.error_number : no_number;
  } catch (...) {
    failure = std::current_exception();
    number = no_number;
  }
  // An error with an errno takes precedence over one without.
  std::array<int, 2> worst{number != 0 ? 1 : 0, number};
  MPI_Allreduce(MPI_IN_PLACE, worst.data(), 2, MPI_INT, MPI_MAX, comm);
  if (failure) std::rethrow_exception(failure);
  if (worst[0] != 0) throw Failure("another process could not write its part", worst[1]);
}

/// Writes all data in one collective call.
void write_data(const sluice_hdf5_file& request) {
  if (request.all_bytes == 0) return;  // HDF5 cannot write an empty selection of an empty dataset
  const Handle access = parallel_access(request);
  // Closes the file in every case: a rank that cannot write must not keep the others waiting in H5Fclose.
  Handle file(H5Fopen(request.path, H5F_ACC_RDWR, access.get()), H5Fclose,
              std::string("open ") + request.path);
  std::exception_ptr failure;
  {
    const Handle dataset(H5Dopen2(file.get(), data_name, H5P_DEFAULT), H5Dclose, "open data_blob");
    const Handle space = bytes_space(request.all_bytes);
    const Handle memory = bytes_space(request.data_bytes);
    try {
      select_part(space.get(), memory.get(), request);
      const Handle transfer = transfer_mode(H5FD_MPIO_COLLECTIVE);
      check(
          H5Dwrite(dataset.get(), H5T_NATIVE_UCHAR, memory.get(), space.get(), transfer.get(), request.data),
          "write data_blob");
    } catch (...) {
      failure = std::current_exception();
    }
  }
  file.close("close the file");
  if (failure) std::rethrow_exception(failure);
}

/// The collective part does nothing that may fail for lack of space. If HDF5 cannot write on one rank, other
/// ranks may wait in HDF5 forever. If MPI writes less than requested, HDF5 reports no error.
void write_file(const sluice_hdf5_file& request) {
  const MPI_Comm comm = *static_cast<const MPI_Comm*>(request.comm);
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  std::uint64_t data_offset = 0;
  together(comm, [&] {
    if (rank == 0) data_offset = create_file(request);
  });
  MPI_Bcast(&data_offset, 1, MPI_UINT64_T, 0, comm);
  together(comm, [&] { reserve(request, data_offset); });
  write_data(request);
}

/// The offset and the number of the bytes of a dataset.
void locate_dataset(hid_t file, const char* name, std::uint64_t& offset, std::uint64_t& bytes) {
  const Handle dataset(H5Dopen2(file, name, H5P_DEFAULT), H5Dclose, std::string("open the dataset ") + name);
  const Handle space(H5Dget_space(dataset.get()), H5Sclose, "tell the size of a dataset");
  const Handle type(H5Dget_type(dataset.get()), H5Tclose, "tell the type of a dataset");
  const Handle creation(H5Dget_create_plist(dataset.get()), H5Pclose, "tell the layout of a dataset");
  const auto refuse = [&](const char* what) { throw std::runtime_error(std::string(name) + what); };
  if (H5Sget_simple_extent_ndims(space.get()) != 1 || H5Tget_size(type.get()) != 1)
    refuse(" is no row of bytes");
  hsize_t length = 0;
  check(H5Sget_simple_extent_dims(space.get(), &length, nullptr), "tell the size of a dataset");
  bytes = length;
  offset = 0;
  if (length == 0) return;
  const haddr_t address = H5Dget_offset(dataset.get());
  if (H5Pget_layout(creation.get()) != H5D_CONTIGUOUS || address == HADDR_UNDEF)
    refuse(" is not contiguous: it is not as it was written");
  offset = address;
}

void locate_file(const char* path, sluice_hdf5_places& places) {
  const Handle access = plain_access();
  const Handle file(H5Fopen(path, H5F_ACC_RDONLY, access.get()), H5Fclose, "open this as an HDF5 file");
  locate_dataset(file.get(), header_name, places.header_offset, places.header_bytes);
  locate_dataset(file.get(), data_name, places.data_offset, places.data_bytes);
}

/// Runs `work`; turns an exception into a text.
template <class Work>
int told(char* what, size_t what_bytes, const Work& work) noexcept {
  try {
    const QuietErrors quiet;
    work();
    return 0;
  } catch (const Failure& error) {
    std::snprintf(what, what_bytes, "%s", error.what());
    return error.error_number > 0 ? error.error_number : -1;
  } catch (const std::exception& error) {
    std::snprintf(what, what_bytes, "%s", error.what());
  } catch (...) {
    std::snprintf(what, what_bytes, "an error of no known kind");
  }
  return -1;
}

/// The library that contains a function.
template <class Function>
std::string_view library_of(Function* function) noexcept {
  Dl_info facts{};
  const bool is_known = ::dladdr(reinterpret_cast<const void*>(function), &facts) != 0;
  return is_known && facts.dli_fname != nullptr ? facts.dli_fname : "";
}

/// Names another HDF5 library that hides the parallel one, if there is one. Debian's flavours of HDF5 have
/// their own names for the linker; only the parallel flavour has the function that this code compares.
const char* clash() noexcept {
  const auto parallel = library_of(&H5Pset_fapl_mpio);
  const bool is_hidden = library_of(&H5Fcreate) != parallel || library_of(&H5Dwrite) != parallel ||
                         library_of(&H5open) != parallel;
  return is_hidden ? "the program uses another HDF5 library, which hides the one with MPI from Sluice"
                   : nullptr;
}

int write(const sluice_hdf5_file* file, char* what, size_t what_bytes) {
  return told(what, what_bytes, [&] { write_file(*file); });
}

int locate(const char* path, sluice_hdf5_places* places, char* what, size_t what_bytes) {
  return told(what, what_bytes, [&] { locate_file(path, *places); });
}

}  // namespace

extern "C" [[gnu::visibility("default")]] const sluice_hdf5_interface* sluice_hdf5(int version);

const sluice_hdf5_interface* sluice_hdf5(int version) {
  static const sluice_hdf5_interface functions{clash(), write, locate};
  return version == SLUICE_HDF5_INTERFACE_VERSION ? &functions : nullptr;
}
