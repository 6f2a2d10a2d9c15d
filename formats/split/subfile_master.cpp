#include "sluice/formats/subfile_master.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "attribute_values.hpp"
#include "sluice/formats/error.hpp"
#include "subfile_names.hpp"

namespace sluice::formats {
namespace {

using subfile_names::RangeNames;

/// Reads the attributes of one variable of a master.
class DivisionReader {
 public:
  /// A variable and its attributes that belong to the subfiling format.
  struct Source {
    const Header& master;
    const Variable& variable;
    std::span<const AttributeView> attributes;
  };

  DivisionReader(const Source& source, const std::string& path, RangeNames& ranges)
      : master_(source.master),
        variable_(source.variable),
        attributes_(source.attributes),
        path_(path),
        ranges_(ranges) {}

  [[nodiscard]] bool is_divided() { return find(subfile_names::subfiles) != nullptr; }

  [[nodiscard]] std::vector<int> dimids() {
    const AttributeView* const stored = find(subfile_names::dimids);
    std::vector<std::int64_t> ids(stored != nullptr ? static_cast<std::size_t>(stored->count) : 0);
    if (stored == nullptr)
      ids = dimids_of_ranges();
    else if (!read_integers(*stored, ids))
      ids.clear();
    if (std::ssize(ids) != integer_of(subfile_names::dimensions) || ids.empty())
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
    if (integer_of(subfile_names::subfiles) != subfiles) refuse("its num_subfiles is not the file's");
    const std::int64_t index = integer_of(subfile_names::divided);
    if (index < 0 || index >= static_cast<std::int64_t>(dimids.size()))
      refuse("par_dim_index is not the index of a dimension");
    const int dimid = dimids[static_cast<std::size_t>(index)];
    const auto& dimension = master_.dimension(dimid);
    if (dimension.is_record) refuse("it is divided along its record dimension");
    Division division;
    division.dimension = static_cast<int>(index);
    division.first.reserve(std::min(static_cast<std::size_t>(subfiles), attributes_.size()) + 1);
    for (int i = 0; i < subfiles; ++i) {
      std::array<std::int64_t, 2> range{};
      const bool is_range = read_integers(this->range(dimid, i), range);
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
  /// The attribute; null if it is missing. Attributes that occur once come first; ranges follow in the order
  /// of their use.
  [[nodiscard]] const AttributeView* find(std::string_view name) const {
    const auto found =
        std::ranges::find_if(attributes_, [name](const auto& attribute) { return attribute.name == name; });
    return found == attributes_.end() ? nullptr : &*found;
  }
  [[nodiscard]] const AttributeView& range(int dimid, int subfile) {
    const auto& name = ranges_.of(dimid, subfile);
    for (std::size_t i = 0; i < attributes_.size(); ++i, ++next_) {
      if (next_ >= attributes_.size()) next_ = 0;
      if (attributes_[next_].name == name) return attributes_[next_];
    }
    refuse("it has no attribute " + name);
  }
  [[nodiscard]] const AttributeView& attribute(std::string_view name) const {
    const AttributeView* const found = find(name);
    if (found == nullptr) refuse("it has no attribute " + std::string(name));
    return *found;
  }
  [[nodiscard]] std::int64_t integer_of(std::string_view name) {
    std::int64_t value = 0;
    if (!read_integers(attribute(name), {&value, 1})) refuse(std::string(name) + " is not one integer");
    return value;
  }
  /// The dimensions that the first subfile's ranges name. Used if dimids_org is missing, as on PnetCDF's
  /// page.
  [[nodiscard]] std::vector<std::int64_t> dimids_of_ranges() const {
    std::string begin(subfile_names::prefix);
    begin += "range(";
    constexpr std::string_view end = ").subfile.0";
    std::vector<std::int64_t> ids;
    for (const auto& [name, type, count, values, order] : attributes_) {
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
  std::span<const AttributeView> attributes_;
  const std::string& path_;
  RangeNames& ranges_;
  std::size_t next_ = 0;  ///< the next candidate for a range
};

Attributes users_attributes(const Attributes& all) {
  Attributes result;
  for (const auto& attribute : all) {
    if (!subfile_names::is_ours(attribute.name)) result.append(attribute);
  }
  return result;
}

}  // namespace

struct MasterReader::Names {
  explicit Names(const Header& master) : ranges(master) {}
  RangeNames ranges;
};

MasterReader::MasterReader(std::string path) : path_(std::move(path)) {}
MasterReader::~MasterReader() = default;

bool MasterReader::begin_variables(const Header& header) {
  // A count without the prefix is valid only if a variable is divided, which is not known yet.
  const bool is_certain = header.attributes.find(subfile_names::subfiles) >= 0;
  begin(header, is_certain ? subfile_count(header) : 0);
  return is_master();
}

void MasterReader::begin(const Header& header, int subfiles) {
  names_ = std::make_unique<Names>(header);
  subfiling_ = Subfiling(subfiles);
  dimids_.clear();
  attributes_.clear();
}

bool MasterReader::take(const AttributeView& attribute) {
  const bool is_taken = subfile_names::is_ours(attribute.name);
  if (is_taken) attributes_.push_back(attribute);
  return is_taken;
}

void MasterReader::end_variable(const Header& header, const Variable& variable) {
  DivisionReader reader({header, variable, attributes_}, path_, names_->ranges);
  std::optional<Division> division;
  dimids_.emplace_back();
  if (reader.is_divided()) {
    dimids_.back() = reader.dimids();
    division = reader.division(dimids_.back(), subfiling_.subfiles());
  }
  subfiling_.append(std::move(division));
  attributes_.clear();
}

SubfiledHeader MasterReader::dataset(Header master) {
  for (int varid = 0; varid < master.variable_count(); ++varid) {
    if (subfiling_.division_of(varid) != nullptr)
      master.variable(varid).dimids = std::move(dimids_[static_cast<std::size_t>(varid)]);
  }
  master.attributes = users_attributes(master.attributes);
  return {std::move(master), std::move(subfiling_)};
}

SubfiledHeader read_master(const Header& master, const std::string& path) {
  MasterReader reader(path);
  const int count = subfile_count(master);
  if (count == 0) throw FormatError(NC_ENOTNC, path, 0, "this is no master of subfiles");
  reader.begin(master, count);
  Header header = master;
  if (const int found = subfile_names::find_count(master);
      master.attributes[found].name == subfile_names::plain_count)
    header.attributes.remove(found);
  for (int varid = 0; varid < master.variable_count(); ++varid) {
    const auto& variable = master.variable(varid);
    for (const auto& attribute : variable.attributes) (void)reader.take(view_of(attribute));
    reader.end_variable(master, variable);
    header.variable(varid).attributes = users_attributes(variable.attributes);
  }
  return reader.dataset(std::move(header));
}

}  // namespace sluice::formats
