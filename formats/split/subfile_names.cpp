#include "subfile_names.hpp"

#include <algorithm>

#include "attribute_values.hpp"
#include "sluice/formats/names.hpp"

namespace sluice::formats::subfile_names {

const std::string& RangeNames::of(int dimid, int subfile) {
  auto& names = names_[static_cast<std::size_t>(dimid)];
  const auto i = static_cast<std::size_t>(subfile);
  if (names.size() <= i) names.resize(i + 1);
  if (names[i].empty()) {
    names[i] = prefix;
    names[i] += "range(" + header_.dimension(dimid).name + ").subfile." + std::to_string(subfile);
  }
  return names[i];
}

bool are_possible(const Header& header, int varid, int subfiles) {
  const auto& variable = header.variable(varid);
  const auto around =
      prefix.size() + std::string_view("range().subfile.").size() + std::to_string(subfiles).size();
  return std::all_of(variable.dimids.begin(), variable.dimids.end(), [&](int id) {
    const auto name = header.dimension(id).name.size();
    return around + name <= max_name_bytes && name + 1 + variable.name.size() <= max_name_bytes;
  });
}

bool may_collide(const Header& header) {
  const auto has_dot = [](const auto& named) { return named.name.find('.') != std::string::npos; };
  return std::ranges::any_of(header.dimensions(), has_dot) ||
         std::ranges::any_of(header.variables(), has_dot);
}

std::vector<std::string> of_dimensions(const Header& header, int varid) {
  std::vector<std::string> result;
  const auto& variable = header.variable(varid);
  for (const int id : variable.dimids) {
    const auto& dimension = header.dimension(id);
    if (!dimension.is_record) result.push_back(dimension.name + "." + variable.name);
  }
  return result;
}

std::size_t division_dimension(const Header& header, int varid) {
  const auto& variable = header.variable(varid);
  const int found_wish = variable.attributes.find(wish);
  if (found_wish >= 0) {
    const auto wished = integers_of(variable.attributes[found_wish]);
    const auto found = wished.empty() ? variable.dimids.end()
                                      : std::find(variable.dimids.begin(), variable.dimids.end(), wished[0]);
    if (found != variable.dimids.end()) return static_cast<std::size_t>(found - variable.dimids.begin());
  }
  return header.is_record_variable(varid) ? 1 : 0;
}

std::array<std::int64_t, 2> range_of(const Header& header, int varid, const Division& division, std::size_t d,
                                     int subfile) {
  const auto i = static_cast<std::size_t>(subfile);
  if (static_cast<int>(d) == division.dimension) return {division.first[i], division.first[i + 1] - 1};
  const auto& dimension = header.dimension(header.variable(varid).dimids[d]);
  return {0, dimension.is_record ? 0 : dimension.length - 1};
}

}  // namespace sluice::formats::subfile_names
