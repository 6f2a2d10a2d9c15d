#pragma once
#include <map>
#include <optional>
#include <string>

#include "driver.hpp"
#include "mpi_handles.hpp"
#include "sluice/runtime/rules.hpp"

namespace sluice::api {

/// The input of a driver that creates or opens a dataset. `comm` is the dataset's own duplicate and outlives
/// the driver; all other members are valid only during the call. Mode flags and hints are checked and are
/// rank 0's on all ranks.
struct OpenRequest {
  const Communicator& comm;
  const std::string& path;        ///< as the user gave it, with MPI-IO's prefix ("ufs:") if he gave one
  int mode = 0;                   ///< NC_NOCLOBBER, NC_SHARE for create; NC_WRITE, NC_SHARE for open
  MPI_Info info = MPI_INFO_NULL;  ///< for MPI-IO
  const std::map<std::string, std::string>& hints;  ///< info and PNETCDF_HINTS combined

  [[nodiscard]] bool writes() const noexcept { return (mode & 0x1) != 0; }          ///< NC_WRITE (open)
  [[nodiscard]] bool keeps_existing() const noexcept { return (mode & 0x4) != 0; }  ///< NC_NOCLOBBER (create)
  [[nodiscard]] bool is_shared() const noexcept { return (mode & 0x800) != 0; }     ///< NC_SHARE
};

/// All open and create functions are collective. They throw the same Error on all ranks or on none (see
/// agreement.hpp): NC_EEXIST, NC_ENOENT, NC_EACCESS, NC_ENOTNC, …
///
/// An ordinary file: file_driver.cpp.
[[nodiscard]] OpenedDriver create_file(const OpenRequest& request);
[[nodiscard]] OpenedDriver open_file(const OpenRequest& request);

/// A dataset of the workflow, for the rule that covers its path: memory_driver.cpp. open_staged with writes()
/// reopens it for writing.
[[nodiscard]] OpenedDriver create_staged(const OpenRequest& request, formats::Version version,
                                         const runtime::ClientEnvironment& environment,
                                         const runtime::RuleMatch& match);
[[nodiscard]] OpenedDriver open_staged(const OpenRequest& request,
                                       const runtime::ClientEnvironment& environment,
                                       const runtime::RuleMatch& match);

/// Same as above, for a rule whose data is in files (matcher::is_in_files): coupled_file_open.cpp.
[[nodiscard]] OpenedDriver create_coupled_file(const OpenRequest& request, int ncid, formats::Version version,
                                               const runtime::ClientEnvironment& environment,
                                               const runtime::RuleMatch& match);
[[nodiscard]] OpenedDriver open_coupled_file(const OpenRequest& request, int ncid,
                                             const runtime::ClientEnvironment& environment,
                                             const runtime::RuleMatch& match);

/// Deletes a file (ncmpi_delete). One process calls it.
void delete_file(const std::string& path, MPI_Info info);
void delete_staged(const std::string& path, const runtime::ClientEnvironment& environment,
                   const runtime::RuleMatch& match);
void delete_coupled_file(const std::string& path, MPI_Info info,
                         const runtime::ClientEnvironment& environment, const runtime::RuleMatch& match);

/// The format version of the file that the dataset represents; nothing if only a file from before the run
/// exists. One process calls it; it waits until the file exists.
[[nodiscard]] std::optional<formats::Version> version_of_staged(const runtime::ClientEnvironment& environment,
                                                                const runtime::RuleMatch& match);

}  // namespace sluice::api
