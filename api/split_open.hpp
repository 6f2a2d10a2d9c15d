#pragma once
#include <string>
#include <vector>

#include "first_look.hpp"
#include "open_driver.hpp"
#include "split_files.hpp"

namespace sluice::api {

/// Collective: makes way for all files; where existing ones are to be kept, NC_EEXIST when there is one.
void prepare_files(const Communicator& comm, const std::vector<std::string>& paths, bool keeps_existing);

/// Collective: the headers of all files, `paths` being those of the master and the others; of these in the
/// detail that is asked for. Throws on all ranks, with a text that names the file.
[[nodiscard]] SplitFiles::Descriptions describe_files(const OpenRequest& request,
                                                      formats::DecodedHeader master,
                                                      const std::vector<std::string>& paths,
                                                      formats::Detail detail);

/// The master's path and those of its blob files. Where there is no master, the first file takes its place,
/// from which nothing is read then.
[[nodiscard]] std::vector<std::string> blob_paths(const std::string& master, int files,
                                                  bool has_master = true);
/// Collective: how many blob files are asked for: nc_num_subfiles, or one for each node; never more than
/// processes.
[[nodiscard]] int blob_files_asked(const OpenRequest& request);

/// Gives the user's header the begins that it has as one ordinary file.
[[nodiscard]] formats::Layout ordinary_layout(formats::Header& header);

/// What the header of a file tells of; 0 where there is no file, or none that can be read.
[[nodiscard]] int header_tells(const std::string& path, int (*count)(const formats::Header&));

/// Removes the files behind the first, those that are there.
void remove_others(const std::vector<std::string>& paths);

}  // namespace sluice::api
