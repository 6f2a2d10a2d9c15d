// Creates and opens files with subfiles.
#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <utility>

#include "agreement.hpp"
#include "hints.hpp"
#include "sluice/formats/subfile_identity.hpp"
#include "sluice/storage/header_file.hpp"
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

/// Collective: the naming scheme of an existing master's subfiles.
formats::SubfileNames names_of(const OpenRequest& request, const std::string& path) {
  using enum formats::SubfileNames;
  const bool have_suffix = flag_of_root(request.comm, [&] {
    storage::PosixFileSystem system;
    return storage::subfile_names(system, path) == with_suffix;
  });
  // Written files have names and attributes as in PnetCDF 1.12.
  if (!have_suffix && request.writes())
    throw Error(NC_EPERM, path +
                              ": the subfiles have no suffix .nc, as in old releases of PnetCDF: "
                              "they can be read, and merged by `sluice merge`, but not written");
  return have_suffix ? with_suffix : without_suffix;
}

/// The hints in force for the master, and the hints for subfiles.
Hints hints_of(const FileSet& files) {
  Hints hints = files.file(0).hints();
  hints.insert_or_assign("pnetcdf_subfiling", "enable");
  hints.insert_or_assign("nc_num_subfiles", std::to_string(files.size() - 1));
  return hints;
}

/// Throws if the header's variables have impossible positions.
formats::FileSections checked_sections(const formats::Header& header, std::int64_t header_bytes,
                                       const std::string& path) {
  auto sections = formats::sections_of(header, header_bytes);
  formats::check_sections(header, sections.layout, path);
  return sections;
}

/// Collective: sends one rank's result about a file to all ranks.
void share(const Communicator& comm, formats::FileSections& sections, formats::FileEnd& end, int variables,
           int teller) {
  auto& [layout, begins] = sections;
  std::array<std::int64_t, 9> numbers{layout.header_size, layout.header_extent,  layout.record_begin,
                                      layout.record_size, end.file_bytes,        end.data_bytes,
                                      end.first_missing,  end.is_within ? 1 : 0, end.has_shared ? 1 : 0};
  begins.resize(static_cast<std::size_t>(variables));
  check_mpi(MPI_Bcast(numbers.data(), static_cast<int>(numbers.size()), MPI_INT64_T, teller, comm.get()),
            "broadcast the layout of a subfile");
  check_mpi(MPI_Bcast(begins.data(), variables, MPI_INT64_T, teller, comm.get()),
            "broadcast the layout of a subfile");
  layout = {numbers[0], numbers[1], numbers[2], numbers[3]};
  end = {numbers[4], numbers[5], numbers[6], numbers[7] != 0, numbers[8] != 0};
}

/// Collective: sends rank 0's result about the master to all ranks. It is much smaller than the master's
/// header.
void share(const Communicator& comm, formats::SubfiledHeader& dataset, const std::string& path) {
  if (comm.size() == 1) return;
  std::string header;
  std::string divisions;
  together_telling(comm, [&] {
    if (!comm.is_root()) return;
    const auto bytes = formats::encode_header(dataset.header);
    header.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    auto numbers = dataset.subfiling.numbers();
    numbers.push_back(dataset.subfiling.subfiles());
    divisions.assign(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof numbers[0]);
  });
  broadcast(comm, header);
  broadcast(comm, divisions);
  together_telling(comm, [&] {
    if (comm.is_root()) return;
    dataset.header = formats::decode_metadata(std::as_bytes(std::span(header)), path);
    std::vector<std::int64_t> numbers(divisions.size() / sizeof(std::int64_t));
    std::memcpy(numbers.data(), divisions.data(), divisions.size());
    const auto subfiles = static_cast<int>(numbers.back());
    numbers.pop_back();
    dataset.subfiling = formats::Subfiling::of_numbers(subfiles, numbers);
  });
}

/// Collective: one rank reads each subfile's header and compares it with the master; the other ranks get the
/// positions of the data.
void look_at_subfiles(const OpenRequest& request, const formats::SubfiledHeader& dataset,
                      const std::vector<std::string>& paths, std::vector<formats::FileSections>& sections,
                      std::vector<formats::FileEnd>& ends) {
  // A subfile's header is at most about half as large as the master's.
  const auto chunk_bytes =
      std::max(file_options(request.hints, true).header_chunk_bytes, sections.front().layout.header_size / 2);
  const auto& comm = request.comm;
  const auto ranks = static_cast<std::size_t>(comm.size());
  const auto for_mine = [&](const auto& work) {
    for (auto i = static_cast<std::size_t>(comm.rank()) + 1; i < paths.size(); i += ranks) work(i);
  };
  std::vector<formats::DecodedHeader> found;
  std::vector<std::int64_t> sizes;
  std::deque<formats::SubfileIdentity> identities;
  // A missing file is reported before a file that does not match.
  together_telling(comm, [&] {
    for_mine([&](std::size_t i) {
      const auto file = storage::PosixFileSystem().open(paths[i], storage::OpenMode::read);
      sizes.push_back(file->size_bytes());
      auto& identity = identities.emplace_back(dataset, static_cast<int>(i) - 1);
      found.push_back(
          storage::read_header(*file, chunk_bytes, formats::Detail::structure, &identity).decoded);
    });
  });
  together_telling(comm, [&] {
    sections.resize(paths.size());
    ends.resize(paths.size());
    auto next = found.begin();
    auto file_bytes = sizes.begin();
    auto identity = identities.begin();
    for_mine([&](std::size_t i) {
      auto& [header, size_bytes] = *next++;
      formats::check_subfile(dataset, static_cast<int>(i) - 1, header, paths[i]);
      (identity++)->check(paths[i]);
      sections[i] = checked_sections(header, size_bytes, paths[i]);
      const std::vector<formats::Share> shares(header.variables().size(), formats::Share::in_all);
      ends[i] = formats::find_end({std::move(header), sections[i].layout, 0}, dataset.header.record_count,
                                  shares, *file_bytes++);
    });
  });
  for (std::size_t i = 1; i < paths.size(); ++i)
    share(comm, sections[i], ends[i], dataset.subfiling.divided_variables(),
          static_cast<int>((i - 1) % ranks));
}

OpenedDriver opened_driver(const OpenRequest& request, FileSet files, bool is_local,
                           SubfileDriver::OpenInfo open_info, WriterLock others) {
  OpenedDriver opened;
  // Each rank opens the master, so an error appears at once.
  together_telling(request.comm, [&] { opened.hints = hints_of(files); });
  const auto options = file_options(request.hints, is_local);
  auto driver =
      std::make_unique<SubfileDriver>(request.comm, std::move(files), options, std::move(open_info));
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
  SubfileDriver::OpenInfo open_info;
  open_info.subfiling = formats::Subfiling(subfiles);
  open_info.files.is_writable = true;
  open_info.files.is_shared = request.is_shared();
  FileSet files(paths, MPI_MODE_RDWR | MPI_MODE_CREATE, request.info);
  together_telling(request.comm, [&] { (void)files.file(0); });
  // No process writes before enddef, and rank 0 takes part in enddef.
  WriterLock others = join_writers(request.comm, path, is_local);
  return opened_driver(request, std::move(files), is_local, std::move(open_info), std::move(others));
}

OpenedDriver open_subfiles(const OpenRequest& request, HeaderProbe master, formats::MasterReader* reader) {
  const std::string path = storage::without_prefix(request.path);
  const auto& comm = request.comm;
  SubfileDriver::OpenInfo open_info;
  open_info.files.is_writable = request.writes();
  open_info.files.is_shared = request.is_shared();
  open_info.sections.resize(1);
  formats::SubfiledHeader dataset;
  std::vector<formats::FileEnd> ends(1);
  formats::FileDescription description;
  together_telling(comm, [&] {
    if (!comm.is_root()) return;
    expect_all_flushed(request, path);
    open_info.sections[0] = checked_sections(master.header.header, master.header.size_bytes, path);
    description = {master.header.header, open_info.sections[0].layout, master.file_bytes};
    dataset = reader != nullptr ? reader->dataset(std::move(master.header.header))
                                : formats::read_master(master.header.header, path);
    const auto shares = formats::shares_in_master(dataset.subfiling, description.header.variable_count());
    ends[0] = formats::find_end(description, dataset.header.record_count, shares, description.file_bytes);
  });
  share(comm, dataset, path);
  open_info.version = dataset.header.version;
  open_info.has_record_dimension = dataset.header.record_dimension() >= 0;
  open_info.record_count = dataset.header.record_count;
  share(comm, open_info.sections[0], ends[0], dataset.header.variable_count(), 0);
  const auto paths = paths_of(path, dataset.subfiling.subfiles(), names_of(request, path));
  look_at_subfiles(request, dataset, paths, open_info.sections, ends);
  // Files that are being written can grow.
  if (!flag_of_root(comm, [&] { return has_writers(path); })) formats::check_ends(ends, paths);
  formats::Layout layout;
  together_telling(request.comm, [&] { layout = ordinary_layout(dataset.header); });
  open_info.subfiling = std::move(dataset.subfiling);
  const int mode = request.writes() ? MPI_MODE_RDWR : MPI_MODE_RDONLY;
  // Before the other ranks of this communicator can pass the open.
  WriterLock others = join_writers(request.comm, path, master.is_local && request.writes());
  auto opened = opened_driver(request, FileSet(paths, mode, request.info), master.is_local,
                              std::move(open_info), std::move(others));
  opened.header = std::move(dataset.header);
  opened.layout = layout;
  return opened;
}

void delete_subfiles(const std::string& master) {
  remove_others(paths_of(master, header_tells(master, formats::subfile_count)));
}

}  // namespace sluice::api
