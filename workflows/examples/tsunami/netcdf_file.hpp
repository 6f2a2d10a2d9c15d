#pragma once
#include <mpi.h>
#include <pnetcdf.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace tsunami {

/// A failed PnetCDF call: the file, the attempted action, and the library's text.
class FileError : public std::runtime_error {
 public:
  FileError(const std::string& path, const std::string& action, int status);
  [[nodiscard]] int status() const noexcept { return status_; }

 private:
  int status_;
};

/// An open netCDF file. Opening, creating and close() are collective over the communicator.
class NetcdfFile {
 public:
  static NetcdfFile create(MPI_Comm comm, const std::string& path);
  static NetcdfFile open(MPI_Comm comm, const std::string& path);
  NetcdfFile(NetcdfFile&& other) noexcept;
  NetcdfFile& operator=(NetcdfFile&&) = delete;
  ~NetcdfFile();

  [[nodiscard]] int id() const noexcept { return ncid_; }
  /// Closes the file and reports errors, which the destructor has to ignore.
  void close();
  /// Throws FileError when `status` is an error; `action` says what was attempted.
  void check(int status, const std::string& action) const;

  int define_dimension(const std::string& name, MPI_Offset length);
  /// `dimensions`: ids, slowest first.
  int define_variable(const std::string& name, nc_type type, const std::vector<int>& dimensions);
  /// Text attribute; `variable` may be NC_GLOBAL.
  void attribute(int variable, const std::string& name, const std::string& value);
  void end_definitions();

  [[nodiscard]] int variable(const std::string& name) const;
  [[nodiscard]] MPI_Offset dimension_length(const std::string& name) const;
  /// A whole one-dimensional variable. Collective.
  [[nodiscard]] std::vector<double> read_axis(const std::string& name) const;

 private:
  NetcdfFile(int ncid, std::string path) : ncid_(ncid), path_(std::move(path)) {}
  int ncid_;
  std::string path_;
};

}  // namespace tsunami
