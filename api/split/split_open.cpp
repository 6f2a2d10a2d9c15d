#include "split_open.hpp"

#include <algorithm>

#include "agreement.hpp"
#include "file_options.hpp"
#include "hints.hpp"
#include "sluice/formats/blobs.hpp"
#include "sluice/storage/header_file.hpp"
#include "sluice/storage/posix_file_system.hpp"
#include "sluice/storage/unflushed_logs.hpp"

namespace sluice::api {
namespace {

/// Collective: the number of nodes.
int count_nodes(const Communicator& comm) {
  MPI_Comm node = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(comm.get(), MPI_COMM_TYPE_SHARED, comm.rank(), MPI_INFO_NULL, &node),
            "find the processes of a node");
  int rank = 0;
  MPI_Comm_rank(node, &rank);
  MPI_Comm_free(&node);
  int nodes = rank == 0 ? 1 : 0;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &nodes, 1, MPI_INT, MPI_SUM, comm.get()), "count the nodes");
  return nodes;
}

}  // namespace

void prepare_files(const Communicator& comm, const std::vector<std::string>& paths, bool keeps_existing) {
  together_telling(comm, [&] {
    for (auto i = static_cast<std::size_t>(comm.rank()); i < paths.size();
         i += static_cast<std::size_t>(comm.size()))
      storage::prepare_creation(paths[i], keeps_existing);
  });
}

SplitFiles::Descriptions describe_files(const OpenRequest& request, formats::DecodedHeader master,
                                        const std::vector<std::string>& paths, formats::Detail detail) {
  const std::vector<std::string> others(paths.begin() + 1, paths.end());
  const auto chunk_bytes = file_options(request.hints, true).header_chunk_bytes;
  auto looks = look_at_all(request.comm, others, chunk_bytes, detail);
  SplitFiles::Descriptions files;
  together_telling(request.comm, [&] {
    const auto describe = [&](formats::DecodedHeader& decoded, std::int64_t file_bytes) {
      const auto layout = formats::layout_of(decoded.header, decoded.size_bytes);
      files.push_back({std::move(decoded.header), layout, file_bytes});
    };
    describe(master, 0);
    for (auto& look : looks) describe(look.header, look.file_bytes);
  });
  return files;
}

formats::Layout ordinary_layout(formats::Header& header) {
  for (int id = 0; id < header.variable_count(); ++id) header.variable(id).begin = 0;
  return formats::compute_layout(header, {}, nullptr);
}

void expect_all_flushed(const OpenRequest& request, const std::string& master) {
  const auto& hints = request.hints;
  if (const auto gives_up = hints.find("nc_burst_buf_overwrite");
      gives_up != hints.end() && gives_up->second == "enable")
    return;
  const auto directory = hints.find("nc_burst_buf_dirname");
  const bool is_elsewhere = directory != hints.end() && !directory->second.empty();
  storage::PosixFileSystem system;
  storage::expect_no_unflushed_logs(
      system, is_elsewhere ? storage::without_prefix(directory->second) : storage::directory_of(master),
      master);
}

int header_tells(const std::string& path, int (*count)(const formats::Header&)) {
  try {
    const auto file = storage::PosixFileSystem().open(path, storage::OpenMode::read);
    return count(storage::read_header(*file).decoded.header);
  } catch (const Error&) {
    return 0;
  }
}

void remove_others(const std::vector<std::string>& paths) {
  storage::PosixFileSystem system;
  for (std::size_t i = 1; i < paths.size(); ++i) {
    if (system.exists(paths[i])) system.remove(paths[i]);
  }
}

std::vector<std::string> blob_paths(const std::string& master, int files, bool has_master) {
  std::vector<std::string> paths{has_master ? master : formats::blob_file_path(master, 0)};
  for (int i = 0; i < files; ++i) paths.push_back(formats::blob_file_path(master, i));
  return paths;
}

int blob_files_asked(const OpenRequest& request) {
  const std::int64_t asked = byte_hint(request.hints, "nc_num_subfiles");
  const std::int64_t files = asked > 0 ? asked : count_nodes(request.comm);
  return static_cast<int>(std::clamp<std::int64_t>(files, 1, request.comm.size()));
}

}  // namespace sluice::api
