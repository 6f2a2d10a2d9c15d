// Creating and opening files with subfiles.
#include <utility>

#include "agreement.hpp"
#include "hints.hpp"
#include "sluice/storage/header_file.hpp"
#include "sluice/storage/posix_file_system.hpp"
#include "subfile_driver.hpp"

namespace sluice::api {
namespace {

/// The master and its subfiles.
std::vector<std::string> paths_of(const std::string& master, int subfiles) {
  std::vector<std::string> paths{master};
  for (int i = 0; i < subfiles; ++i) paths.push_back(formats::subfile_path(master, i));
  return paths;
}

/// The hints that are in force for the master, and those that tell of the subfiles.
Hints hints_of(const FileSet& files) {
  Hints hints = files.file(0).hints();
  hints.insert_or_assign("pnetcdf_subfiling", "enable");
  hints.insert_or_assign("nc_num_subfiles", std::to_string(files.size() - 1));
  return hints;
}

/// Makes way for all files, by all ranks; where existing ones are to be kept, nothing is touched when there
/// is one.
void prepare_files(const Communicator& comm, const std::vector<std::string>& paths, bool keeps_existing) {
  together_telling(comm, [&] {
    for (auto i = static_cast<std::size_t>(comm.rank()); i < paths.size();
         i += static_cast<std::size_t>(comm.size()))
      storage::prepare_creation(paths[i], keeps_existing);
  });
}

OpenedDriver opened_driver(const OpenRequest& request, FileSet files, bool is_local,
                           SubfileDriver::Facts facts) {
  OpenedDriver opened;
  // Each rank opens the master, so that what forbids it is known at once.
  together_telling(request.comm, [&] { opened.hints = hints_of(files); });
  auto options = file_options(request.hints, is_local);
  // Between the end of one subfile and the beginning of the next there may be elements that another rank
  // fills.
  options.fill_gap_bytes = 0;
  opened.driver = std::make_unique<SubfileDriver>(request.comm, std::move(files), options, std::move(facts));
  return opened;
}

/// What the header of a file tells of; 0 where there is no file, or none that can be read.
int subfiles_of(storage::FileSystem& system, const std::string& path) {
  try {
    const auto file = system.open(path, storage::OpenMode::read);
    return formats::subfile_count(storage::read_header(*file).decoded.header);
  } catch (const Error&) {
    return 0;
  }
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
  return opened_driver(request, FileSet(paths, MPI_MODE_RDWR | MPI_MODE_CREATE, request.info), is_local,
                       std::move(facts));
}

OpenedDriver open_subfiles(const OpenRequest& request, const FirstLook& master) {
  const std::string path = storage::without_prefix(request.path);
  const auto paths = paths_of(path, formats::subfile_count(master.header.header));
  const std::vector<std::string> subfile_paths(paths.begin() + 1, paths.end());
  const auto chunk_bytes = file_options(request.hints, true).header_chunk_bytes;
  SubfileDriver::Facts facts;
  facts.files.is_writable = request.writes();
  facts.files.is_shared = request.is_shared();
  formats::SubfiledHeader dataset;
  together_telling(request.comm, [&] { dataset = formats::read_master(master.header.header, path); });
  const auto subfiles = look_at_all(request.comm, subfile_paths, chunk_bytes);
  OpenedDriver opened;
  together_telling(request.comm, [&] {
    const auto describe = [&](const formats::DecodedHeader& decoded) {
      facts.descriptions.push_back({decoded.header, formats::layout_of(decoded.header, decoded.size_bytes)});
    };
    describe(master.header);
    for (std::size_t i = 0; i < subfiles.size(); ++i) {
      formats::check_subfile(dataset, static_cast<int>(i), subfiles[i].header, subfile_paths[i]);
      describe(subfiles[i]);
    }
    // Throws where a header's variables are not where they can be.
    (void)formats::FileSpace(facts.descriptions, paths);
    // As the user knows it: one ordinary file.
    for (int id = 0; id < dataset.header.variable_count(); ++id) dataset.header.variable(id).begin = 0;
    opened.layout = formats::compute_layout(dataset.header, {}, nullptr);
  });
  facts.subfiling = std::move(dataset.subfiling);
  const int mode = request.writes() ? MPI_MODE_RDWR : MPI_MODE_RDONLY;
  auto with_driver =
      opened_driver(request, FileSet(paths, mode, request.info), master.is_local, std::move(facts));
  opened.driver = std::move(with_driver.driver);
  opened.hints = std::move(with_driver.hints);
  opened.header = std::move(dataset.header);
  return opened;
}

void delete_subfiles(const std::string& master) {
  storage::PosixFileSystem system;
  const int subfiles = subfiles_of(system, master);
  for (int i = 0; i < subfiles; ++i) {
    const auto path = formats::subfile_path(master, i);
    if (system.exists(path)) system.remove(path);
  }
}

}  // namespace sluice::api
