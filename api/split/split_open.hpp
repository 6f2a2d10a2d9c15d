#pragma once
#include <string>
#include <vector>

#include "header_probe.hpp"
#include "open_driver.hpp"
#include "split_files.hpp"

namespace sluice::api {

/// Collective: removes existing files at these paths. If existing files must be kept, throws NC_EEXIST when
/// there is one.
void prepare_files(const Communicator& comm, const std::vector<std::string>& paths, bool keeps_existing);

/// Collective: reads the headers of all files. `paths` are those of the master and the other files; the other
/// files are read with the given detail. Throws on all ranks with a text that names the file.
[[nodiscard]] SplitFiles::Descriptions describe_files(const OpenRequest& request,
                                                      formats::DecodedHeader master,
                                                      const std::vector<std::string>& paths,
                                                      formats::Detail detail);

/// The paths of the master and its blob files. Without a master, the first blob file takes its place, and
/// nothing is read from it as a master.
[[nodiscard]] std::vector<std::string> blob_paths(const std::string& master, int files,
                                                  bool has_master = true);
/// Collective: the requested number of blob files: nc_num_subfiles, or one for each node, but at most one for
/// each process.
[[nodiscard]] int blob_files_asked(const OpenRequest& request);

/// Gives the user's header the begins that it would have in one ordinary file.
[[nodiscard]] formats::Layout ordinary_layout(formats::Header& header);

/// Throws NC_EFILE if a program has ended before puts in its burst-buffer logs reached these files. A later
/// program that sets the hint nc_burst_buf_overwrite gives these puts up. Not collective: for rank 0.
void expect_all_flushed(const OpenRequest& request, const std::string& master);

/// A number from a file's header; 0 if the file is missing or unreadable.
[[nodiscard]] int header_tells(const std::string& path, int (*count)(const formats::Header&));

/// Removes all existing files after the first.
void remove_others(const std::vector<std::string>& paths);

}  // namespace sluice::api
