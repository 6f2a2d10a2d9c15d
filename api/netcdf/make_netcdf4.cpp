// sluice-netcdf4 FIRST SECOND: compares two netCDF-4 files; prints "equal", or "different: " and what.
// sluice-netcdf4 <> DATASET 3<> FILE: writes the netCDF-4 file of a step to the empty FILE. DATASET is the
// step as a file of the classic model, which is no good afterwards: its values are put from where they are.
// It has the netCDF-4 file without values as an attribute (formats/netcdf4.hpp). sluice-netcdf4 --describe,
// --values VARIABLE START COUNT STRIDE: what the file at descriptor 3 has. A program of its own, because
// neither the matcher nor `sluice` has netCDF, and they have to outlive an error in one.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "look_netcdf4.hpp"
#include "netcdf4_files.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/formats/convert.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/formats/layout.hpp"
#include "sluice/formats/names.hpp"
#include "sluice/formats/netcdf4.hpp"

namespace sluice::api::netcdf {
namespace {

constexpr int descriptor = 3;  // of the file
constexpr const char* path_of_file = "/proc/self/fd/3";

std::span<std::byte> map_input() {
  struct stat facts {};
  if (::fstat(STDIN_FILENO, &facts) != 0 || facts.st_size == 0)
    throw Error(NC_EFILE, "no dataset on standard input");
  const auto bytes = static_cast<std::size_t>(facts.st_size);
  void* const mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, STDIN_FILENO, 0);
  if (mapped == MAP_FAILED) throw Error(NC_ENOMEM, "the dataset on standard input cannot be mapped");
  return {static_cast<std::byte*>(mapped), bytes};
}

std::span<const std::byte> attribute(const formats::Header& header, std::string_view name) {
  const int id = header.attributes.find(name);
  if (id < 0) throw Error(NC_ENOTNC4, "the dataset was not written as a netCDF-4 file");
  return header.attributes[id].values;
}

void write_file(std::span<const std::byte> bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t written =
        ::pwrite(descriptor, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (written <= 0) throw Error(NC_EIO, "the file cannot be written");
    done += static_cast<std::size_t>(written);
  }
}

/// Some rows of a variable, with values as a program has them in memory.
struct Rows {
  int group = 0;
  int variable = 0;
  std::size_t element_bytes = 1;
  std::size_t pitch = 0;  ///< 0: the rows lie side by side
  std::vector<std::size_t> start, count;
  std::span<std::byte> values;

  void reverse() {  // the dataset is big-endian
    formats::copy_ordered(values.data(), values.data(), element_bytes,
                          static_cast<std::int64_t>(values.size() / element_bytes), formats::ByteOrder::big);
  }
};

/// netCDF 4.9 keeps the name of a variable that was renamed as it was given, and then does not find it.
int find_variable(const ProgramLibrary& library, int group, const std::string& name) {
  int id = 0;
  if (library.call("nc_inq_varid", group, name.c_str(), &id) == 0) return id;
  int variables = 0;
  library.ask("nc_inq_nvars", group, &variables);
  for (id = 0; id < variables; ++id) {
    std::array<char, formats::max_name_bytes + 1> each{};
    library.ask("nc_inq_varname", group, id, each.data());
    if (formats::normalised_name(each.data()) == name) return id;
  }
  throw Error(NC_ENOTVAR, "the dataset's netCDF-4 file has no variable '" + name + "'");
}

/// `name`: with all groups.
Rows find_rows(const ProgramLibrary& library, int file, const std::string& name,
               const std::vector<std::int64_t>& shape) {
  Rows rows;
  rows.group = file;
  const std::size_t slash = name.rfind('/');
  if (slash != std::string::npos)
    library.ask("nc_inq_grp_full_ncid", file, ("/" + name.substr(0, slash)).c_str(), &rows.group);
  rows.variable = find_variable(library, rows.group, name.substr(slash == std::string::npos ? 0 : slash + 1));
  rows.start.resize(shape.size() + 1);
  rows.count.assign(shape.begin(), shape.end());
  rows.count.push_back(1);
  return rows;
}

/// netCDF 4.9 puts values to a variable of the other byte order, in a file that it has opened, as they are:
/// what it gives back tells.
void put(const ProgramLibrary& library, Rows& rows) {
  const auto* const start = static_cast<const std::size_t*>(rows.start.data());
  const auto* const count = static_cast<const std::size_t*>(rows.count.data());
  const auto* const values = static_cast<const void*>(rows.values.data());
  library.ask("nc_put_vara", rows.group, rows.variable, start, count, values);
  int order = 0;
  library.ask("nc_inq_var_endian", rows.group, rows.variable, &order);
  constexpr int other_order = formats::native_byte_order == formats::ByteOrder::little ? 2 : 1;
  if (order != other_order) return;
  std::vector<std::byte> back(rows.values.size());
  library.ask("nc_get_vara", rows.group, rows.variable, start, count, static_cast<void*>(back.data()));
  if (std::ranges::equal(back, rows.values)) return;
  rows.reverse();
  library.ask("nc_put_vara", rows.group, rows.variable, start, count, values);
}

/// A variable without chunks is put at once: otherwise HDF5 first fills all of it. No chunk is put in parts.
std::size_t rows_at_once(const ProgramLibrary& library, const Rows& rows, std::size_t row_bytes) {
  int storage = 0;
  constexpr int chunked = 0;  // NC_CHUNKED
  std::vector<std::size_t> chunk(rows.count.size());
  library.ask("nc_inq_var_chunking", rows.group, rows.variable, &storage, chunk.data());
  if (storage != chunked) return rows.count[0];
  const std::size_t rows_of_chunk = std::max<std::size_t>(1, chunk[0]);
  return rows_of_chunk * std::max<std::size_t>(1, most_bytes_at_once / row_bytes / rows_of_chunk);
}

/// Rows that lie `pitch` bytes from each other, side by side.
std::vector<std::byte> gathered(std::span<const std::byte> from, std::size_t rows, std::size_t row_bytes,
                                std::size_t pitch) {
  std::vector<std::byte> all(rows * row_bytes);
  for (std::size_t i = 0; i < rows; ++i)
    std::memcpy(all.data() + i * row_bytes, from.subspan(i * pitch, row_bytes).data(), row_bytes);
  return all;
}

/// Puts the values of the variable, whose rows are `rows.pitch` bytes from each other in the dataset.
void put(const ProgramLibrary& library, Rows& rows, const formats::Variable& variable,
         std::span<std::byte> dataset) {
  if (std::ranges::find(rows.count, 0U) != rows.count.end()) return;
  rows.element_bytes = formats::size_of(variable.type);
  std::size_t row_bytes = rows.element_bytes;
  for (std::size_t i = 1; i < rows.count.size(); ++i) row_bytes *= rows.count[i];
  const std::size_t all = rows.count[0];
  const std::size_t pitch = rows.pitch == 0 ? row_bytes : rows.pitch;
  const std::size_t at_once = rows_at_once(library, rows, row_bytes);
  auto from = static_cast<std::size_t>(variable.begin);
  for (std::size_t row = 0; row < all; row += at_once, from += at_once * pitch) {
    const std::size_t count = std::min(at_once, all - row);
    std::vector<std::byte> copy;
    if (pitch != row_bytes) copy = gathered(dataset.subspan(from), count, row_bytes, pitch);
    rows.start[0] = row;
    rows.count[0] = count;
    rows.values = pitch != row_bytes ? std::span(copy) : dataset.subspan(from, count * row_bytes);
    rows.reverse();
    put(library, rows);
  }
}

/// Attributes that the dataset has with other values than the netCDF-4 file.
void change_attributes(const ProgramLibrary& library, int file, const formats::Header& header) {
  const int list = header.attributes.find(formats::netcdf4_changes_attribute);
  if (list < 0) return;
  constexpr int global = -1;
  (void)library.call("nc_redef", file);  // a file of the classic model needs it
  const auto change = [&](int id, const formats::Attribute& attribute) {
    Rows place;
    place.group = file;
    place.variable = global;
    if (id != global) place = find_rows(library, file, header.variable(id).name, {});
    put_attribute(library, place.group, place.variable, attribute);
  };
  formats::for_each_netcdf4_change(header.attributes[list].values, header, change);
  (void)library.call("nc_enddef", file);
}

void make_file() {
  const auto dataset = map_input();
  const auto decoded =
      formats::decode_header(dataset, true, static_cast<std::int64_t>(dataset.size()), "the step");
  if (!decoded) throw Error(NC_ENOTNC, "the step has no header");
  const formats::Header& header = decoded->header;
  write_file(attribute(header, formats::netcdf4_file_attribute));
  const auto maker = attribute(header, formats::netcdf4_library_attribute);
  std::istringstream lines(std::string(reinterpret_cast<const char*>(maker.data()), maker.size()));
  std::string path_of_library;
  std::getline(lines, path_of_library);
  const ProgramLibrary library = load_library(path_of_library);
  int threshold = 0, alignment = 0;
  if (lines >> threshold >> alignment) library.ask("nc_set_alignment", threshold, alignment);
  const auto layout = formats::layout_of(header, formats::encoded_size(header));
  constexpr int writes = 1;
  int file = 0;
  library.ask("nc_open", path_of_file, writes, &file);
  change_attributes(library, file, header);
  for (int id = 0; id < header.variable_count(); ++id) {
    Rows rows = find_rows(library, file, header.variable(id).name, header.shape(id));
    if (header.is_record_variable(id)) rows.pitch = static_cast<std::size_t>(layout.record_size);
    put(library, rows, header.variable(id), dataset);
  }
  library.ask("nc_close", file);
}

void compare(const char* first, const char* second) {
  const auto difference = difference_of(load_library(""), first, second);
  (void)std::printf(difference ? "different: %s" : "equal", difference.value_or("").c_str());
}

/// For `sluice serve`. Returns false when the arguments are others.
bool look(std::span<char*> words) {
  const std::string_view first = words.size() > 1 ? words[1] : "";
  if (first == "--describe") return describe_netcdf4(descriptor), true;
  if (first != "--values" || words.size() != 6) return false;
  return print_values(descriptor, words[2], words[3], words[4], words[5]), true;
}

}  // namespace
}  // namespace sluice::api::netcdf

/// HDF5 resolves a symbolic link before it opens it, but a file in memory has no other name.
extern "C" __attribute__((visibility("default"))) char* realpath(const char* path, char* resolved) noexcept {
  using Function = char* (*)(const char*, char*);
  static const auto real = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, "realpath"));
  const bool is_the_file = resolved == nullptr && std::strcmp(path, sluice::api::netcdf::path_of_file) == 0;
  return is_the_file ? ::strdup(path) : real(path, resolved);
}

int main(int argc, char** argv) {
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
  try {
    if (sluice::api::netcdf::look({argv, static_cast<std::size_t>(argc)})) return 0;
  } catch (const std::exception& error) {
    (void)std::printf("%s\n", error.what());
    return 1;
  }
  if (argc != 1 && argc != 3) return 2;
  (void)::setenv("HDF5_USE_FILE_LOCKING", "FALSE", 1);  // who has started it has locked the file
  try {
    argc == 1 ? sluice::api::netcdf::make_file() : sluice::api::netcdf::compare(argv[1], argv[2]);
    return 0;
  } catch (const std::exception& error) {
    (void)std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
