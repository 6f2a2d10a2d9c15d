#pragma once
#include <functional>
#include <string>

#include "sluice/formats/header.hpp"
#include "sluice/matcher/step_view.hpp"
#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::runtime {

/// Whether the step was written as a netCDF-4 file, by hyperslabs (formats/netcdf4.hpp).
[[nodiscard]] bool is_netcdf4(const matcher::StepView& view) noexcept;

/// Writes the netCDF-4 file of a step to the existing file `path`, by the program sluice-netcdf4.
/// `dataset`: the step as a file of the classic model. `look` is called now and then, and may throw to end
/// the work. Throws Error.
void make_netcdf4_file(const FileDescriptor& dataset, const std::string& path,
                       const std::function<void()>& look);

/// The same, in place of the dataset. Returns the bytes of the file.
std::uint64_t become_netcdf4_file(const FileDescriptor& dataset, const std::function<void()>& look);

}  // namespace sluice::runtime
