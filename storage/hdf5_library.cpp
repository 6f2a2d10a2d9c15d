#include "sluice/storage/hdf5_library.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <mutex>
#include <string>

#include "sluice/formats/error.hpp"

namespace sluice::storage {
namespace {

constexpr const char* library_name = "libsluice_hdf5.so";

/// The directory of the library or program that this code is in.
std::filesystem::path own_directory() {
  Dl_info facts{};
  if (::dladdr(reinterpret_cast<const void*>(&hdf5_library), &facts) == 0 || facts.dli_fname == nullptr)
    return ".";
  std::error_code error;
  const auto path = std::filesystem::canonical(facts.dli_fname, error);
  // A program is known by the name that it was started with.
  if (error) return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  return path.parent_path();
}

const sluice_hdf5_interface* load() {
  const auto directory = own_directory();
  const std::string advice =
      ": process-centric blobs (sluice_layout=blob-process) need this part of Sluice, "
      "which is built where Debian's libhdf5-openmpi-dev is installed";
  std::filesystem::path found;
  for (const char* place : {".", "../lib", "../" SLUICE_LIBRARY_DIRECTORY}) {
    std::error_code error;
    const auto candidate = (directory / place / library_name).lexically_normal();
    if (found.empty() && std::filesystem::exists(candidate, error)) found = candidate;
  }
  if (found.empty())
    throw Error(NC_ENOTBUILT,
                std::string("there is no ") + library_name + " in " + directory.string() + advice);
  // Not RTLD_DEEPBIND: MPI's predefined handles are where the program has them, and would be others for HDF5.
  void* const library = ::dlopen(found.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr)
    throw Error(NC_ENOTBUILT, found.string() + " cannot be loaded (" + ::dlerror() + ")" + advice +
                                  "; to run it, libhdf5-openmpi-103-1 is enough");
  const auto function = reinterpret_cast<sluice_hdf5_function>(::dlsym(library, SLUICE_HDF5_FUNCTION));
  const auto* const found_interface = function == nullptr ? nullptr : function(SLUICE_HDF5_INTERFACE_VERSION);
  if (found_interface == nullptr)
    throw Error(NC_ENOTBUILT,
                found.string() + " is of another version of Sluice: install both parts together");
  if (found_interface->mistake != nullptr)
    throw Error(NC_ENOTBUILT, found.string() + ": " + found_interface->mistake);
  return found_interface;
}

}  // namespace

const sluice_hdf5_interface& hdf5_library() {
  static std::mutex mutex;
  static const sluice_hdf5_interface* loaded = nullptr;
  const std::lock_guard lock(mutex);
  if (loaded == nullptr) loaded = load();
  return *loaded;
}

std::mutex& hdf5_mutex() noexcept {
  static std::mutex mutex;
  return mutex;
}

}  // namespace sluice::storage
