#include "sluice/formats/subfiles.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "attribute_values.hpp"
#include "sluice/formats/error.hpp"
#include "subfile_names.hpp"

namespace sluice::formats {
namespace {

bool has_repeated_dimension(const Variable& variable) {
  auto ids = variable.dimids;
  std::sort(ids.begin(), ids.end());
  return std::adjacent_find(ids.begin(), ids.end()) != ids.end();
}

}  // namespace

std::string subfile_path(std::string_view master, int subfile, SubfileNames names) {
  const auto path = std::string(master) + ".subfile_" + std::to_string(subfile);
  return names == SubfileNames::with_suffix ? path + ".nc" : path;
}

FileSections sections_of(const Header& header, std::int64_t header_size_bytes) {
  FileSections sections;
  sections.layout = layout_of(header, header_size_bytes);
  sections.begins.reserve(header.variables().size());
  for (const auto& variable : header.variables()) sections.begins.push_back(variable.begin);
  return sections;
}

const Division* Subfiling::division_of(int varid) const noexcept {
  const auto i = static_cast<std::size_t>(varid);
  return i < divisions_.size() && divisions_[i] ? &*divisions_[i] : nullptr;
}

void Subfiling::append(std::optional<Division> division) {
  ids_.push_back(division ? divided_variables_++ : -1);
  divisions_.push_back(std::move(division));
}

std::vector<std::int64_t> Subfiling::numbers() const {
  std::vector<std::int64_t> numbers;
  for (const auto& division : divisions_) {
    numbers.push_back(division ? division->dimension : -1);
    if (division) numbers.insert(numbers.end(), division->first.begin(), division->first.end());
  }
  return numbers;
}

Subfiling Subfiling::of_numbers(int subfiles, std::span<const std::int64_t> numbers) {
  Subfiling result(subfiles);
  while (!numbers.empty()) {
    const auto dimension = static_cast<int>(numbers.front());
    numbers = numbers.subspan(1);
    if (dimension < 0) {
      result.append(std::nullopt);
      continue;
    }
    const auto first = numbers.first(static_cast<std::size_t>(subfiles) + 1);
    result.append(Division{dimension, {first.begin(), first.end()}});
    numbers = numbers.subspan(first.size());
  }
  return result;
}

std::optional<Division> Subfiling::divide(const Header& header, int varid) const {
  const auto& variable = header.variable(varid);
  const std::size_t d = subfile_names::division_dimension(header, varid);
  if (d >= variable.dimids.size()) return std::nullopt;
  const auto& dimension = header.dimension(variable.dimids[d]);
  if (dimension.is_record || dimension.length < subfiles_) return std::nullopt;
  if (has_repeated_dimension(variable) || !subfile_names::are_possible(header, varid, subfiles_))
    return std::nullopt;
  const bool is_large = std::any_of(variable.dimids.begin(), variable.dimids.end(), [&](int id) {
    return header.dimension(id).length - 1 > std::numeric_limits<std::int32_t>::max();
  });
  if (is_large && header.version != Version::cdf5) return std::nullopt;
  Division division;
  division.dimension = static_cast<int>(d);
  // In floating point, as PnetCDF computes the division.
  const double share = static_cast<double>(dimension.length) / static_cast<double>(subfiles_);
  for (int i = 0; i < subfiles_; ++i)
    division.first.push_back(static_cast<std::int64_t>(std::ceil(share * static_cast<double>(i))));
  division.first.push_back(dimension.length);
  return division;
}

void Subfiling::add_variables(const Header& header) {
  // If two variables have the same names in a subfile, the later one stays in the master.
  const bool may_collide = subfile_names::may_collide(header);
  std::unordered_set<std::string> names;
  if (const int id = header.record_dimension(); id >= 0) names.insert(header.dimension(id).name);
  for (int varid = 0; varid < header.variable_count(); ++varid) {
    const bool is_new = static_cast<std::size_t>(varid) >= divisions_.size();
    auto division = is_new ? divide(header, varid) : std::nullopt;
    if (may_collide && (division || division_of(varid) != nullptr)) {
      const auto own = subfile_names::of_dimensions(header, varid);
      const bool is_taken =
          std::any_of(own.begin(), own.end(), [&](const std::string& name) { return names.contains(name); });
      if (is_taken && is_new)
        division.reset();
      else
        names.insert(own.begin(), own.end());
    }
    if (is_new) append(std::move(division));
  }
}

std::vector<Share> shares_in_master(const Subfiling& subfiling, int variables) {
  std::vector<Share> shares;
  for (int varid = 0; varid < variables; ++varid)
    shares.push_back(subfiling.division_of(varid) != nullptr ? Share::in_nobody : Share::in_this);
  return shares;
}

int subfile_names::find_count(const Header& header) {
  const int found = header.attributes.find(subfiles);
  const int plain = found < 0 ? header.attributes.find(plain_count) : -1;
  if (plain < 0) return found;
  const bool is_divided = std::any_of(header.variables().begin(), header.variables().end(),
                                      [&](const Variable& it) { return it.attributes.find(subfiles) >= 0; });
  return is_divided ? plain : -1;
}

int subfile_count(const Header& header) {
  const int found = subfile_names::find_count(header);
  if (found < 0) return 0;
  const auto values = integers_of(header.attributes[found]);
  const bool is_count =
      values.size() == 1 && values[0] > 1 && values[0] <= std::numeric_limits<std::int32_t>::max();
  return is_count ? static_cast<int>(values[0]) : 0;
}

void check_subfile(const SubfiledHeader& dataset, int subfile, const Header& found, const std::string& path) {
  const auto& [header, subfiling] = dataset;
  const auto refuse = [&](const std::string& reason) {
    throw FormatError(NC_ENOTNC, path, 0, "the subfile does not match the master: " + reason);
  };
  int expected = 0;
  for (int varid = 0; varid < header.variable_count(); ++varid) {
    const Division* division = subfiling.division_of(varid);
    if (division == nullptr) continue;
    const auto& variable = header.variable(varid);
    const int id = expected++;
    if (id >= found.variable_count() || found.variable(id).name != variable.name)
      refuse("the variable " + variable.name + " is not there");
    if (found.variable(id).type != variable.type ||
        found.variable(id).dimids.size() != variable.dimids.size())
      refuse("the variable " + variable.name + " is another");
    for (std::size_t d = 0; d < variable.dimids.size(); ++d) {
      const auto& dimension = found.dimension(found.variable(id).dimids[d]);
      const bool is_record = header.dimension(variable.dimids[d]).is_record;
      const auto range = subfile_names::range_of(header, varid, *division, d, subfile);
      const std::int64_t length = is_record ? 0 : range[1] - range[0] + 1;
      if (dimension.is_record != is_record || dimension.length != length)
        refuse("the variable " + variable.name + " has another shape");
    }
  }
  if (found.variable_count() != expected) refuse("it has other variables, too");
}

}  // namespace sluice::formats
