#include "sluice/formats/subfiles.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "attribute_values.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/formats/names.hpp"

namespace sluice::formats {
namespace {

constexpr std::string_view prefix = "_PnetCDF_SubFiling.";
constexpr std::string_view plain_count_name = "num_subfiles";
/// A user's attribute: the id of the dimension along which a variable is to be divided.
constexpr std::string_view wish_name = "_PnetCDF_SubFiling.par_dim_id";

std::string prefixed(std::string_view name) {
  return std::string(prefix) + std::string(name);
}

/// The names of the attributes that say a dimension's ranges, each made once: every divided variable has
/// them.
class RangeNames {
 public:
  explicit RangeNames(const Header& header)
      : header_(header), names_(static_cast<std::size_t>(header.dimension_count())) {}

  [[nodiscard]] const std::string& of(int dimid, int subfile) {
    auto& names = names_[static_cast<std::size_t>(dimid)];
    const auto i = static_cast<std::size_t>(subfile);
    if (names.size() <= i) names.resize(i + 1);
    if (names[i].empty())
      names[i] = prefixed("range(" + header_.dimension(dimid).name + ").subfile." + std::to_string(subfile));
    return names[i];
  }

 private:
  const Header& header_;
  std::vector<std::vector<std::string>> names_;
};

std::string subfile_dimension_name(const std::string& dimension, const std::string& variable) {
  return dimension + "." + variable;
}

/// The index of the dimension along which a variable is to be divided; it may be behind the last.
std::size_t division_dimension(const Header& header, int varid) {
  const auto& variable = header.variable(varid);
  const int wish = variable.attributes.find(wish_name);
  if (wish >= 0) {
    const auto wished = integers_of(variable.attributes[wish]);
    const auto found = wished.empty() ? variable.dimids.end()
                                      : std::find(variable.dimids.begin(), variable.dimids.end(), wished[0]);
    if (found != variable.dimids.end()) return static_cast<std::size_t>(found - variable.dimids.begin());
  }
  return header.is_record_variable(varid) ? 1 : 0;
}

/// Whether all names that the variable has in the files are possible.
bool has_possible_names(const Header& header, int varid, int subfiles) {
  const auto& variable = header.variable(varid);
  const auto around =
      prefix.size() + std::string_view("range().subfile.").size() + std::to_string(subfiles).size();
  return std::all_of(variable.dimids.begin(), variable.dimids.end(), [&](int id) {
    const auto name = header.dimension(id).name.size();
    return around + name <= max_name_bytes && name + 1 + variable.name.size() <= max_name_bytes;
  });
}

bool has_repeated_dimension(const Variable& variable) {
  auto ids = variable.dimids;
  std::sort(ids.begin(), ids.end());
  return std::adjacent_find(ids.begin(), ids.end()) != ids.end();
}

/// The indexes of one dimension in a subfile, from the first to the last, as the range attributes say them.
std::array<std::int64_t, 2> range_of(const Header& header, int varid, const Division& division, std::size_t d,
                                     int subfile) {
  const auto i = static_cast<std::size_t>(subfile);
  if (static_cast<int>(d) == division.dimension) return {division.first[i], division.first[i + 1] - 1};
  const auto& dimension = header.dimension(header.variable(varid).dimids[d]);
  return {0, dimension.is_record ? 0 : dimension.length - 1};
}

/// A divided variable, with how its ranges are called.
struct DividedVariable {
  const Header& header;
  int varid;
  const Division& division;
  RangeNames& names;
};

void append_ranges(Attributes& attributes, const DividedVariable& variable, int subfile) {
  const auto& [header, varid, division, names] = variable;
  const auto& dimids = header.variable(varid).dimids;
  for (std::size_t d = 0; d < dimids.size(); ++d) {
    const auto range = range_of(header, varid, division, d, subfile);
    attributes.append(integer_attribute(names.of(dimids[d], subfile), range));
  }
}

void append_division(Attributes& attributes, const DividedVariable& variable) {
  const auto& dimids = variable.header.variable(variable.varid).dimids;
  const std::vector<std::int64_t> ids(dimids.begin(), dimids.end());
  const auto subfiles = static_cast<int>(variable.division.first.size()) - 1;
  attributes.reserve(attributes.size() + 3 + subfiles * static_cast<int>(dimids.size()));
  attributes.append(integer_attribute(prefixed("ndims_org"), static_cast<std::int64_t>(dimids.size())));
  attributes.append(integer_attribute(prefixed("dimids_org"), ids));
  attributes.append(integer_attribute(prefixed("num_subfiles"), subfiles));
  for (int i = 0; i < subfiles; ++i) append_ranges(attributes, variable, i);
}

void check_possible_names(const Header& header, int varid, int subfiles) {
  if (has_possible_names(header, varid, subfiles)) return;
  throw Error(NC_EMAXNAME, "the names of the variable " + header.variable(varid).name +
                               " and of its dimensions are too long for a file with subfiles");
}

}  // namespace

std::string subfile_path(std::string_view master, int subfile, SubfileNames names) {
  const auto path = std::string(master) + ".subfile_" + std::to_string(subfile);
  return names == SubfileNames::with_suffix ? path + ".nc" : path;
}

const Division* Subfiling::division_of(int varid) const noexcept {
  const auto i = static_cast<std::size_t>(varid);
  return i < divisions_.size() && divisions_[i] ? &*divisions_[i] : nullptr;
}

std::optional<Division> Subfiling::divide(const Header& header, int varid) const {
  const auto& variable = header.variable(varid);
  const std::size_t d = division_dimension(header, varid);
  if (d >= variable.dimids.size()) return std::nullopt;
  const auto& dimension = header.dimension(variable.dimids[d]);
  if (dimension.is_record || dimension.length < subfiles_) return std::nullopt;
  if (has_repeated_dimension(variable) || !has_possible_names(header, varid, subfiles_)) return std::nullopt;
  const bool is_large = std::any_of(variable.dimids.begin(), variable.dimids.end(), [&](int id) {
    return header.dimension(id).length - 1 > std::numeric_limits<std::int32_t>::max();
  });
  if (is_large && header.version != Version::cdf5) return std::nullopt;
  Division division;
  division.dimension = static_cast<int>(d);
  // In floating point, as PnetCDF divides.
  const double share = static_cast<double>(dimension.length) / static_cast<double>(subfiles_);
  for (int i = 0; i < subfiles_; ++i)
    division.first.push_back(static_cast<std::int64_t>(std::ceil(share * static_cast<double>(i))));
  division.first.push_back(dimension.length);
  return division;
}

void Subfiling::add_variables(const Header& header) {
  std::unordered_set<std::string> names;
  const auto names_of = [&](int varid) {
    std::vector<std::string> result;
    const auto& variable = header.variable(varid);
    for (const int id : variable.dimids) {
      const auto& dimension = header.dimension(id);
      if (!dimension.is_record) result.push_back(subfile_dimension_name(dimension.name, variable.name));
    }
    return result;
  };
  if (const int id = header.record_dimension(); id >= 0) names.insert(header.dimension(id).name);
  for (int varid = 0; varid < header.variable_count(); ++varid) {
    const bool is_new = static_cast<std::size_t>(varid) >= divisions_.size();
    if (is_new) divisions_.push_back(divide(header, varid));
    if (division_of(varid) == nullptr) continue;
    const auto own = names_of(varid);
    const bool is_taken =
        std::any_of(own.begin(), own.end(), [&](const std::string& name) { return names.contains(name); });
    // "a.b" of c and "a" of b.c are one name: the variable that comes later stays in the master.
    if (is_taken && is_new)
      divisions_.back().reset();
    else
      names.insert(own.begin(), own.end());
  }
}

Header master_header(const Header& header, const Subfiling& subfiling) {
  Header master;
  master.version = header.version;
  master.record_count = header.record_count;
  for (const auto& dimension : header.dimensions()) master.add_dimension(dimension);
  master.attributes = header.attributes;
  master.attributes.append(integer_attribute(prefixed("num_subfiles"), subfiling.subfiles()));
  RangeNames names(header);
  for (int varid = 0; varid < header.variable_count(); ++varid) {
    Variable variable = header.variable(varid);
    const std::size_t d = division_dimension(header, varid);
    const Division* division = subfiling.division_of(varid);
    if (division != nullptr || d < variable.dimids.size()) {
      const auto index = division != nullptr ? division->dimension : static_cast<int>(d);
      variable.attributes.append(integer_attribute(prefixed("par_dim_index"), index));
    }
    if (division != nullptr) {
      check_possible_names(header, varid, subfiling.subfiles());
      append_division(variable.attributes, {header, varid, *division, names});
      variable.dimids.clear();
    }
    variable.begin = 0;
    master.add_variable(std::move(variable));
  }
  return master;
}

Header subfile_header(const Header& header, const Subfiling& subfiling, int subfile) {
  Header result;
  result.version = header.version;
  result.record_count = header.record_count;
  int record_dimension = -1;
  RangeNames names(header);
  for (int varid = 0; varid < header.variable_count(); ++varid) {
    const Division* division = subfiling.division_of(varid);
    if (division == nullptr) continue;
    check_possible_names(header, varid, subfiling.subfiles());
    Variable variable;
    variable.name = header.variable(varid).name;
    variable.type = header.variable(varid).type;
    for (std::size_t d = 0; d < header.variable(varid).dimids.size(); ++d) {
      const auto& dimension = header.dimension(header.variable(varid).dimids[d]);
      if (dimension.is_record) {
        // A file has one record dimension: it is that of all variables.
        if (record_dimension < 0) record_dimension = result.add_dimension({dimension.name, 0, true});
        variable.dimids.push_back(record_dimension);
        continue;
      }
      const auto name = subfile_dimension_name(dimension.name, variable.name);
      if (result.find_dimension(name) >= 0)
        throw Error(NC_ENAMEINUSE, "two dimensions of subfiles would have the name " + name);
      const auto range = range_of(header, varid, *division, d, subfile);
      variable.dimids.push_back(result.add_dimension({name, range[1] - range[0] + 1, false}));
    }
    append_ranges(variable.attributes, {header, varid, *division, names}, subfile);
    variable.attributes.append(integer_attribute(prefixed("subfile_index"), subfile));
    result.add_variable(std::move(variable));
  }
  return result;
}

namespace {

/// The index of the global attribute that says how many subfiles there are, or -1. PnetCDF's page on
/// subfiling has it without the prefix, which an ordinary file may have, too.
int find_subfile_count(const Header& header) {
  const int found = header.attributes.find(prefixed("num_subfiles"));
  const int plain = found < 0 ? header.attributes.find(plain_count_name) : -1;
  if (plain < 0) return found;
  const auto name = prefixed("num_subfiles");
  const bool is_divided = std::any_of(header.variables().begin(), header.variables().end(),
                                      [&](const Variable& it) { return it.attributes.find(name) >= 0; });
  return is_divided ? plain : -1;
}

}  // namespace

int subfile_count(const Header& header) {
  const int found = find_subfile_count(header);
  if (found < 0) return 0;
  const auto values = integers_of(header.attributes[found]);
  const bool is_count =
      values.size() == 1 && values[0] > 1 && values[0] <= std::numeric_limits<std::int32_t>::max();
  return is_count ? static_cast<int>(values[0]) : 0;
}

namespace {

/// The names of attributes that a divided variable has in a master, prefixed.
struct DivisionNames {
  explicit DivisionNames(const Header& master) : ranges(master) {}
  std::string subfiles = prefixed("num_subfiles");
  std::string dimids = prefixed("dimids_org");
  std::string dimensions = prefixed("ndims_org");
  std::string divided = prefixed("par_dim_index");
  RangeNames ranges;
};

/// Reads the attributes of one variable of a master.
class DivisionReader {
 public:
  DivisionReader(const Header& master, int varid, const std::string& path, DivisionNames& names)
      : master_(master), variable_(master.variable(varid)), path_(path), names_(names) {}

  [[nodiscard]] bool is_divided() { return find(names_.subfiles) != nullptr; }

  [[nodiscard]] std::vector<int> dimids() {
    const Attribute* const named = find(names_.dimids);
    const auto ids = named != nullptr ? integers_of(*named) : dimids_of_ranges();
    if (static_cast<std::int64_t>(ids.size()) != integer_of(names_.dimensions) || ids.empty())
      refuse("its dimids_org are not as many as ndims_org says");
    std::vector<int> result;
    for (const std::int64_t id : ids) {
      if (id < 0 || id >= master_.dimension_count()) refuse("dimids_org names a dimension that is not there");
      if (!result.empty() && master_.dimension(static_cast<int>(id)).is_record)
        refuse("its record dimension is not the first");
      result.push_back(static_cast<int>(id));
    }
    return result;
  }

  [[nodiscard]] Division division(const std::vector<int>& dimids, int subfiles) {
    if (!variable_.dimids.empty()) refuse("it has dimensions of its own");
    if (integer_of(names_.subfiles) != subfiles) refuse("its num_subfiles is not the file's");
    const std::int64_t index = integer_of(names_.divided);
    if (index < 0 || index >= static_cast<std::int64_t>(dimids.size()))
      refuse("par_dim_index is not the index of a dimension");
    const int dimid = dimids[static_cast<std::size_t>(index)];
    const auto& dimension = master_.dimension(dimid);
    if (dimension.is_record) refuse("it is divided along its record dimension");
    Division division;
    division.dimension = static_cast<int>(index);
    for (int i = 0; i < subfiles; ++i) {
      std::array<std::int64_t, 2> range{};
      const bool is_range = read_integers(attribute(names_.ranges.of(dimid, i)), range);
      const std::int64_t begin = division.first.empty() ? 0 : division.first.back();
      if (division.first.empty()) division.first.push_back(0);
      if (!is_range || range[0] != begin || range[1] < begin - 1 || range[1] >= dimension.length)
        refuse("the range of subfile " + std::to_string(i) + " does not follow the one before");
      division.first.push_back(range[1] + 1);
    }
    if (division.first.back() != dimension.length) refuse("its ranges do not cover the dimension");
    return division;
  }

 private:
  /// Null where there is none. They are asked for in about the order that they are in.
  [[nodiscard]] const Attribute* find(const std::string& name) {
    const int count = variable_.attributes.size();
    for (int i = 0; i < count; ++i, ++next_) {
      if (next_ >= count) next_ = 0;
      if (variable_.attributes[next_].name == name) return &variable_.attributes[next_];
    }
    return nullptr;
  }
  [[nodiscard]] const Attribute& attribute(const std::string& name) {
    const Attribute* const found = find(name);
    if (found == nullptr) refuse("it has no attribute " + name);
    return *found;
  }
  [[nodiscard]] std::int64_t integer_of(const std::string& name) {
    std::int64_t value = 0;
    if (!read_integers(attribute(name), {&value, 1})) refuse(name + " is not one integer");
    return value;
  }
  /// Where dimids_org is missing, as on PnetCDF's page: the dimensions that the first subfile's ranges name.
  [[nodiscard]] std::vector<std::int64_t> dimids_of_ranges() const {
    const auto begin = prefixed("range(");
    constexpr std::string_view end = ").subfile.0";
    std::vector<std::int64_t> ids;
    for (const auto& attribute : variable_.attributes) {
      const std::string_view name = attribute.name;
      if (!name.starts_with(begin) || !name.ends_with(end)) continue;
      ids.push_back(
          master_.find_dimension(name.substr(begin.size(), name.size() - begin.size() - end.size())));
    }
    return ids;
  }
  [[noreturn]] void refuse(const std::string& reason) const {
    throw FormatError(NC_ENOTNC, path_, 0,
                      "the variable " + variable_.name + " is not divided as subfiles are: " + reason);
  }

  const Header& master_;
  const Variable& variable_;
  const std::string& path_;
  DivisionNames& names_;
  int next_ = 0;  ///< the attribute that is looked at next
};

bool is_ours(const Attribute& attribute) {
  return attribute.name.starts_with(prefix) && attribute.name != wish_name;
}

Attributes users_attributes(const Attributes& all) {
  Attributes result;
  for (const auto& attribute : all) {
    if (!is_ours(attribute)) result.append(attribute);
  }
  return result;
}

}  // namespace

SubfiledHeader read_master(const Header& master, const std::string& path) {
  SubfiledHeader result;
  result.subfiling = Subfiling(subfile_count(master));
  auto& header = result.header;
  header.version = master.version;
  header.record_count = master.record_count;
  for (const auto& dimension : master.dimensions()) header.add_dimension(dimension);
  header.attributes = users_attributes(master.attributes);
  if (const int count = find_subfile_count(master); master.attributes[count].name == plain_count_name)
    header.attributes.remove(header.attributes.find(plain_count_name));
  DivisionNames names(master);
  for (int varid = 0; varid < master.variable_count(); ++varid) {
    DivisionReader reader(master, varid, path, names);
    const Variable& stored = master.variable(varid);
    Variable variable{.name = stored.name,
                      .type = stored.type,
                      .dimids = stored.dimids,
                      .attributes = users_attributes(stored.attributes),
                      .begin = stored.begin,
                      .vsize = stored.vsize,
                      .no_fill = stored.no_fill};
    std::optional<Division> division;
    if (reader.is_divided()) {
      variable.dimids = reader.dimids();
      division = reader.division(variable.dimids, result.subfiling.subfiles());
    }
    result.subfiling.append(std::move(division));
    header.add_variable(std::move(variable));
  }
  return result;
}

void check_subfile(const SubfiledHeader& dataset, int subfile, const Header& found, const std::string& path) {
  const auto& [header, subfiling] = dataset;
  const auto refuse = [&](const std::string& reason) {
    throw FormatError(NC_ENOTNC, path, 0, "this is not the subfile that the master tells of: " + reason);
  };
  int expected = 0;
  for (int varid = 0; varid < header.variable_count(); ++varid) {
    const Division* division = subfiling.division_of(varid);
    if (division == nullptr) continue;
    const auto& variable = header.variable(varid);
    const int id = expected++;
    if (found.find_variable(variable.name) != id) refuse("the variable " + variable.name + " is not there");
    if (found.variable(id).type != variable.type ||
        found.variable(id).dimids.size() != variable.dimids.size())
      refuse("the variable " + variable.name + " is another");
    for (std::size_t d = 0; d < variable.dimids.size(); ++d) {
      const auto& dimension = found.dimension(found.variable(id).dimids[d]);
      const bool is_record = header.dimension(variable.dimids[d]).is_record;
      const auto range = range_of(header, varid, *division, d, subfile);
      const std::int64_t length = is_record ? 0 : range[1] - range[0] + 1;
      if (dimension.is_record != is_record || dimension.length != length)
        refuse("the variable " + variable.name + " has another shape");
    }
  }
  if (found.variable_count() != expected) refuse("it has other variables, too");
}

}  // namespace sluice::formats
