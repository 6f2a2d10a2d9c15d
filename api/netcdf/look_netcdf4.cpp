#include "look_netcdf4.hpp"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <sstream>
#include <vector>

#include "netcdf4_files.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::api::netcdf {
namespace {

using formats::Type;

/// The file of a descriptor, without a copy: an image in memory has no name that HDF5 could open.
class OpenFile {
 public:
  explicit OpenFile(int descriptor) : library(load_library("")) {
    struct stat facts {};
    if (::fstat(descriptor, &facts) != 0 || facts.st_size == 0) throw Error(NC_EFILE, "the file is empty");
    const auto bytes = static_cast<std::size_t>(facts.st_size);
    void* const mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, descriptor, 0);
    if (mapped == MAP_FAILED) throw Error(NC_ENOMEM, "the file cannot be mapped");
    library.ask("nc_open_mem", "published", 0, bytes, mapped, &id);
  }
  ~OpenFile() { (void)library.call("nc_close", id); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  /// The definitions as a header of CDF-5.
  [[nodiscard]] formats::Header describe() {
    header_ = {};
    header_.version = formats::Version::cdf5;
    add_group(id, "");
    return std::move(header_);
  }

  ProgramLibrary library;
  int id = 0;

 private:
  template <class... Parameters>
  std::vector<int> list(const char* function, int group, Parameters... more) const {
    int count = 0;
    library.ask(function, group, &count, static_cast<int*>(nullptr), more...);
    std::vector<int> ids(static_cast<std::size_t>(count) + 1);
    library.ask(function, group, &count, ids.data(), more...);
    ids.resize(static_cast<std::size_t>(count));
    return ids;
  }

  void add_group(int group, const std::string& prefix) {
    for (const int id : list("nc_inq_dimids", group, 0)) add_dimension(group, prefix, id);
    if (prefix.empty()) add_attributes(group, global, header_.attributes);
    for (const int id : list("nc_inq_varids", group)) add_variable(group, prefix, id);
    for (const int each : list("nc_inq_grps", group)) {
      NameText name{};
      library.ask("nc_inq_grpname", each, name.data());
      add_group(each, prefix + name.data() + "/");
    }
  }

  /// One of length 0 would be the record dimension.
  void add_dimension(int group, const std::string& prefix, int id) {
    NameText name{};
    std::size_t length = 0;
    library.ask("nc_inq_dim", group, id, name.data(), &length);
    if (length > 0)
      dimensions_[id] = header_.add_dimension({prefix + name.data(), static_cast<std::int64_t>(length)});
  }

  void add_variable(int group, const std::string& prefix, int id) {
    NameText name{};
    int count = 0;
    nc_type type = 0;
    library.ask("nc_inq_varndims", group, id, &count);
    std::vector<int> dimids(static_cast<std::size_t>(count) + 1);
    library.ask("nc_inq_var", group, id, name.data(), &type, &count, dimids.data(),
                static_cast<int*>(nullptr));
    if (!is_number(type)) return;
    formats::Variable variable;
    variable.name = prefix + name.data();
    variable.type = static_cast<Type>(type);
    for (int i = 0; i < count; ++i) {
      const auto found = dimensions_.find(dimids[static_cast<std::size_t>(i)]);
      if (found == dimensions_.end()) return;
      variable.dimids.push_back(found->second);
    }
    add_attributes(group, id, variable.attributes);
    header_.add_variable(std::move(variable));
  }

  void add_attributes(int group, int variable, formats::Attributes& attributes) const {
    int count = 0;
    library.ask("nc_inq_varnatts", group, variable, &count);
    for (int i = 0; i < count; ++i) {
      NameText name{};
      nc_type type = 0;
      std::size_t values = 0;
      library.ask("nc_inq_attname", group, variable, i, name.data());
      const auto* const text = static_cast<const char*>(name.data());
      library.ask("nc_inq_att", group, variable, text, &type, &values);
      if (type == string_type) add_string(group, variable, text, values, attributes);
      if (type >= string_type) continue;
      formats::Attribute attribute{text, static_cast<Type>(type), static_cast<std::int64_t>(values), {}};
      attribute.values.resize(values * formats::size_of(attribute.type));
      attribute.values.reserve(1);
      library.ask("nc_get_att", group, variable, text, static_cast<void*>(attribute.values.data()));
      attributes.append(std::move(attribute));
    }
  }

  /// One string becomes a text, as classic formats have it: units of netCDF-4 files are often strings.
  void add_string(int group, int variable, const char* name, std::size_t values,
                  formats::Attributes& attributes) const {
    if (values != 1) return;
    char* text = nullptr;
    library.ask("nc_get_att_string", group, variable, name, &text);
    const std::string copy = text == nullptr ? "" : text;
    library.ask("nc_free_string", values, &text);
    const auto* const begin = reinterpret_cast<const std::byte*>(copy.data());
    attributes.append(
        {name, Type::text, static_cast<std::int64_t>(copy.size()), {begin, begin + copy.size()}});
  }

  static bool is_number(nc_type type) {
    return formats::is_valid(static_cast<Type>(type)) && static_cast<Type>(type) != Type::text;
  }

  static constexpr int global = -1;
  static constexpr nc_type string_type = 12;
  using NameText = std::array<char, 257>;
  formats::Header header_;
  std::map<int, int> dimensions_;  ///< of the file, as they are in the header
};

template <class Number>
std::vector<Number> numbers_in(const std::string& text) {
  std::vector<Number> numbers;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');)
    numbers.push_back(static_cast<Number>(std::stoll(word)));
  numbers.push_back(1);  // so that a scalar has an address
  return numbers;
}

void print(const void* bytes, std::size_t count) {
  if (std::fwrite(bytes, 1, count, stdout) != count || std::fflush(stdout) != 0)
    throw Error(NC_EIO, "nobody reads the values");
}

}  // namespace

void describe_netcdf4(int descriptor) {
  const auto bytes = formats::encode_header(OpenFile(descriptor).describe());
  print(bytes.data(), bytes.size());
}

void print_values(int descriptor, const std::string& variable, const std::string& start,
                  const std::string& count, const std::string& stride) {
  const OpenFile file(descriptor);
  const auto first = numbers_in<std::size_t>(start), counts = numbers_in<std::size_t>(count);
  const auto steps = numbers_in<std::ptrdiff_t>(stride);
  int group = file.id, id = 0;
  const std::size_t slash = variable.rfind('/');
  if (slash != std::string::npos)
    file.library.ask("nc_inq_grp_full_ncid", file.id, ("/" + variable.substr(0, slash)).c_str(), &group);
  file.library.ask("nc_inq_varid", group, variable.c_str() + (slash == std::string::npos ? 0 : slash + 1),
                   &id);
  std::size_t elements = 1;
  for (const std::size_t each : counts) elements *= each;
  std::vector<double> values(elements);
  const bool has_steps = std::ranges::find_if(steps, [](auto step) { return step != 1; }) != steps.end();
  if (has_steps)
    file.library.ask("nc_get_vars_double", group, id, first.data(), counts.data(), steps.data(),
                     values.data());
  else
    file.library.ask("nc_get_vara_double", group, id, first.data(), counts.data(), values.data());
  print(values.data(), values.size() * sizeof(double));
}

}  // namespace sluice::api::netcdf
