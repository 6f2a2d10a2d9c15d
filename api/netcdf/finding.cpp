#include "finding.hpp"

#include <mpi.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>

#include "carried_calls.hpp"
#include "coupled_group.hpp"
#include "dataset_table.hpp"
#include "functions.hpp"
#include "guard.hpp"
#include "kept_shadows.hpp"
#include "mpi_handles.hpp"
#include "open_driver.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/runtime/file_reading.hpp"
#include "sluice/runtime/packet_socket.hpp"
#include "sluice/runtime/rules.hpp"

namespace sluice::api::netcdf {

namespace {

/// Nobody has a file of that name. The shadow never has one, either: it is in memory.
constexpr const char* shadow_name = "/proc/self/sluice-has-no-such-file.nc";

/// What the program's netCDF calls back for: it hands the table's functions nothing but a path and an id.
thread_local std::shared_ptr<CarriedDataset> dataset_to_come;

/// The definitions of a step, as a CDF file without data. netCDF reads headers in pieces, and refuses memory
/// that ends inside one. `free_bytes` are kept between the header and where the data would begin.
std::vector<std::byte> header_of(int coupled, std::size_t free_bytes) {
  constexpr std::size_t piece_bytes = std::size_t{64} << 10;
  const DatasetUse dataset(coupled);
  formats::Header header = dataset->header;
  header.record_count = 0;
  formats::LayoutOptions options;
  options.header_free_bytes = static_cast<std::int64_t>(free_bytes);
  (void)formats::compute_layout(header, options, nullptr);
  auto bytes = formats::encode_header(header);
  bytes.resize(bytes.size() + piece_bytes);
  return bytes;
}

/// A shadow that is opened for writing is memory of the program's netCDF, which makes it longer.
int make_writable_shadow(CarriedDataset& dataset) {
  const auto header = header_of(dataset.coupled, dataset.space_after_header());
  struct {  // NC_memio
    std::size_t size;
    void* memory;
    int flags;
  } given{header.size(), std::malloc(header.size()), 0};
  if (given.memory == nullptr) return NC_ENOMEM;
  std::memcpy(given.memory, header.data(), header.size());
  const int status = dataset.library.call("nc_open_memio", shadow_name, mode::write,
                                          static_cast<void*>(&given), &dataset.shadow);
  std::free(given.memory);  // null where netCDF has taken it
  return status;
}

int make_described_shadow(CarriedDataset& dataset) {
  if (dataset.is_replaying()) return 0;
  if (dataset.in_define_mode) return dataset.described->create_shadow(dataset.mode, &dataset.shadow);
  constexpr int netcdf4_classic = 4;  // NC_FORMAT_NETCDF4_CLASSIC
  const bool writes = dataset.is_writable;
  const int status =
      take_kept_shadow(dataset)
          ? 0
          : dataset.described->open_shadow(dataset.header, writes ? mode::write : 0, &dataset.shadow);
  int format = 0;
  if (status == 0 && dataset.ask("nc_inq_format", &format) == 0 && format == netcdf4_classic)
    dataset.mode |= mode::classic_model;
  if (status == 0 && writes) dataset.described->take_changed();
  return status;
}

int make_shadow(CarriedDataset& dataset) {
  if (dataset.described) return make_described_shadow(dataset);
  if (dataset.in_define_mode) {
    const int flags = (dataset.mode & (mode::offset64 | mode::data64)) | mode::diskless;
    return dataset.library.call("nc_create", shadow_name, flags, &dataset.shadow);
  }
  if (dataset.is_writable) return make_writable_shadow(dataset);
  dataset.header = header_of(dataset.coupled, 0);
  return dataset.library.call("nc_open_mem", shadow_name, 0, dataset.header.size(),
                              static_cast<void*>(dataset.header.data()), &dataset.shadow);
}

DispatchTable& table();

/// A file that a program leaves open is written when it ends: HDF5 does so, and a file by the C library has
/// what was flushed.
void close_all() noexcept {
  (void)guard([&] {
    for (const int ncid : carried_ids()) {
      const CarriedDataset* const dataset = find_carried(ncid);
      const bool has_contents =
          !dataset->in_define_mode || (dataset->described && !dataset->described->with_values.empty());
      const bool is_own = !dataset->is_parallel && dataset->forks == forks_so_far();
      if (is_own && has_contents && dataset->is_writable) (void)table().close(ncid, nullptr);
    }
    return 0;
  });
}

/// After the first shadow, because HDF5 ends in the opposite order.
void close_at_exit() {
  static const int registered = std::atexit(close_all);
  static_cast<void>(registered);
}

/// netCDF asks for the format's create or open, within the program's.
int take_dataset(int ncid) {
  if (dataset_to_come == nullptr) return NC_EINVAL;  // the program uses the format by itself
  return guard([&] {
    const bool has_shadow = dataset_to_come->shadow >= 0 || dataset_to_come->is_replaying();
    const int status = has_shadow ? 0 : make_shadow(*dataset_to_come);
    if (status != 0) return status;
    add_carried(ncid, std::move(dataset_to_come));
    close_at_exit();
    return status;
  });
}

int create(const char*, int, std::size_t, int, std::size_t*, void*, const DispatchTable*, int ncid) {
  return take_dataset(ncid);
}

int open(const char*, int, int, std::size_t*, void*, const DispatchTable*, int ncid) {
  return take_dataset(ncid);
}

DispatchTable& table() {
  static DispatchTable table = [] {
    DispatchTable made{};
    made.create = create;
    made.open = open;
    add_definitions(made);
    add_data_calls(made);
    add_inquiries(made);
    return made;
  }();
  return table;
}

/// The flag of the format under which the program's netCDF knows the table; 0: it cannot, because its version
/// is another one, or another format has taken both places. There is one table, for the first library that
/// has it.
int register_format(const ProgramLibrary& library) {
  static std::mutex mutex;
  static void* registered_at = nullptr;
  static int flag = 0;
  const std::lock_guard lock(mutex);
  auto* const owner = reinterpret_cast<void*>(library.find<int()>("nc_def_user_format"));
  if (owner == nullptr) return 0;
  if (registered_at != nullptr) return registered_at == owner ? flag : 0;
  constexpr std::array<int, 2> flags{mode::user_format_1, mode::user_format_0};
  for (const int each : flags) {
    DispatchTable* taken = nullptr;
    std::array<char, 64> magic{};
    if (library.call("nc_inq_user_format", each, &taken, magic.data()) == 0 && taken != nullptr) continue;
    for (const int version : {5, 4, 3}) {
      table().model = each == mode::user_format_0 ? 8 : 9;  // NC_FORMATX_UDF0, NC_FORMATX_UDF1
      table().version = version;
      if (library.call("nc_def_user_format", each, &table(), static_cast<char*>(nullptr)) != 0) continue;
      registered_at = owner;
      return flag = each;
    }
  }
  return 0;
}

/// While this object lives, the default format of the program's netCDF is the classic one. With another one,
/// it would be mixed with the user-defined one.
class ClassicByDefault {
 public:
  explicit ClassicByDefault(const ProgramLibrary& library) noexcept : library_(library) {
    if (library_.call("nc_set_default_format", classic, &before_) != 0) before_ = classic;
  }
  ~ClassicByDefault() {
    int ignored = 0;
    (void)library_.call("nc_set_default_format", before_, &ignored);
  }
  ClassicByDefault(const ClassicByDefault&) = delete;
  ClassicByDefault& operator=(const ClassicByDefault&) = delete;

  /// The program's flags of a create, with those of its default format if it has not named any.
  [[nodiscard]] int whole_mode(int asked) const noexcept {
    if ((asked & mode::formats) != 0 || before_ == classic) return asked;
    if (before_ == with_64bit_offset) return asked | mode::offset64;
    if (before_ == with_64bit_data) return asked | mode::data64;
    return asked | mode::netcdf4 | (before_ == netcdf4_classic ? mode::classic_model : 0);
  }

 private:
  static constexpr int classic = 1, with_64bit_offset = 2, netcdf4_classic = 4,
                       with_64bit_data = 5;  // NC_FORMAT_*
  const ProgramLibrary library_;
  int before_ = classic;
};

/// Whether a dataset that is opened for writing goes on as it began: a file from before the run, and a step
/// that is no CDF file, do not.
bool is_cdf_step(const runtime::ClientEnvironment& environment, const runtime::RuleMatch& match) {
  try {
    return version_of_staged(environment, match).has_value();
  } catch (const Error&) {
    return false;  // a program that opens its bytes is told what is wrong
  }
}

/// netCDF refuses a file of several formats.
bool has_one_format(int whole_mode) {
  return std::popcount(static_cast<unsigned>(whole_mode & mode::formats)) <= 1;
}

/// Whether netCDF calls PnetCDF for a dataset of a group, which goes by hyperslabs anyway; or what is not
/// here yet: a change of a dataset by a group.
bool is_left_to_pnetcdf(const sluice_netcdf_call& call, int whole_mode) {
  if (call.group == sluice_netcdf_alone) return (whole_mode & mode::parallel) != 0;
  return call.kind == sluice_netcdf_create ? (whole_mode & mode::netcdf4) == 0
                                           : (whole_mode & mode::write) != 0;
}

/// netCDF itself says what is wrong with a directory.
bool may_make(const std::string& file) {
  return ::access(file.substr(0, file.rfind('/') + 1).c_str(), W_OK | X_OK) == 0;
}

/// The rule of a dataset that may go by hyperslabs.
std::optional<runtime::RuleMatch> find_rule_of(const sluice_netcdf_call& call) {
  constexpr int by_bytes =
      mode::diskless | mode::mmap | mode::in_memory | mode::user_format_0 | mode::user_format_1;
  if (call.path == nullptr || call.ncid == nullptr || (call.mode & by_bytes) != 0) return std::nullopt;
  const auto environment = runtime::read_client_environment();
  if (!environment.is_coupled()) return std::nullopt;
  auto match = runtime::find_rule(environment, call.path);
  return match && match->rule.has_hyperslabs ? std::move(match) : std::nullopt;
}

bool is_carried(const sluice_netcdf_call& call, int whole_mode, const runtime::RuleMatch& match) {
  const runtime::ClientRule& rule = match.rule;
  if (call.kind == sluice_netcdf_create)
    return rule.writes && has_one_format(whole_mode) && may_make(match.file);
  if ((whole_mode & mode::write) != 0)
    return rule.writes && is_cdf_step(runtime::read_client_environment(), match);
  return rule.reads && !rule.writes && !rule.is_stream;
}

/// A handle of MPI, of C or of Fortran, that has come in a word.
template <class Handle>
Handle handle_in(const void* word) noexcept {
  Handle handle{};
  std::memcpy(&handle, &word, sizeof handle);
  return handle;
}

MPI_Comm communicator_of(const sluice_netcdf_call& call) {
  if (call.group == sluice_netcdf_alone) return MPI_COMM_SELF;
  return call.group == sluice_netcdf_of_c ? handle_in<MPI_Comm>(call.comm)
                                          : MPI_Comm_f2c(handle_in<MPI_Fint>(call.comm));
}

MPI_Info hints_of(const sluice_netcdf_call& call) {
  if (call.group == sluice_netcdf_alone) return MPI_INFO_NULL;
  return call.group == sluice_netcdf_of_c ? handle_in<MPI_Info>(call.info)
                                          : MPI_Info_f2c(handle_in<MPI_Fint>(call.info));
}

int open_coupled(const sluice_netcdf_call& call, int whole_mode, int* coupled) {
  int flags = whole_mode & (mode::noclobber | mode::offset64 | mode::data64);
  if ((whole_mode & mode::netcdf4) != 0) flags |= mode::data64;
  return guard([&] {
    const MPI_Comm comm = communicator_of(call);
    const MPI_Info hints = hints_of(call);
    return call.kind == sluice_netcdf_create
               ? ncmpi::create(comm, call.path, flags, hints, coupled)
               : ncmpi::open(comm, call.path, whole_mode & mode::write, hints, coupled);
  });
}

/// What the header of an opened dataset says.
void describe_opened(CarriedDataset& dataset) {
  const DatasetUse use(dataset.coupled);
  dataset.header = std::exchange(use->netcdf4_file, {});
  if (use->header.version == formats::Version::cdf2) dataset.mode |= mode::offset64;
  if (use->header.version == formats::Version::cdf5) dataset.mode |= mode::data64;
  dataset.has_placed_variables = use->header.variable_count() > 0;
  if (!dataset.is_writable && !dataset.is_parallel && !use->driver->published_record_count())
    dataset.read_blocks.emplace();
}

/// netCDF looks at the first bytes of each file that it opens, also where the format is known.
runtime::FileDescriptor make_readable_file() {
  runtime::FileDescriptor file(::memfd_create("sluice-netcdf", MFD_CLOEXEC));
  const std::array<char, 32> empty{'C', 'D', 'F', '\1'};
  if (!file || ::write(file.number(), empty.data(), empty.size()) != static_cast<ssize_t>(empty.size()))
    throw Error(NC_EFILE, "no memory, or no descriptor, for a dataset of netCDF");
  return file;
}

/// The program's netCDF gives out an id for the dataset, by our format.
int hand_over(const sluice_netcdf_call& call, int format_flag, std::shared_ptr<CarriedDataset> dataset) {
  const ProgramLibrary library(call.library);
  const runtime::FileDescriptor file = make_readable_file();
  const std::string path = "/proc/self/fd/" + std::to_string(file.number());
  dataset_to_come = std::move(dataset);
  const int status = call.kind == sluice_netcdf_create
                         ? library.call("nc_create", path.c_str(), format_flag, call.ncid)
                         : library.call("nc_open", path.c_str(), format_flag, call.ncid);
  const auto left = std::exchange(dataset_to_come, nullptr);
  if (left != nullptr && left.use_count() == 1) {  // nobody has taken it
    const int coupled = left->coupled;
    const bool is_writable = left->is_writable;
    (void)guard([&] { return is_writable ? ncmpi::abort(coupled) : ncmpi::close(coupled); });
  }
  return status;
}

/// Readers that see each definition at once need a shadow all the time.
bool may_replay(int coupled, const runtime::ClientRule& rule) {
  return !rule.is_done_anew && !DatasetUse(coupled)->driver->shows_definitions_at_once();
}

/// Equal definitions have equal results in datasets of one kind: by one library, with the same rules.
std::string kind_of(const sluice_netcdf_call& call, int whole_mode) {
  const bool is_classic_model = (whole_mode & mode::classic_model) != 0;
  return std::to_string(reinterpret_cast<std::uintptr_t>(call.library)) + (is_classic_model ? "c" : "");
}

int find_by_path(const sluice_netcdf_call& call) {
  const auto match = find_rule_of(call);
  if (!match) return sluice_netcdf_is_ordinary;
  const ProgramLibrary library(call.library);
  const bool creates = call.kind == sluice_netcdf_create;
  const ClassicByDefault classic(library);
  const int mode = creates ? classic.whole_mode(call.mode) : call.mode;
  if (is_left_to_pnetcdf(call, mode)) return sluice_netcdf_is_ordinary;
  auto written = creates ? nullptr : find_written(match->file);
  if (written != nullptr) return hand_over(call, register_format(library), std::move(written));
  if (!is_carried(call, mode, *match)) return sluice_netcdf_is_ordinary;
  const int flag = register_format(library);
  if (flag == 0) {
    complain("its netCDF cannot be coupled by hyperslabs: " + std::string(call.path) +
             " goes by its bytes (versions 4.8 and 4.9 can, one library for each process)");
    return sluice_netcdf_is_ordinary;
  }
  int coupled = -1;
  const int status = open_coupled(call, mode, &coupled);
  // A step that is no CDF file, and what is not there: reading its bytes gives netCDF's own answer. Who would
  // change a step of which another process waits for it must not make a file of its own.
  const bool writes = creates || (mode & mode::write) != 0;
  if (status != 0 && writes) return status == NC_ENOENT ? EBUSY : status;
  if (status != 0) return sluice_netcdf_is_ordinary;
  auto dataset = std::make_shared<CarriedDataset>(CarriedDataset{library, match->file});
  dataset->mode = mode;
  dataset->in_define_mode = creates;
  dataset->is_writable = writes;
  dataset->is_parallel = call.group != sluice_netcdf_alone;
  dataset->coupled = coupled;
  dataset->forks = forks_so_far();
  if (!creates) describe_opened(*dataset);
  if (creates ? (mode & mode::netcdf4) != 0 : !dataset->header.empty())
    dataset->described = std::make_unique<DescribedDataset>(library, coupled);
  if (dataset->described) dataset->described->is_altered = match->rule.is_done_anew;
  if (creates && dataset->described && may_replay(coupled, match->rule))
    dataset->described->replay = std::make_shared<DefinitionReplay>(kind_of(call, mode));
  return hand_over(call, flag, std::move(dataset));
}

int tell_shadow(const sluice_netcdf_call& call) {
  if (find_carried(*call.ncid) == nullptr) return sluice_netcdf_is_ordinary;
  const int status = carried(*call.ncid)->make_real();
  if (status == 0) *call.ncid = carried(*call.ncid).shadow();
  return status;
}

int tell_path(const sluice_netcdf_call& call) {
  const CarriedDataset* const dataset = find_carried(*call.ncid);
  if (dataset == nullptr) return sluice_netcdf_is_ordinary;
  const std::string path = dataset->is_plain() ? dataset->file : DatasetUse(dataset->coupled)->path;
  if (call.length != nullptr) *call.length = path.size();
  if (call.text != nullptr) std::strcpy(call.text, path.c_str());
  return 0;
}

}  // namespace

void complain(const std::string& text, std::uint32_t rule) {
  process_session(runtime::read_client_environment())->complain({rule, text});
}

int find_dataset_of_program(const sluice_netcdf_call& call) noexcept {
  return guard([&] {
    if (call.kind == sluice_netcdf_path) return tell_path(call);
    return call.kind == sluice_netcdf_shadow ? tell_shadow(call) : find_by_path(call);
  });
}

}  // namespace sluice::api::netcdf
