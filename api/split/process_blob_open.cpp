// Creates and opens files whose data is in process-centric blobs.
#include <utility>

#include "agreement.hpp"
#include "hdf5_part.hpp"
#include "process_blob_driver.hpp"
#include "sluice/storage/posix_file_system.hpp"
#include "split_open.hpp"

namespace sluice::api {
namespace {

constexpr const char* layout_hint = "sluice_layout";
constexpr const char* layout_name = "blob-process";

}  // namespace

bool are_process_blobs_asked(const std::map<std::string, std::string>& hints) {
  const auto found = hints.find(layout_hint);
  return found != hints.end() && found->second == layout_name;
}

OpenedDriver create_process_blobs(const OpenRequest& request) {
  const std::string path = storage::without_prefix(request.path);
  // Before any file is changed.
  together_telling(request.comm, [] { (void)hdf5_part(); });
  ProcessBlobDriver::OpenInfo open_info;
  open_info.paths = blob_paths(path, blob_files_asked(request));
  open_info.is_writable = true;
  prepare_files(request.comm, open_info.paths, request.keeps_existing());
  const bool is_local = flag_of_root(request.comm, [&] {
    // Checks at once that a file can be created there.
    storage::PosixFileSystem().open(path, storage::OpenMode::create)->close();
    return storage::is_on_local_file_system(path);
  });
  open_info.options = file_options(request.hints, is_local);
  OpenedDriver opened;
  opened.hints.insert_or_assign(layout_hint, layout_name);
  opened.driver =
      std::make_unique<ProcessBlobDriver>(request.comm, std::move(open_info), request.info, nullptr);
  return opened;
}

OpenedDriver open_process_blobs(const OpenRequest& request, const HeaderProbe& master) {
  const std::string path = storage::without_prefix(request.path);
  ProcessBlobDriver::OpenInfo open_info;
  open_info.paths =
      blob_paths(path, formats::process_blob_file_count(master.header.header), !master.is_made_up);
  open_info.is_writable = request.writes();
  open_info.options = file_options(request.hints, master.is_local);
  auto dataset = look_at_process_blobs(request.comm, master.header.header, open_info.paths);
  OpenedDriver opened;
  opened.header = dataset.dataset.header;
  together_telling(request.comm, [&] { opened.layout = ordinary_layout(opened.header); });
  std::unique_ptr<ProcessBlobReader> reader;
  together_telling(request.comm, [&] {
    reader = std::make_unique<ProcessBlobReader>(request.comm, std::move(dataset), open_info.options,
                                                 request.info);
    opened.hints = reader->hints();
  });
  opened.hints.insert_or_assign(layout_hint, layout_name);
  opened.driver = std::make_unique<ProcessBlobDriver>(request.comm, std::move(open_info), request.info,
                                                      std::move(reader));
  return opened;
}

void delete_process_blobs(const std::string& master) {
  const auto files = header_tells(master, formats::process_blob_file_count);
  remove_others(blob_paths(master, files));
}

}  // namespace sluice::api
