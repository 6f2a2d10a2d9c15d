#pragma once
#include <string>
#include <vector>

#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

/// A program's log whose puts are not in its netCDF file.
struct UnflushedLog {
  std::string metadata_path;
  bool is_in_use = false;  ///< the program still runs
};

/// The logs in a directory that hold puts which `netcdf_path` lacks. Only logs of this user and of the file's
/// owner count. A log does not count if the file's mark says that recovery has put it into the file, or that
/// a later program has written the file. Throws IoError if the directory cannot be read.
[[nodiscard]] std::vector<UnflushedLog> unflushed_logs(FileSystem& files, const std::string& directory,
                                                       const std::string& netcdf_path);

/// Throws Error(NC_EFILE) if `directory`, or the file's directory, has unflushed logs of programs that have
/// ended. Every put in them would be missing in what a reader gets.
void expect_no_unflushed_logs(FileSystem& files, const std::string& directory,
                              const std::string& netcdf_path);

/// "3 logs of a.nc still hold data", for messages.
[[nodiscard]] std::string describe_unflushed(const std::vector<UnflushedLog>& logs,
                                             const std::string& netcdf_path);

}  // namespace sluice::storage
