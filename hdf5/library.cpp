// Files of process-centric blobs by the HDF5 library: docs/formats/blobs-hdf5.md. One file, because it is one
// shared object, which exports one function.
#include <dlfcn.h>
#include <hdf5.h>
#include <mpi.h>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "sluice/storage/hdf5_interface.h"

namespace {

constexpr const char* header_name = "header_blob";
constexpr const char* data_name = "data_blob";

/// The innermost message of HDF5's error stack, which says what was wrong.
std::string last_message() {
  std::string text;
  const auto take = [](unsigned, const H5E_error2_t* error, void* to) -> herr_t {
    if (error->desc != nullptr) *static_cast<std::string*>(to) = error->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, take, &text);
  return text;
}

[[noreturn]] void fail(const std::string& action) {
  throw std::runtime_error("HDF5 could not " + action + ": " + last_message());
}

void check(herr_t result, const char* action) {
  if (result < 0) fail(action);
}

/// The program may use the same HDF5: what it has set about printing errors is its own.
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

/// An id that is closed by that function.
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

/// All metadata is written and read by all ranks together.
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

/// Contiguous, and not filled: all of it is written.
Handle create_dataset(hid_t file, const char* name, hid_t space) {
  const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "make a property list");
  check(H5Pset_layout(creation.get(), H5D_CONTIGUOUS), "choose the layout");
  check(H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER), "leave out the filling");
  return Handle(H5Dcreate2(file, name, H5T_NATIVE_UCHAR, space, H5P_DEFAULT, creation.get(), H5P_DEFAULT),
                H5Dclose, std::string("create ") + name);
}

/// The one collective write.
void write_data(hid_t dataset, hid_t space, const sluice_hdf5_file& file) {
  if (file.all_bytes == 0) return;  // HDF5 cannot write nothing to nothing
  const hsize_t begin = file.data_begin;
  const hsize_t bytes = file.data_bytes;
  const Handle memory = bytes_space(bytes);
  if (bytes == 0) {
    check(H5Sselect_none(space), "select nothing");
    check(H5Sselect_none(memory.get()), "select nothing");
  } else {
    check(H5Sselect_hyperslab(space, H5S_SELECT_SET, &begin, nullptr, &bytes, nullptr), "select a range");
  }
  const Handle transfer = transfer_mode(H5FD_MPIO_COLLECTIVE);
  check(H5Dwrite(dataset, H5T_NATIVE_UCHAR, memory.get(), space, transfer.get(), file.data),
        "write data_blob");
}

void write_header(hid_t dataset, const sluice_hdf5_file& file) {
  int rank = 0;
  MPI_Comm_rank(*static_cast<const MPI_Comm*>(file.comm), &rank);
  if (rank != 0) return;
  const Handle transfer = transfer_mode(H5FD_MPIO_INDEPENDENT);
  check(H5Dwrite(dataset, H5T_NATIVE_UCHAR, H5S_ALL, H5S_ALL, transfer.get(), file.header),
        "write header_blob");
}

void write_file(const sluice_hdf5_file& request) {
  // Closed in the end in any case: what one rank cannot write must not keep the others waiting in H5Fclose.
  const Handle access = parallel_access(request);
  Handle file(H5Fcreate(request.path, H5F_ACC_TRUNC, H5P_DEFAULT, access.get()), H5Fclose,
              std::string("create ") + request.path);
  const Handle header_space = bytes_space(request.header_bytes);
  const Handle data_space = bytes_space(request.all_bytes);
  std::exception_ptr failure;
  {
    const Handle header = create_dataset(file.get(), header_name, header_space.get());
    const Handle data = create_dataset(file.get(), data_name, data_space.get());
    try {
      write_data(data.get(), data_space.get(), request);
      write_header(header.get(), request);
    } catch (...) {
      failure = std::current_exception();
    }
  }
  file.close("close the file");
  if (failure) std::rethrow_exception(failure);
}

/// Where the bytes of a dataset are, and how many.
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
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "make a property list");
  check(H5Pset_fapl_sec2(access.get()), "access files");
  const Handle file(H5Fopen(path, H5F_ACC_RDONLY, access.get()), H5Fclose, "open this as an HDF5 file");
  locate_dataset(file.get(), header_name, places.header_offset, places.header_bytes);
  locate_dataset(file.get(), data_name, places.data_offset, places.data_bytes);
}

/// Runs the work; what it throws becomes a text.
template <class Work>
int told(char* what, size_t what_bytes, const Work& work) noexcept {
  try {
    const QuietErrors quiet;
    work();
    return 0;
  } catch (const std::exception& error) {
    std::snprintf(what, what_bytes, "%s", error.what());
  } catch (...) {
    std::snprintf(what, what_bytes, "an error of no known kind");
  }
  return 1;
}

/// The library that a function is of.
template <class Function>
std::string_view library_of(Function* function) noexcept {
  Dl_info facts{};
  const bool is_known = ::dladdr(reinterpret_cast<const void*>(function), &facts) != 0;
  return is_known && facts.dli_fname != nullptr ? facts.dli_fname : "";
}

/// Debian's flavours of HDF5 have names of their own for the linker. Another one may stand in the way of the
/// parallel one; only that has the function which is compared with.
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
