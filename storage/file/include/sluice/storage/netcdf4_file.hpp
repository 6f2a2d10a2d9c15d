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

/// A file for the dataset of a netCDF-4 file: in memory or on disk, as the other one.
[[nodiscard]] FileDescriptor make_scratch_file(const FileDescriptor& beside);

/// Writes the netCDF-4 file of a step to `file`, by the program sluice-netcdf4, and returns its bytes.
/// `dataset`: the step as a file of the classic model, of no use afterwards. `look` is called now and then,
/// and may throw to end the work. Throws Error.
std::uint64_t make_netcdf4_file(const FileDescriptor& dataset, const FileDescriptor& file,
                                const std::function<void()>& look);

/// The same for a dataset that is a partial file: makes another one, which has been synced, for its target.
[[nodiscard]] std::unique_ptr<PartialFile> make_netcdf4_file(FileSystem& system, const PartialFile& dataset,
                                                             const std::function<void()>& look);

}  // namespace sluice::storage
