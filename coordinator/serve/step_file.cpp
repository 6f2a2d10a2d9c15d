#include "step_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>

#include "child_process.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/formats/convert.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/formats/layout.hpp"
#include "sluice/storage/netcdf4_file.hpp"

namespace sluice::coordinator {
namespace {

/// Reads what is there; less at the end of the file.
std::size_t read_at(int file, std::int64_t offset, std::byte* to, std::size_t bytes) {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t more = ::pread(file, to + done, bytes - done, offset + static_cast<std::int64_t>(done));
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) throw IoError(NC_EREAD, errno, "the published file", "read");
    if (more == 0) break;
    done += static_cast<std::size_t>(more);
  }
  return done;
}

std::int64_t size_of(int file) {
  struct stat facts {};
  return ::fstat(file, &facts) == 0 ? facts.st_size : 0;
}

formats::DecodedHeader read_header(int file, const std::string& name) {
  constexpr std::size_t first_bytes = std::size_t{64} << 10;
  constexpr std::size_t most_bytes = std::size_t{64} << 20;
  const std::int64_t all = size_of(file);
  for (std::size_t bytes = first_bytes; bytes <= most_bytes; bytes *= 4) {
    std::vector<std::byte> prefix(bytes);
    prefix.resize(read_at(file, 0, prefix.data(), bytes));
    if (auto decoded = formats::decode_header(prefix, prefix.size() < bytes, all, name)) return *decoded;
  }
  throw Error(NC_ENOMEM, name + ": its header has more than 64 MiB, which is too much for a page");
}

bool is_hdf5(int file) {
  constexpr std::string_view magic = "\x89HDF";
  std::array<std::byte, magic.size()> begin{};
  return read_at(file, 0, begin.data(), begin.size()) == magic.size() &&
         std::memcmp(begin.data(), magic.data(), magic.size()) == 0;
}

/// The bytes of some elements of a file, gathered in the order of a slab. Neighbours are read together.
class Gathering {
 public:
  Gathering(int file, std::size_t element_bytes, bool is_dense)
      : file_(file), element_bytes_(element_bytes), is_dense_(is_dense) {}

  /// `steps`: bytes from one element of the slab to the next one, by dimension.
  void add(std::int64_t offset, const formats::Hyperslab& slab, const std::vector<std::int64_t>& steps,
           std::size_t dimension) {
    if (dimension == steps.size()) return add_element(offset);
    for (std::int64_t i = 0; i < slab.count[dimension]; ++i)
      add(offset + i * steps[dimension], slab, steps, dimension + 1);
  }

  std::vector<std::byte> bytes;

 private:
  static constexpr std::size_t window_bytes = std::size_t{64} << 10;

  void add_element(std::int64_t offset) {
    const std::int64_t end = offset + static_cast<std::int64_t>(element_bytes_);
    if (offset < begin_ || end > begin_ + static_cast<std::int64_t>(window_.size())) fill(offset);
    if (end > begin_ + static_cast<std::int64_t>(window_.size()))
      throw Error(NC_EREAD, "the file ends before its last value: it is being written, or damaged");
    const auto from = window_.begin() + (offset - begin_);
    bytes.insert(bytes.end(), from, from + static_cast<std::ptrdiff_t>(element_bytes_));
  }
  void fill(std::int64_t offset) {
    begin_ = offset;
    window_.resize(is_dense_ ? window_bytes : element_bytes_);
    window_.resize(read_at(file_, offset, window_.data(), window_.size()));
  }

  int file_;
  std::size_t element_bytes_;
  std::int64_t begin_ = 0;
  std::vector<std::byte> window_;
  bool is_dense_;
};

/// Whether it pays to read what lies between the elements of the slab, too.
bool is_dense(const formats::Hyperslab& slab, const std::vector<std::int64_t>& steps) {
  constexpr std::int64_t dense_bytes = 512;
  for (std::size_t d = 0; d < steps.size(); ++d)
    if (slab.count[d] > 1 && steps[d] <= dense_bytes) return true;
  return false;
}

std::string joined(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

/// All that comes through the pipe. Throws Error when it is too much, or takes too long.
std::vector<std::byte> read_all(int pipe) {
  constexpr std::chrono::seconds most_time{20};
  constexpr std::size_t most_bytes = std::size_t{64} << 20;
  const auto end = std::chrono::steady_clock::now() + most_time;
  std::vector<std::byte> all;
  for (std::vector<std::byte> piece(std::size_t{64} << 10);;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd line{pipe, POLLIN, 0};
    if (left.count() <= 0 || all.size() > most_bytes || ::poll(&line, 1, static_cast<int>(left.count())) == 0)
      throw Error(NC_EREAD, "reading it by netCDF takes too long, or is too much for a page");
    const ssize_t bytes = ::read(pipe, piece.data(), piece.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return all;
    all.insert(all.end(), piece.begin(), piece.begin() + bytes);
  }
}

/// What sluice-netcdf4 prints of the file. Throws Error with what it says of a failure.
std::vector<std::byte> ask_netcdf(int file, std::vector<std::string> arguments) {
  const std::string program = storage::netcdf4_program();
  arguments.insert(arguments.begin(), program);
  Pipe pipe = make_pipe();
  const runtime::FileDescriptor nothing(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  const pid_t child = start_child({program,
                                   arguments,
                                   current_environment(),
                                   {},
                                   pipe.write_end.number(),
                                   nothing.number(),
                                   {file},
                                   SIGKILL});
  pipe.write_end.reset();
  std::vector<std::byte> said;
  try {
    said = read_all(pipe.read_end.number());
  } catch (...) {
    (void)::kill(child, SIGKILL);
    (void)wait_for_end(child);
    throw;
  }
  if (wait_for_end(child) == 0) return said;
  throw Error(NC_EREAD, said.empty() ? "sluice-netcdf4 was killed"
                                     : std::string(reinterpret_cast<const char*>(said.data()), said.size()));
}

}  // namespace

StepFile::StepFile(runtime::FileDescriptor file, std::string name)
    : file_(std::move(file)), name_(std::move(name)), is_netcdf4_(is_hdf5(file_.number())) {
  if (is_netcdf4_) {
    header_ = formats::decode_metadata(ask_netcdf(file_.number(), {"--describe"}), name_);
    return;
  }
  auto decoded = read_header(file_.number(), name_);
  header_ = std::move(decoded.header);
  header_bytes_ = decoded.size_bytes;
}

std::vector<double> StepFile::values(int varid, const formats::Hyperslab& slab) const {
  const auto shape = header_.shape(varid);
  if (formats::check_selection(slab.view(), shape, header_.is_record_variable(varid), false) != NC_NOERR)
    throw Error(NC_EEDGE, "the variable " + header_.variable(varid).name + " does not reach so far");
  if (slab.view().elements() > most_values) throw Error(NC_EINVAL, "these are too many values for a page");
  return is_netcdf4_ ? netcdf4_values(varid, slab) : classic_values(varid, slab);
}

std::vector<double> StepFile::classic_values(int varid, const formats::Hyperslab& slab) const {
  const formats::Variable& variable = header_.variable(varid);
  const std::vector<std::int64_t> shape = header_.shape(varid);
  const auto element_bytes = static_cast<std::int64_t>(formats::size_of(variable.type));
  std::vector<std::int64_t> steps(shape.size());
  std::int64_t offset = variable.begin, bytes = element_bytes;
  for (std::size_t d = shape.size(); d-- > 0; bytes *= shape[d]) {
    const bool is_record = d == 0 && header_.is_record_variable(varid);
    steps[d] = is_record ? formats::layout_of(header_, header_bytes_).record_size : bytes;
    offset += slab.start[d] * steps[d];
    steps[d] *= slab.stride[d];
  }
  const std::int64_t elements = slab.view().elements();
  Gathering gathering(file_.number(), static_cast<std::size_t>(element_bytes), is_dense(slab, steps));
  gathering.add(offset, slab, steps, 0);
  std::vector<double> values(static_cast<std::size_t>(elements));
  formats::copy_ordered(gathering.bytes.data(), gathering.bytes.data(),
                        static_cast<std::size_t>(element_bytes), elements, formats::ByteOrder::big);
  (void)formats::convert_casting(formats::Type::float64, values.data(), variable.type, gathering.bytes.data(),
                                 elements);
  return values;
}

std::vector<double> StepFile::netcdf4_values(int varid, const formats::Hyperslab& slab) const {
  const auto bytes = ask_netcdf(file_.number(), {"--values", header_.variable(varid).name, joined(slab.start),
                                                 joined(slab.count), joined(slab.stride)});
  std::vector<double> values(static_cast<std::size_t>(slab.view().elements()));
  if (bytes.size() != values.size() * sizeof(double))
    throw Error(NC_EREAD, "sluice-netcdf4 gave too few values");
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace sluice::coordinator
