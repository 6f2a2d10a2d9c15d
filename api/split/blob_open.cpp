// Creates and opens files whose data is in blobs.
#include <algorithm>
#include <utility>

#include "agreement.hpp"
#include "blob_driver.hpp"
#include "data_move.hpp"
#include "hints.hpp"
#include "sluice/storage/blob_files.hpp"
#include "sluice/storage/posix_file_system.hpp"
#include "split_open.hpp"

namespace sluice::api {
namespace {

constexpr std::int64_t default_pending_bytes = std::int64_t{64} << 20;

OpenedDriver opened_driver(const OpenRequest& request, FileSet files, bool is_local,
                           BlobDriver::OpenInfo open_info) {
  OpenedDriver opened;
  const std::int64_t asked = byte_hint(request.hints, "sluice_blob_buffer_size");
  open_info.pending_bytes = asked > 0 ? asked : default_pending_bytes;
  open_info.files.is_shared = request.is_shared();
  // Each rank opens the master, so an error appears at once.
  together_telling(request.comm, [&] { opened.hints = files.file(0).hints(); });
  opened.hints.insert_or_assign("sluice_layout", "blob");
  const auto options = file_options(request.hints, is_local);
  opened.driver = std::make_unique<BlobDriver>(request.comm, std::move(files), options, std::move(open_info));
  return opened;
}

/// Collective: reads the maps of all files; one rank reads each map.
void read_maps(const Communicator& comm, const std::vector<std::string>& paths,
               const SplitFiles::Descriptions& files, formats::BlobHeader& dataset) {
  std::vector<std::string> bytes(paths.size());
  together_telling(comm, [&] {
    for (std::size_t i = 1; i < paths.size(); ++i) {
      if (static_cast<int>(i) % comm.size() != comm.rank()) continue;
      const auto file = storage::PosixFileSystem().open(paths[i], storage::OpenMode::read);
      bytes[i] = storage::read_map_bytes(*file, dataset.blobs, files[i].header);
    }
  });
  for (std::size_t i = 1; i < paths.size(); ++i) broadcast(comm, bytes[i], static_cast<int>(i) % comm.size());
  together_telling(comm, [&] {
    for (std::size_t i = 1; i < paths.size(); ++i)
      storage::take_map_bytes(dataset, static_cast<int>(i) - 1, files[i].header, bytes[i], paths[i]);
    formats::check_maps(dataset, paths.front());
  });
}

/// Collective: one rank checks each map. A map is read again when it is needed.
formats::MapLoader lazy_maps(const Communicator& comm, const std::vector<std::string>& paths,
                             const SplitFiles::Descriptions& files, const formats::BlobHeader& dataset) {
  const auto load = [paths, files, dataset](int map) {
    storage::PosixFileSystem system;
    return storage::map_loader(system, dataset, files, paths)(map);
  };
  together_telling(comm, [&] {
    for (int map = 1; map <= static_cast<int>(dataset.blobs.maps.size()); ++map) {
      if (map % comm.size() == comm.rank()) (void)load(map);
    }
  });
  return load;
}

}  // namespace

bool are_blobs_asked(const std::map<std::string, std::string>& hints) {
  const auto found = hints.find("sluice_layout");
  return found != hints.end() && found->second == "blob";
}

OpenedDriver create_blobs(const OpenRequest& request) {
  const std::string path = storage::without_prefix(request.path);
  BlobDriver::OpenInfo open_info;
  open_info.blobs.processes = request.comm.size();
  open_info.blobs.files = blob_files_asked(request);
  open_info.blobs.is_whole_everywhere = true;
  open_info.files.is_writable = true;
  const auto paths = blob_paths(path, open_info.blobs.files);
  prepare_files(request.comm, paths, request.keeps_existing());
  const bool is_local =
      broadcast_flag(request.comm, request.comm.is_root() && storage::is_on_local_file_system(path));
  return opened_driver(request, FileSet(paths, MPI_MODE_RDWR | MPI_MODE_CREATE, request.info), is_local,
                       std::move(open_info));
}

OpenedDriver open_blobs(const OpenRequest& request, HeaderProbe master) {
  const std::string path = storage::without_prefix(request.path);
  const auto paths = blob_paths(path, formats::blob_file_count(master.header.header), !master.is_made_up);
  BlobDriver::OpenInfo open_info;
  open_info.files.is_writable = request.writes();
  open_info.descriptions = describe_files(request, std::move(master.header), paths, formats::Detail::all);
  formats::BlobHeader dataset;
  together_telling(request.comm, [&] {
    if (request.comm.is_root()) expect_all_flushed(request, path);
    dataset = formats::read_blob_headers(open_info.descriptions, paths);
    // Throws if a header's variables have impossible positions.
    (void)formats::FileSpace(open_info.descriptions, paths);
    formats::check_blob_ends(dataset, open_info.descriptions, paths);
  });
  if (request.writes()) {
    read_maps(request.comm, paths, open_info.descriptions, dataset);
  } else {
    const auto bytes = size_on_root(request.comm, [&] {
      return storage::PosixFileSystem().open(paths.front(), storage::OpenMode::read)->size_bytes();
    });
    together_telling(request.comm, [&] {
      open_info.descriptions.front() = formats::room_for_holes(dataset.header, bytes);
    });
    open_info.load = lazy_maps(request.comm, paths, open_info.descriptions, dataset);
  }
  formats::Layout layout;
  together_telling(request.comm, [&] { layout = ordinary_layout(dataset.header); });
  open_info.header = dataset.header;
  open_info.blobs = std::move(dataset.blobs);
  const int mode = request.writes() ? MPI_MODE_RDWR : MPI_MODE_RDONLY;
  auto opened =
      opened_driver(request, FileSet(paths, mode, request.info), master.is_local, std::move(open_info));
  opened.header = std::move(dataset.header);
  opened.layout = layout;
  return opened;
}

void delete_blobs(const std::string& master) {
  const auto files = header_tells(master, formats::blob_file_count);
  remove_others(blob_paths(master, files));
}

}  // namespace sluice::api
