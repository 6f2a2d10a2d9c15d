#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/formats/header.hpp"
#include "sluice/formats/subfiles.hpp"

/// The names of attributes and dimensions in files with subfiles, and the ranges in attributes.
namespace sluice::formats::subfile_names {

inline constexpr std::string_view prefix = "_PnetCDF_SubFiling.";
/// A user's attribute: the id of the dimension along which to divide a variable.
inline constexpr std::string_view wish = "_PnetCDF_SubFiling.par_dim_id";
inline constexpr std::string_view subfiles = "_PnetCDF_SubFiling.num_subfiles";
inline constexpr std::string_view divided = "_PnetCDF_SubFiling.par_dim_index";
inline constexpr std::string_view dimensions = "_PnetCDF_SubFiling.ndims_org";
inline constexpr std::string_view dimids = "_PnetCDF_SubFiling.dimids_org";
inline constexpr std::string_view index = "_PnetCDF_SubFiling.subfile_index";

/// The global attribute in the form of PnetCDF's page on subfiling; an ordinary file may have it, too.
inline constexpr std::string_view plain_count = "num_subfiles";

/// The index of the global attribute with the number of subfiles, or -1.
[[nodiscard]] int find_count(const Header& header);

/// Whether an attribute belongs to the subfiling format and not to the user.
[[nodiscard]] inline bool is_ours(std::string_view attribute) {
  return attribute.starts_with(prefix) && attribute != wish;
}

/// The names of the attributes with a dimension's ranges. Each is made once, because every divided variable
/// has them.
class RangeNames {
 public:
  explicit RangeNames(const Header& header)
      : header_(header), names_(static_cast<std::size_t>(header.dimension_count())) {}

  [[nodiscard]] const std::string& of(int dimid, int subfile);

 private:
  const Header& header_;
  std::vector<std::vector<std::string>> names_;
};

/// Whether the variable's names in the files are short enough.
[[nodiscard]] bool are_possible(const Header& header, int varid, int subfiles);

/// Whether a dimension of one variable can have the same name as another's in a subfile: "a.b" of c and "a"
/// of b.c.
[[nodiscard]] bool may_collide(const Header& header);

/// The names of a divided variable's dimensions in a subfile, except the record dimension.
[[nodiscard]] std::vector<std::string> of_dimensions(const Header& header, int varid);

/// The position of the dimension along which to divide a variable; it may be out of range.
[[nodiscard]] std::size_t division_dimension(const Header& header, int varid);

/// The first and last index of one dimension in a subfile, for the range attributes.
[[nodiscard]] std::array<std::int64_t, 2> range_of(const Header& header, int varid, const Division& division,
                                                   std::size_t d, int subfile);

}  // namespace sluice::formats::subfile_names
