// The start of a dataset: create and open, the choice of the driver, default formats. Also functions for
// files that are not open.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "agreement.hpp"
#include "burst_driver.hpp"
#include "collective_checks.hpp"
#include "coupled_file.hpp"
#include "dataset_table.hpp"
#include "functions.hpp"
#include "gathering.hpp"
#include "hints.hpp"
#include "open_driver.hpp"
#include "ordinary_file.hpp"
#include "sluice/formats/netcdf4.hpp"
#include "sluice/runtime/rules.hpp"
#include "sluice/storage/posix_file_system.hpp"

namespace sluice::api::ncmpi {
namespace {

// Flags of create and open that this file uses, and file formats.
constexpr int mode_write = 0x0001;
constexpr int mode_diskless = 0x0008;
constexpr int mode_mmap = 0x0010;
constexpr int mode_64bit_data = 0x0020;
constexpr int mode_64bit_offset = 0x0200;
constexpr int mode_netcdf4 = 0x1000;
constexpr int format_unknown = -1;
constexpr int format_classic = 1;
constexpr int format_cdf2 = 2;
constexpr int format_netcdf4 = 3;
constexpr int format_cdf5 = 5;

/// ncmpi_set_default_format applies to the whole process.
std::atomic<int> default_format{format_classic};

const runtime::ClientEnvironment& client_environment() {
  // Never destroyed: functions may still be called while the process ends.
  static const auto* const environment =
      std::make_unique<runtime::ClientEnvironment>(runtime::read_client_environment()).release();
  return *environment;
}

std::optional<runtime::RuleMatch> rule_of(const std::string& path,
                                          runtime::LastLink last_link = runtime::LastLink::follow) {
  if (!client_environment().is_coupled()) return std::nullopt;
  return runtime::find_rule(client_environment(), path, last_link);
}

/// Rank 0's match as texts for the other ranks: the index of the component's rule, the key's name, the file,
/// and whether the file exists. The file is included only if its name differs from the key's.
std::vector<std::string> as_texts(const std::optional<runtime::RuleMatch>& match) {
  if (!match) return {};
  const bool is_known_by_path = match->key.name == match->file;
  return {std::to_string(match->rule.rule), match->key.name, is_known_by_path ? "" : match->file,
          match->is_on_disk ? "on disk" : ""};
}

std::optional<runtime::RuleMatch> match_of(const std::vector<std::string>& texts) {
  if (texts.empty()) return std::nullopt;
  const auto& rules = client_environment().rules;
  const auto rule = std::ranges::find(
      rules, texts.at(0), [](const runtime::ClientRule& each) { return std::to_string(each.rule); });
  if (rule == rules.end())
    throw Error(NC_EINVAL, "processes of one communicator have different rules: SLUICE_RULES was changed");
  const std::string& name = texts.at(1);
  const std::string& file = texts.at(2).empty() ? name : texts.at(2);
  return runtime::RuleMatch{*rule, {rule->rule, name}, file, !texts.at(3).empty()};
}

bool is_in_files(const std::optional<runtime::RuleMatch>& match) {
  return match && matcher::is_in_files(match->rule.through);
}

void check_path(const char* path) {
  if (path == nullptr || *path == '\0') throw Error(NC_EBAD_FILE, "the path of a file is empty");
}

void check_create_mode(int mode) {
  if ((mode & mode_netcdf4) != 0)
    throw Error(NC_ENOTBUILT, "files in netCDF-4 (HDF5) format are not supported: leave NC_NETCDF4 out");
  if ((mode & (mode_diskless | mode_mmap)) != 0)
    throw Error(NC_EINVAL_CMODE, "NC_DISKLESS and NC_MMAP are not supported");
  if ((mode & mode_64bit_data) != 0 && (mode & mode_64bit_offset) != 0)
    throw Error(NC_EINVAL_CMODE, "NC_64BIT_DATA and NC_64BIT_OFFSET exclude each other");
}

void check_open_mode(int mode) {
  if ((mode & (mode_diskless | mode_mmap)) != 0)
    throw Error(NC_EINVAL_OMODE, "NC_DISKLESS and NC_MMAP are not supported");
}

formats::Version version_of_mode(int mode) {
  int format = default_format.load();
  if ((mode & mode_64bit_data) != 0) format = format_cdf5;
  if ((mode & mode_64bit_offset) != 0) format = format_cdf2;
  if (format == format_cdf5) return formats::Version::cdf5;
  return format == format_cdf2 ? formats::Version::cdf2 : formats::Version::cdf1;
}

/// A switch in the environment, with PnetCDF's rule: if the variable is set, only a value that begins with
/// "0" means off.
bool is_switched(const char* name, bool otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : *value != '0';
}

/// The arguments of create or open.
struct OpeningCall {
  MPI_Comm comm;
  const char* path;
  int mode;
  MPI_Info info;
  int* ncidp;
  Gathering::Call kind;
};

/// The common part of create and open: the communicator, the agreed arguments, the hints.
struct Opening {
  std::shared_ptr<Dataset> dataset = std::make_shared<Dataset>();  // shared: see DatasetUse
  std::optional<runtime::RuleMatch> match;                         ///< rank 0's
  int mode = 0;                                                    ///< rank 0's mode
  int disagreement = NC_NOERR;  ///< this rank's mode differs, or, in safe mode, its hints
  bool is_finished = false;     ///< if false at the end, the id is freed

  /// `other_mode`: the status of a rank whose mode differs from rank 0's.
  Opening(const OpeningCall& call, Status other_mode)
      : Opening(call, other_mode, Gathering(client_environment, call.path, call.kind)) {}
  Opening(const Opening&) = delete;
  Opening& operator=(const Opening&) = delete;
  ~Opening() {
    if (!is_finished) remove_dataset(dataset->ncid);
  }
  /// The dataset's id, which is reserved from now on.
  [[nodiscard]] int ncid() const noexcept { return dataset->ncid; }

  [[nodiscard]] OpenRequest request() const {
    return {dataset->comm, dataset->path, mode, dataset->info.get(), dataset->asked_hints};
  }

 private:
  Opening(MPI_Comm user, const Gathering& gathering);
  Opening(const OpeningCall& call, Status other_mode, const Gathering& gathering);
  void agree_on_arguments(const ModeAndHints& mine, Status other_mode);
};

Opening::Opening(MPI_Comm user, const Gathering& gathering) {
  if (user == MPI_COMM_NULL) throw Error(NC_EINVAL, "the communicator is MPI_COMM_NULL");
  if (!is_mpi_active()) throw Error(NC_EMPI, "MPI is not initialized, or finalized already");
  dataset->comm = gathering.duplicate_of(user);
  dataset->rank = dataset->comm.rank();
  dataset->size = dataset->comm.size();
}

Opening::Opening(const OpeningCall& call, Status other_mode, const Gathering& gathering)
    : Opening(call.comm, gathering) {
  // A rank may have no path, no id pointer, too many open datasets, or no hints that can be read. It must not
  // let the other ranks wait.
  ModeAndHints mine{call.mode, {}};
  const Outcome outcome = outcome_of([&] {
    (void)client_environment();  // throws if the environment is damaged
    check_path(call.path);
    if (call.ncidp == nullptr) throw Error(NC_EINVAL, "the pointer for the id of the dataset is null");
    dataset->ncid = add_dataset(dataset);
    dataset->path = call.path;
    mine.hints = collect_hints(call.info);
    if (dataset->comm.is_root()) mine.coupling = as_texts(rule_of(dataset->path));
  });
  throw_where_failed(outcome, gathering.worst_status(dataset->comm, outcome.status));
  mine.is_safe_mode = is_switched("PNETCDF_SAFE_MODE", false);
  if (!is_switched("PNETCDF_RELAX_COORD_BOUND", true)) dataset->start_rule = formats::StartRule::strict;
  agree_on_arguments(mine, other_mode);
}

void Opening::agree_on_arguments(const ModeAndHints& mine, Status other_mode) {
  ModeAndHints of_root = mode_and_hints_of_root(dataset->comm, mine);
  match = match_of(of_root.coupling);
  mode = of_root.mode;
  dataset->is_safe_mode = of_root.is_safe_mode;  // all ranks compare, or none
  dataset->asked_hints = std::move(of_root.hints);
  if (mode != mine.mode) disagreement = other_mode;
  if (dataset->is_safe_mode) {
    disagreement = worst_status(dataset->comm, disagreement);
    const bool has_other_hints = mine.hints != dataset->asked_hints;
    const int other_hints = worst_status(dataset->comm, has_other_hints ? NC_EMULTIDEFINE_HINTS : NC_NOERR);
    if (disagreement == NC_NOERR) disagreement = other_hints;
  }
  for (const auto& [key, value] : dataset->asked_hints) dataset->info.set(key, value);
  dataset->alignment_hints = alignment_hints_of(dataset->asked_hints);
  dataset->layout_options.data_align_bytes = dataset->alignment_hints.data;
  dataset->layout_options.record_align_bytes = dataset->alignment_hints.record;
  dataset->copies_posted_puts = in_place_swap_of(dataset->asked_hints) == "disable";
}

/// The attributes that make the dataset one of netCDF-4 are none of the program's.
std::vector<std::byte> take_attribute(formats::Attributes& attributes, std::string_view name) {
  const int id = attributes.find(name);
  if (id < 0) return {};
  auto bytes = std::move(attributes[id].values);
  attributes.remove(id);
  return bytes;
}

int finish(Opening& opening, OpenedDriver opened, int* ncidp) {
  auto& dataset = *opening.dataset;
  const std::lock_guard lock(dataset.mutex);
  dataset.driver = std::move(opened.driver);
  dataset.header = std::move(opened.header);
  dataset.netcdf4_file = take_attribute(dataset.header.attributes, formats::netcdf4_file_attribute);
  dataset.netcdf4_changes = take_attribute(dataset.header.attributes, formats::netcdf4_changes_attribute);
  (void)take_attribute(dataset.header.attributes, formats::netcdf4_library_attribute);
  dataset.layout = opened.layout;
  dataset.hints = std::move(opened.hints);
  dataset.stream_number = opened.stream_number;
  *ncidp = dataset.ncid;
  opening.is_finished = true;
  return opening.disagreement;
}

/// The format that the first bytes of a file show: NC_FORMAT_*, or NC_FORMAT_UNKNOWN.
int format_of(const std::array<std::byte, 8>& bytes) {
  if (std::memcmp(bytes.data(), "\211HDF\r\n\032\n", 8) == 0) return format_netcdf4;
  if (std::memcmp(bytes.data(), "CDF", 3) != 0) return format_unknown;
  const int version = std::to_integer<int>(bytes[3]);
  return version == format_classic || version == format_cdf2 || version == format_cdf5 ? version
                                                                                       : format_unknown;
}

}  // namespace

int create(MPI_Comm comm, const char* path, int cmode, MPI_Info info, int* ncidp) {
  Opening opening({comm, path, cmode, info, ncidp, Gathering::Call::create}, NC_EMULTIDEFINE_CMODE);
  check_create_mode(opening.mode);
  check_io_driver(opening.dataset->asked_hints);
  const auto version = version_of_mode(opening.mode);
  const auto& match = opening.match;
  if (!match && opening.dataset->rank == 0)
    tell_of_ordinary_file(client_environment(), path, OrdinaryUse::written);
  auto opened =
      !match ? open_with_burst_buffer(opening.request(), opening.ncid(), true, create_file)
      : is_in_files(match)
          ? create_coupled_file(opening.request(), opening.ncid(), version, client_environment(), *match)
          : create_staged(opening.request(), version, client_environment(), *match);
  opened.header.version = version;
  opening.dataset->is_writable = true;
  opening.dataset->is_new = true;
  opening.dataset->in_define_mode = true;
  return finish(opening, std::move(opened), ncidp);
}

int open(MPI_Comm comm, const char* path, int omode, MPI_Info info, int* ncidp) {
  Opening opening({comm, path, omode, info, ncidp, Gathering::Call::open}, NC_EMULTIDEFINE_OMODE);
  check_open_mode(opening.mode);
  check_io_driver(opening.dataset->asked_hints);
  const auto& match = opening.match;
  const bool writes = (opening.mode & mode_write) != 0;
  if (!match && opening.dataset->rank == 0)
    tell_of_ordinary_file(client_environment(), path, writes ? OrdinaryUse::written : OrdinaryUse::read);
  auto opened = !match ? open_with_burst_buffer(opening.request(), opening.ncid(), writes, open_file)
                : is_in_files(match)
                    ? open_coupled_file(opening.request(), opening.ncid(), client_environment(), *match)
                    : open_staged(opening.request(), client_environment(), *match);
  for (int id = 0; id < opened.header.variable_count(); ++id) opened.header.variable(id).no_fill = false;
  opening.dataset->is_writable = writes;
  return finish(opening, std::move(opened), ncidp);
}

int remove(const char* filename, MPI_Info info) {
  if (filename == nullptr || *filename == '\0')
    throw Error(NC_ENOENT, "the path of the file to delete is empty");
  const auto match = rule_of(filename, runtime::LastLink::stay);
  if (!match)
    delete_file(filename, info);
  else if (is_in_files(match))
    delete_coupled_file(filename, info, client_environment(), *match);
  else
    delete_staged(filename, client_environment(), *match);
  return NC_NOERR;
}

int inq_file_format(const char* filename, int* formatp) {
  if (formatp == nullptr) return NC_NOERR;
  *formatp = format_unknown;
  if (filename == nullptr) check_path(filename);
  if (*filename == '\0') throw Error(NC_ENOENT, "the path of a file is empty");
  FoundFile found{filename, nullptr};
  const auto match = rule_of(filename);
  if (is_in_files(match)) {
    found = find_coupled_file(filename, client_environment(), *match);
  } else if (match) {
    if (const auto version = version_of_staged(client_environment(), *match)) {
      *formatp = static_cast<int>(*version);
      return NC_NOERR;
    }
  }
  if (!match) tell_of_ordinary_file(client_environment(), filename, OrdinaryUse::read);
  const auto file =
      storage::PosixFileSystem().open(storage::without_prefix(found.path), storage::OpenMode::read);
  std::array<std::byte, 8> bytes{};
  const auto size = static_cast<std::int64_t>(bytes.size());
  if (file->size_bytes() < size || file->read(0, bytes) != bytes.size())
    throw Error(NC_EFILE, found.path + " is too short for a netCDF file");
  *formatp = format_of(bytes);
  return NC_NOERR;
}

int set_default_format(int format, int* old_formatp) {
  if (format < format_classic || format > format_cdf5)
    throw Error(NC_EINVAL, std::to_string(format) + " is not a file format");
  const int old = default_format.exchange(format);
  if (old_formatp != nullptr) *old_formatp = old;
  return NC_NOERR;
}

int inq_default_format(int* formatp) {
  if (formatp == nullptr) throw Error(NC_EINVAL, "the pointer for the format is null");
  *formatp = default_format.load();
  return NC_NOERR;
}

}  // namespace sluice::api::ncmpi
