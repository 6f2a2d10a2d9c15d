#include "sluice/storage/hdf5_library.hpp"

#include <dlfcn.h>

#include <filesystem>
#include <mutex>
#include <string>

#include "sluice/formats/error.hpp"

namespace sluice::storage {
namespace {

constexpr const char* library_name = "libsluice_hdf5.so";

/// The directory of the library or program that contains this code.
std::filesystem::path own_directory() {
  Dl_info facts{};
  if (::dladdr(reinterpret_cast<const void*>(&hdf5_library), &facts) == 0 || facts.dli_fname == nullptr)
    return ".";
  std::error_code error;
  const auto path = std::filesystem::canonical(facts.dli_fname, error);
  // The loader knows a program only by the name at its start.
  if (error) return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  return path.parent_path();
}

const sluice_hdf5_interface* load() {
  const auto directory = own_directory();
  const std::string advice =
      ". Process-centric blobs (sluice_layout=blob-process) need this part of Sluice. ";
  std::filesystem::path found;
  for (const char* place : {".", "../lib", "../" SLUICE_LIBRARY_DIRECTORY}) {
    std::error_code error;
    const auto candidate = (directory / place / library_name).lexically_normal();
    if (found.empty() && std::filesystem::exists(candidate, error)) found = candidate;
  }
  if (found.empty())
    throw Error(NC_ENOTBUILT, std::string("there is no ") + library_name + " in " + directory.string() +
                                  advice + "To build it, install Debian's libhdf5-openmpi-dev");
  // Without RTLD_DEEPBIND: HDF5 must use MPI's predefined handles of the program, and would otherwise find
  // others.
  void* const library = ::dlopen(found.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr)
    throw Error(NC_ENOTBUILT,
                found.string() + " cannot be loaded (" + ::dlerror() + ")" + advice +
                    "To run it, install libhdf5-openmpi-103-1; to build it, libhdf5-openmpi-dev");
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
