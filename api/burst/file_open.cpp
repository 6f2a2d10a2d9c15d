// Creates and opens ordinary files: create_file, open_file and delete_file of open_driver.hpp.
#include <utility>

#include "agreement.hpp"
#include "file_driver.hpp"
#include "header_probe.hpp"
#include "open_driver.hpp"
#include "sluice/storage/blobs_without_master.hpp"
#include "sluice/storage/posix_file_system.hpp"
#include "split_layouts.hpp"
#include "subfile_driver.hpp"

namespace sluice::api {
namespace {

/// Collective: MPI_File_open; fails on all ranks if it fails on any rank.
FileHandle open_together(const OpenRequest& request, const std::string& path, int mode) {
  FileHandle file;
  run_collectively(request.comm, [&] { file = FileHandle::open(request.comm, path, mode, request.info); });
  return file;
}

/// Collective: reads the file at the path, or constructs the master for blob files of other programs. A null
/// `reader` means that subfiles are not searched.
MasterLook look_at(const OpenRequest& request, const std::string& path, formats::MasterReader* reader) {
  try {
    const auto chunk_bytes = file_options(request.hints, true).header_chunk_bytes;
    if (reader != nullptr) return look_for_master(request.comm, path, chunk_bytes, *reader);
    return {look_together(request.comm, path, chunk_bytes), false};
  } catch (const Error& error) {
    if (error.status() != NC_ENOENT) throw;
    storage::PosixFileSystem system;
    if (!flag_of_root(request.comm, [&] { return storage::are_blobs_without_master(system, path); })) throw;
  }
  if (request.writes())
    throw Error(NC_EPERM, path +
                              ": these blobs have no master file: they can be read, and merged by "
                              "`sluice merge`, but not written");
  return {make_up_master_together(request.comm, path), false};
}

}  // namespace

OpenedDriver create_file(const OpenRequest& request) {
  for (const SplitLayout& layout : split_layouts())
    if (layout.is_asked(request.hints)) return layout.create(request);
  const std::string path = storage::without_prefix(request.path);
  const bool is_local = flag_of_root(request.comm, [&] {
    storage::prepare_creation(path, request.keeps_existing());
    return storage::is_on_local_file_system(path);
  });
  const int exclusive = request.keeps_existing() ? MPI_MODE_EXCL : 0;
  FileHandle file = open_together(request, path, MPI_MODE_RDWR | MPI_MODE_CREATE | exclusive);

  OpenedDriver opened;
  opened.hints = file.hints();
  FileDriver::OpenInfo open_info;
  open_info.is_writable = true;
  open_info.is_shared = request.is_shared();
  auto driver = std::make_unique<FileDriver>(request.comm, std::move(file),
                                             file_options(request.hints, is_local), open_info);
  // No process writes before enddef, and rank 0 takes part in enddef.
  driver->watch_others(join_writers(request.comm, path, is_local));
  opened.driver = std::move(driver);
  return opened;
}

OpenedDriver open_file(const OpenRequest& request) {
  const std::string path = storage::without_prefix(request.path);
  formats::MasterReader reader(path);
  auto master = look_at(request, path, are_subfiles_wanted(request.hints) ? &reader : nullptr);
  FoundMaster found{std::move(master.look), master.is_master ? &reader : nullptr};
  for (const SplitLayout& layout : split_layouts())
    if (layout.has(found, request.hints)) return layout.open(request, std::move(found));
  HeaderProbe& look = found.look;
  // Before the other ranks of this communicator can pass the open.
  WriterLock others = join_writers(request.comm, path, look.is_local && request.writes());
  FileHandle file = open_together(request, path, request.writes() ? MPI_MODE_RDWR : MPI_MODE_RDONLY);

  OpenedDriver opened;
  opened.hints = file.hints();
  opened.header = std::move(look.header.header);
  // As in PnetCDF: the size that the header would have if it were written now.
  opened.layout = formats::layout_of(opened.header, formats::encoded_size(opened.header));
  FileDriver::OpenInfo open_info;
  open_info.version = opened.header.version;
  open_info.record_count = opened.header.record_count;
  open_info.is_writable = request.writes();
  open_info.is_shared = request.is_shared();
  auto driver = std::make_unique<FileDriver>(request.comm, std::move(file),
                                             file_options(request.hints, look.is_local), open_info);
  driver->watch_others(std::move(others));
  opened.driver = std::move(driver);
  return opened;
}

void delete_file(const std::string& path, MPI_Info) {
  const std::string file = storage::without_prefix(path);
  for (const SplitLayout& layout : split_layouts()) layout.remove_files_of(file);
  storage::PosixFileSystem().remove(file);
}

}  // namespace sluice::api
