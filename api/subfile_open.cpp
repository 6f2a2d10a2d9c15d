// Creating and opening files with subfiles.
#include <utility>

#include "agreement.hpp"
#include "hints.hpp"
#include "sluice/storage/posix_file_system.hpp"
#include "sluice/storage/split_dataset.hpp"
#include "split_open.hpp"
#include "subfile_driver.hpp"

namespace sluice::api {
namespace {

/// The master and its subfiles.
std::vector<std::string> paths_of(const std::string& master, int subfiles,
                                  formats::SubfileNames names = formats::SubfileNames::with_suffix) {
  std::vector<std::string> paths{master};
  for (int i = 0; i < subfiles; ++i) paths.push_back(formats::subfile_path(master, i, names));
  return paths;
}

/// Collective: how the subfiles of an existing master are called.
formats::SubfileNames names_of(const OpenRequest& request, const std::string& path) {
  using enum formats::SubfileNames;
  const bool have_suffix = flag_of_root(request.comm, [&] {
    storage::PosixFileSystem system;
    return storage::subfile_names(system, path) == with_suffix;
  });
  // What is written has names and attributes as PnetCDF 1.12 has them.
  if (!have_suffix && request.writes())
    throw Error(NC_EPERM, path +
                              ": its subfiles have no suffix .nc, as those of old releases of PnetCDF: "
                              "they can be read, and merged by `sluice merge`, but not written");
  return have_suffix ? with_suffix : without_suffix;
}

/// The hints that are in force for the master, and those that tell of the subfiles.
Hints hints_of(const FileSet& files) {
  Hints hints = files.file(0).hints();
  hints.insert_or_assign("pnetcdf_subfiling", "enable");
  hints.insert_or_assign("nc_num_subfiles", std::to_string(files.size() - 1));
  return hints;
}

OpenedDriver opened_driver(const OpenRequest& request, FileSet files, bool is_local,
                           SubfileDriver::Facts facts, OtherWriters others) {
  OpenedDriver opened;
  // Each rank opens the master, so that what forbids it is known at once.
  together_telling(request.comm, [&] { opened.hints = hints_of(files); });
  auto options = file_options(request.hints, is_local);
  // Between the end of one subfile and the beginning of the next there may be elements that another rank
  // fills.
  options.fill_gap_bytes = 0;
  auto driver = std::make_unique<SubfileDriver>(request.comm, std::move(files), options, std::move(facts));
  driver->watch_others(std::move(others));
  opened.driver = std::move(driver);
  return opened;
}

}  // namespace

bool are_subfiles_wanted(const std::map<std::string, std::string>& hints) {
  const auto found = hints.find("pnetcdf_subfiling");
  return found == hints.end() || found->second != "disable";
}

int asked_subfiles(const std::map<std::string, std::string>& hints) {
  constexpr std::int64_t most = 100'000;
  if (!are_subfiles_wanted(hints)) return 0;
  return static_cast<int>(std::min(byte_hint(hints, "nc_num_subfiles"), most));
}

OpenedDriver create_subfiles(const OpenRequest& request) {
  const std::string path = storage::without_prefix(request.path);
  const int subfiles = asked_subfiles(request.hints);
  const auto paths = paths_of(path, subfiles);
  prepare_files(request.comm, paths, request.keeps_existing());
  const bool is_local =
      broadcast_flag(request.comm, request.comm.is_root() && storage::is_on_local_file_system(path));
  SubfileDriver::Facts facts;
  facts.subfiling = formats::Subfiling(subfiles);
  facts.files.is_writable = true;
  facts.files.is_shared = request.is_shared();
  FileSet files(paths, MPI_MODE_RDWR | MPI_MODE_CREATE, request.info);
  together_telling(request.comm, [&] { (void)files.file(0); });
  // Nobody writes before enddef, in which rank 0 takes part.
  OtherWriters others = join_writers(request.comm, path, is_local);
  return opened_driver(request, std::move(files), is_local, std::move(facts), std::move(others));
}

OpenedDriver open_subfiles(const OpenRequest& request, FirstLook master) {
  const std::string path = storage::without_prefix(request.path);
  const auto paths = paths_of(path, formats::subfile_count(master.header.header), names_of(request, path));
  SubfileDriver::Facts facts;
  facts.files.is_writable = request.writes();
  facts.files.is_shared = request.is_shared();
  formats::SubfiledHeader dataset;
  together_telling(request.comm, [&] { dataset = formats::read_master(master.header.header, path); });
  facts.descriptions = describe_files(request, std::move(master.header), paths, formats::Detail::structure);
  formats::Layout layout;
  together_telling(request.comm, [&] {
    for (std::size_t i = 1; i < paths.size(); ++i)
      formats::check_subfile(dataset, static_cast<int>(i) - 1, facts.descriptions[i].header, paths[i]);
    // Throws where a header's variables are not where they can be.
    (void)formats::FileSpace(facts.descriptions, paths);
    layout = ordinary_layout(dataset.header);
  });
  facts.subfiling = std::move(dataset.subfiling);
  const int mode = request.writes() ? MPI_MODE_RDWR : MPI_MODE_RDONLY;
  // Before the others of this communicator are through.
  OtherWriters others = join_writers(request.comm, path, master.is_local && request.writes());
  auto opened = opened_driver(request, FileSet(paths, mode, request.info), master.is_local, std::move(facts),
                              std::move(others));
  opened.header = std::move(dataset.header);
  opened.layout = layout;
  return opened;
}

void delete_subfiles(const std::string& master) {
  remove_others(paths_of(master, header_tells(master, formats::subfile_count)));
}

}  // namespace sluice::api
