#include "netcdf4_files.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace sluice::api::netcdf {

namespace {

constexpr int global = -1;
constexpr nc_type string_type = 12;
constexpr std::size_t most_name_bytes = 257;

using NameText = std::array<char, most_name_bytes>;

/// One of the files. Texts of it have equal bytes where programs find the same.
class NetcdfFile {
 public:
  NetcdfFile(const ProgramLibrary& library, const char* path) : library_(library) {
    library_.ask("nc_open", path, 0, &file_);
    library_.ask("nc_inq_att", file_, global, "_NCProperties", static_cast<nc_type*>(nullptr),
                 static_cast<std::size_t*>(nullptr));
  }
  ~NetcdfFile() { (void)library_.call("nc_close", file_); }
  NetcdfFile(const NetcdfFile&) = delete;
  NetcdfFile& operator=(const NetcdfFile&) = delete;

  /// What it is, and its text.
  using Line = std::array<std::string, 2>;
  struct Variable {
    std::string name;
    int group = 0;
    int id = 0;
    nc_type type = 0;
    std::vector<std::size_t> shape = {};
  };

  /// All definitions, in order.
  [[nodiscard]] const std::vector<Line>& lines() const noexcept { return lines_; }
  [[nodiscard]] const std::vector<Variable>& variables() const noexcept { return variables_; }
  void describe() { describe_group(file_, ""); }

  /// Values of rows [first, first + rows) of the variable.
  [[nodiscard]] std::string values(const Variable& variable, std::size_t first, std::size_t rows) const {
    std::vector<std::size_t> start(variable.shape.size() + 1), count(variable.shape);
    count.push_back(1);
    if (!variable.shape.empty()) start[0] = first, count[0] = rows;
    std::size_t elements = 1;
    for (const std::size_t n : count) elements *= n;
    std::vector<std::byte> memory(elements * size_of(variable.group, variable.type) + 1);
    const auto* const begin = static_cast<const std::size_t*>(start.data());
    const auto* const counts = static_cast<const std::size_t*>(count.data());
    if (elements > 0)
      library_.ask("nc_get_vara", variable.group, variable.id, begin, counts,
                   static_cast<void*>(memory.data()));
    std::string text;
    append(text, variable.group, variable.type, memory.data(), elements);
    return text;
  }
  [[nodiscard]] std::size_t size_of(int group, nc_type type) const {
    std::size_t bytes = 0;
    library_.ask("nc_inq_type", group, type, static_cast<char*>(nullptr), &bytes);
    return bytes;
  }

 private:
  template <class... Parameters>
  std::vector<int> list(const char* function, int group, Parameters... more) const {
    int count = 0;
    library_.ask(function, group, &count, static_cast<int*>(nullptr), more...);
    std::vector<int> ids(static_cast<std::size_t>(count) + 1);
    library_.ask(function, group, &count, ids.data(), more...);
    ids.resize(static_cast<std::size_t>(count));
    return ids;
  }
  /// Calls visit(bytes, base, fields, kind) for a type of a program.
  template <class Visit>
  void ask_user_type(int group, nc_type type, const Visit& visit) const {
    NameText name{};
    std::size_t bytes = 0, fields = 0;
    nc_type base = 0;
    int kind = 0;
    library_.ask("nc_inq_user_type", group, type, name.data(), &bytes, &base, &fields, &kind);
    visit(bytes, base, fields, kind);
  }

  /// Values as they are in memory, without addresses and padding.
  void append(std::string& text, int group, nc_type type, const std::byte* values, std::size_t count) const {
    const auto append_bytes = [&](std::size_t element) {
      text.append(reinterpret_cast<const char*>(values), count * element);
    };
    if (type == string_type) return append_strings(text, values, count);
    if (type < string_type) return append_bytes(size_of(group, type));
    ask_user_type(group, type, [&](std::size_t bytes, nc_type base, std::size_t fields, int kind) {
      constexpr int lists = 13, compounds = 16;  // NC_VLEN, NC_COMPOUND
      if (kind != lists && kind != compounds) return append_bytes(bytes);
      for (std::size_t i = 0; i < count; ++i)
        kind == lists ? append_list(text, group, base, values + i * bytes)
                      : append_fields(text, group, type, fields, values + i * bytes);
    });
  }

  void append_list(std::string& text, int group, nc_type base, const std::byte* value) const {
    std::size_t length = 0;
    const std::byte* address = nullptr;
    std::memcpy(&length, value, sizeof length);
    std::memcpy(&address, value + sizeof length, sizeof address);
    text.append(reinterpret_cast<const char*>(&length), sizeof length);
    append(text, group, base, address, length);
  }

  static void append_strings(std::string& text, const std::byte* values, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const char* each = nullptr;
      std::memcpy(&each, values + i * sizeof each, sizeof each);
      text.append(each == nullptr ? "" : each).push_back('\0');
    }
  }

  void append_fields(std::string& text, int group, nc_type type, std::size_t fields,
                     const std::byte* value) const {
    for (int field = 0; field < static_cast<int>(fields); ++field) {
      constexpr std::size_t most_dimensions = 1024;
      NameText name{};
      std::size_t offset = 0;
      nc_type of_field = 0;
      int dimensions = 0;
      std::vector<int> lengths(most_dimensions);
      library_.ask("nc_inq_compound_field", group, type, field, name.data(), &offset, &of_field, &dimensions,
                   lengths.data());
      std::size_t count = 1;
      for (int i = 0; i < dimensions; ++i)
        count *= static_cast<std::size_t>(lengths[static_cast<std::size_t>(i)]);
      append(text, group, of_field, value + offset, count);
    }
  }

  [[nodiscard]] std::string name_of_type(int group, nc_type type) const {
    NameText name{};
    library_.ask("nc_inq_type", group, type, name.data(), static_cast<std::size_t*>(nullptr));
    return name.data();
  }

  void describe_group(int group, const std::string& prefix) {
    const auto growing = list("nc_inq_unlimdims", group);
    for (const int id : list("nc_inq_dimids", group, 0)) {
      NameText name{};
      std::size_t length = 0;
      library_.ask("nc_inq_dim", group, id, name.data(), &length);
      const bool grows = std::ranges::find(growing, id) != growing.end();
      lines_.push_back(
          {"dimension " + prefix + name.data(), std::to_string(length) + (grows ? " growing" : "")});
    }
    for (const int type : list("nc_inq_typeids", group)) describe_type(group, prefix, type);
    describe_attributes(group, global, prefix);
    for (const int id : list("nc_inq_varids", group)) describe_variable(group, prefix, id);
    for (const int each : list("nc_inq_grps", group)) {
      NameText name{};
      library_.ask("nc_inq_grpname", each, name.data());
      lines_.push_back({"group " + prefix + name.data(), ""});
      describe_group(each, prefix + name.data() + "/");
    }
  }

  void describe_type(int group, const std::string& prefix, nc_type type) {
    ask_user_type(group, type, [&](std::size_t bytes, nc_type base, std::size_t fields, int kind) {
      lines_.push_back({"type " + prefix + name_of_type(group, type),
                        std::to_string(kind) + " " + std::to_string(bytes) + " " + std::to_string(fields) +
                            " " + (base == 0 ? "" : name_of_type(group, base))});
    });
  }

  void describe_attributes(int group, int variable, const std::string& prefix) {
    int count = 0;
    library_.ask("nc_inq_varnatts", group, variable, &count);
    for (int i = 0; i < count; ++i) {
      NameText name{};
      nc_type type = 0;
      std::size_t values = 0;
      library_.ask("nc_inq_attname", group, variable, i, name.data());
      const auto* const text = static_cast<const char*>(name.data());
      library_.ask("nc_inq_att", group, variable, text, &type, &values);
      std::vector<std::byte> memory(values * size_of(group, type) + 1);
      library_.ask("nc_get_att", group, variable, text, static_cast<void*>(memory.data()));
      std::string content = name_of_type(group, type) + ' ';
      append(content, group, type, memory.data(), values);
      lines_.push_back({"attribute " + prefix + text, content});
    }
  }

  void describe_variable(int group, const std::string& prefix, int id) {
    NameText name{};
    int dimensions = 0;
    Variable variable{"", group, id};
    library_.ask("nc_inq_varndims", group, id, &dimensions);
    std::vector<int> dimids(static_cast<std::size_t>(dimensions) + 1);
    std::vector<std::size_t> chunks(dimids.size());
    library_.ask("nc_inq_var", group, id, name.data(), &variable.type, &dimensions, dimids.data(),
                 static_cast<int*>(nullptr));
    variable.name = prefix + name.data();
    std::array<int, 7> facts{};
    auto& [storage, shuffle, deflate, level, checksum, order, no_fill] = facts;
    std::vector<std::byte> fill(size_of(group, variable.type) + 1);
    library_.ask("nc_inq_var_chunking", group, id, &storage, chunks.data());
    library_.ask("nc_inq_var_deflate", group, id, &shuffle, &deflate, &level);
    library_.ask("nc_inq_var_fletcher32", group, id, &checksum);
    library_.ask("nc_inq_var_endian", group, id, &order);
    if (variable.type < string_type)
      library_.ask("nc_inq_var_fill", group, id, &no_fill, static_cast<void*>(fill.data()));
    std::string content = name_of_type(group, variable.type);
    for (int i = 0; i < dimensions; ++i) {
      const auto at = static_cast<std::size_t>(i);
      NameText dimension{};
      std::size_t length = 0;
      library_.ask("nc_inq_dim", group, dimids[at], dimension.data(), &length);
      variable.shape.push_back(length);
      content += ' ' + std::string(dimension.data()) + ' ' + std::to_string(chunks[at]);
    }
    for (const int fact : facts) content += ' ' + std::to_string(fact);
    if (variable.type < string_type) append(content, group, variable.type, fill.data(), 1);
    lines_.push_back({"variable " + variable.name, content});
    describe_attributes(group, id, variable.name + ":");
    variables_.push_back(std::move(variable));
  }

  const ProgramLibrary& library_;
  int file_ = -1;
  std::vector<Line> lines_;
  std::vector<Variable> variables_;
};

std::optional<std::string> difference_of_values(const NetcdfFile& first, const NetcdfFile& second,
                                                std::size_t index) {
  const NetcdfFile::Variable& variable = first.variables()[index];
  const std::size_t all = variable.shape.empty() ? 1 : variable.shape[0];
  std::size_t row_bytes = first.size_of(variable.group, variable.type);
  for (std::size_t i = 1; i < variable.shape.size(); ++i) row_bytes *= variable.shape[i];
  const std::size_t at_once =
      std::max<std::size_t>(1, most_bytes_at_once / std::max<std::size_t>(1, row_bytes));
  for (std::size_t row = 0; row < all; row += at_once) {
    const std::size_t rows = std::min(at_once, all - row);
    if (first.values(variable, row, rows) == second.values(second.variables()[index], row, rows)) continue;
    return "values of variable " + variable.name + " from row " + std::to_string(row) + " on";
  }
  return std::nullopt;
}

}  // namespace

ProgramLibrary load_library(const std::string& asked) {
  for (const char* const name : {asked.c_str(), "libnetcdf.so.19", "libnetcdf.so"}) {
    void* const handle = *name == '\0' ? nullptr : ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle != nullptr) return ProgramLibrary(handle);
  }
  throw Error(NC_ENOTBUILT, "the netCDF library " + asked + " cannot be loaded");
}

std::optional<std::string> difference_of(const ProgramLibrary& library, const char* first,
                                         const char* second) {
  NetcdfFile a(library, first);
  NetcdfFile b(library, second);
  a.describe();
  b.describe();
  const auto [line, other] = std::ranges::mismatch(a.lines(), b.lines());
  const std::string mine = line == a.lines().end() ? "nothing" : line->front();
  const std::string theirs = other == b.lines().end() ? "nothing" : other->front();
  if (mine != theirs) return mine + " and " + theirs;
  if (line != a.lines().end()) return mine;
  for (std::size_t i = 0; i < a.variables().size(); ++i)
    if (auto difference = difference_of_values(a, b, i)) return difference;
  return std::nullopt;
}

}  // namespace sluice::api::netcdf
