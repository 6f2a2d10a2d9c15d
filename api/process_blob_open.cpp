// Creating and opening files whose data is in blobs of processes.
#include <utility>

#include "agreement.hpp"
#include "process_blob_driver.hpp"
#include "sluice/storage/hdf5_library.hpp"
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
  // Before a file is touched.
  together_telling(request.comm, [] { (void)storage::hdf5_library(); });
  ProcessBlobDriver::Facts facts;
  facts.paths = blob_paths(path, blob_files_asked(request));
  facts.is_writable = true;
  prepare_files(request.comm, facts.paths, request.keeps_existing());
  const bool is_local = flag_of_root(request.comm, [&] {
    // Shows now whether a file can be made there.
    storage::PosixFileSystem().open(path, storage::OpenMode::create)->close();
    return storage::is_on_local_file_system(path);
  });
  facts.options = file_options(request.hints, is_local);
  OpenedDriver opened;
  opened.hints.insert_or_assign(layout_hint, layout_name);
  opened.driver = std::make_unique<ProcessBlobDriver>(request.comm, std::move(facts), request.info, nullptr);
  return opened;
}

OpenedDriver open_process_blobs(const OpenRequest& request, const FirstLook& master) {
  const std::string path = storage::without_prefix(request.path);
  ProcessBlobDriver::Facts facts;
  facts.paths = blob_paths(path, formats::process_blob_file_count(master.header.header), !master.is_made_up);
  facts.is_writable = request.writes();
  facts.options = file_options(request.hints, master.is_local);
  auto dataset = look_at_process_blobs(request.comm, master.header.header, facts.paths);
  OpenedDriver opened;
  opened.header = dataset.dataset.header;
  together_telling(request.comm, [&] { opened.layout = ordinary_layout(opened.header); });
  std::unique_ptr<ProcessBlobReader> reader;
  together_telling(request.comm, [&] {
    reader =
        std::make_unique<ProcessBlobReader>(request.comm, std::move(dataset), facts.options, request.info);
    opened.hints = reader->hints();
  });
  opened.hints.insert_or_assign(layout_hint, layout_name);
  opened.driver =
      std::make_unique<ProcessBlobDriver>(request.comm, std::move(facts), request.info, std::move(reader));
  return opened;
}

void delete_process_blobs(const std::string& master) {
  const auto files = header_tells(master, formats::process_blob_file_count);
  remove_others(blob_paths(master, files));
}

}  // namespace sluice::api
