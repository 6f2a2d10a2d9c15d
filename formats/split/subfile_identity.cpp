#include "sluice/formats/subfile_identity.hpp"

#include <array>

#include "attribute_values.hpp"
#include "sluice/formats/error.hpp"
#include "subfile_names.hpp"

namespace sluice::formats {

struct SubfileIdentity::Names {
  explicit Names(const Header& header) : ranges(header) {}
  subfile_names::RangeNames ranges;
};

SubfileIdentity::SubfileIdentity(const SubfiledHeader& dataset, int subfile)
    : dataset_(dataset), subfile_(subfile), names_(std::make_unique<Names>(dataset.header)) {}

SubfileIdentity::~SubfileIdentity() = default;

bool SubfileIdentity::begin_variables(const Header&) {
  attributes_.clear();
  mistake_.clear();
  return true;
}

bool SubfileIdentity::take(const AttributeView& attribute) {
  const bool is_taken = subfile_names::is_ours(attribute.name);
  if (is_taken) attributes_.push_back(attribute);
  return is_taken;
}

void SubfileIdentity::end_variable(const Header&, const Variable& variable) {
  const int varid = dataset_.header.find_variable(variable.name);
  const Division* const division = varid < 0 ? nullptr : dataset_.subfiling.division_of(varid);
  for (const auto& attribute : attributes_) {
    std::int64_t index = 0;
    if (attribute.name == subfile_names::index) {
      if (read_integers(attribute, {&index, 1}) && index == subfile_) continue;
      mistake_ = "its subfile_index is " + std::to_string(index) + ", not " + std::to_string(subfile_);
    } else if (division != nullptr) {
      check_range(attribute, varid, *division);
    }
    if (!mistake_.empty()) break;
  }
  attributes_.clear();
}

void SubfileIdentity::check_range(const AttributeView& attribute, int varid, const Division& division) {
  const auto& variable = dataset_.header.variable(varid);
  for (std::size_t d = 0; d < variable.dimids.size(); ++d) {
    // PnetCDF's ranges of the record dimension have no meaning.
    if (dataset_.header.dimension(variable.dimids[d]).is_record) continue;
    if (attribute.name != names_->ranges.of(variable.dimids[d], subfile_)) continue;
    std::array<std::int64_t, 2> range{};
    const auto expected = subfile_names::range_of(dataset_.header, varid, division, d, subfile_);
    if (!read_integers(attribute, range) || range != expected)
      mistake_ = "the variable " + variable.name + " has another range of " +
                 dataset_.header.dimension(variable.dimids[d]).name;
  }
}

void SubfileIdentity::check(const std::string& path) const {
  if (mistake_.empty()) return;
  throw FormatError(
      NC_ENOTNC, path, 0,
      "the name does not match this subfile: " + mistake_ + ". Restore the original names of the subfiles");
}

}  // namespace sluice::formats
