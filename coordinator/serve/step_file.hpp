#pragma once
#include <string>
#include <vector>

#include "sluice/formats/header.hpp"
#include "sluice/formats/hyperslab.hpp"
#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::coordinator {

/// A netCDF file that is open for reading: of the classic formats, or netCDF-4 by sluice-netcdf4, a process
/// of its own.
class StepFile {
 public:
  /// Reads the header. Of netCDF-4, dimensions and variables have the names of their groups in front, and
  /// what is no number or has no values is left out. Throws Error.
  StepFile(runtime::FileDescriptor file, std::string name);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const formats::Header& header() const noexcept { return header_; }
  [[nodiscard]] bool is_netcdf4() const noexcept { return is_netcdf4_; }
  /// As they are stored, in row-major order. At most `most_values`. Throws Error.
  [[nodiscard]] std::vector<double> values(int varid, const formats::Hyperslab& slab) const;

  static constexpr std::int64_t most_values = std::int64_t{1} << 21;

 private:
  [[nodiscard]] std::vector<double> classic_values(int varid, const formats::Hyperslab& slab) const;
  [[nodiscard]] std::vector<double> netcdf4_values(int varid, const formats::Hyperslab& slab) const;

  runtime::FileDescriptor file_;
  std::string name_;
  formats::Header header_;
  std::int64_t header_bytes_ = 0;
  bool is_netcdf4_ = false;
};

}  // namespace sluice::coordinator
