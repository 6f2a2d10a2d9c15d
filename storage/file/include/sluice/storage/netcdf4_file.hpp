#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "sluice/storage/file_descriptor.hpp"
#include "sluice/storage/partial_file.hpp"

namespace sluice::storage {

/// The path of sluice-netcdf4: beside this program, or where the matcher is installed for `sluice`.
[[nodiscard]] std::string netcdf4_program();

/// Writes the netCDF-4 file of a step to the existing file `path`, by the program sluice-netcdf4.
/// `dataset`: the step as a file of the classic model. `look` is called now and then, and may throw to end
/// the work. Throws Error.
void make_netcdf4_file(const FileDescriptor& dataset, const std::string& path,
                       const std::function<void()>& look);

/// The same for a dataset that is a partial file: makes another one, which has been synced, for its target.
[[nodiscard]] std::unique_ptr<PartialFile> make_netcdf4_file(FileSystem& system, const PartialFile& dataset,
                                                             const std::function<void()>& look);

/// The same, in place of the dataset. Returns the bytes of the file.
std::uint64_t become_netcdf4_file(const FileDescriptor& dataset, const std::function<void()>& look);

}  // namespace sluice::storage
