#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/formats/header.hpp"
#include "sluice/formats/subfiles.hpp"

/// What attributes and dimensions of files with subfiles are called, and what ranges they say.
namespace sluice::formats::subfile_names {

inline constexpr std::string_view prefix = "_PnetCDF_SubFiling.";
/// A user's attribute: the id of the dimension along which a variable is to be divided.
inline constexpr std::string_view wish = "_PnetCDF_SubFiling.par_dim_id";
inline constexpr std::string_view subfiles = "_PnetCDF_SubFiling.num_subfiles";
inline constexpr std::string_view divided = "_PnetCDF_SubFiling.par_dim_index";
inline constexpr std::string_view dimensions = "_PnetCDF_SubFiling.ndims_org";
inline constexpr std::string_view dimids = "_PnetCDF_SubFiling.dimids_org";
inline constexpr std::string_view index = "_PnetCDF_SubFiling.subfile_index";

/// The global attribute as PnetCDF's page on subfiling has it; an ordinary file may have it, too.
inline constexpr std::string_view plain_count = "num_subfiles";

/// The index of the global attribute that says how many subfiles there are, or -1.
[[nodiscard]] int find_count(const Header& header);

/// Whether an attribute is not the user's.
[[nodiscard]] inline bool is_ours(std::string_view attribute) {
  return attribute.starts_with(prefix) && attribute != wish;
}

/// The names of the attributes that say a dimension's ranges, each made once: every divided variable has
/// them.
class RangeNames {
 public:
  explicit RangeNames(const Header& header)
      : header_(header), names_(static_cast<std::size_t>(header.dimension_count())) {}

  [[nodiscard]] const std::string& of(int dimid, int subfile);

 private:
  const Header& header_;
  std::vector<std::vector<std::string>> names_;
};

/// Whether the names that the variable has in the files are not too long.
[[nodiscard]] bool are_possible(const Header& header, int varid, int subfiles);

/// Whether a dimension of one variable can have the name that another has in a subfile: "a.b" of c and "a" of
/// b.c.
[[nodiscard]] bool may_collide(const Header& header);

/// What the dimensions of a divided variable are called in a subfile; not the record dimension.
[[nodiscard]] std::vector<std::string> of_dimensions(const Header& header, int varid);

/// The index of the dimension along which a variable is to be divided; it may be behind the last.
[[nodiscard]] std::size_t division_dimension(const Header& header, int varid);

/// The indexes of one dimension in a subfile, from the first to the last, as the range attributes say them.
[[nodiscard]] std::array<std::int64_t, 2> range_of(const Header& header, int varid, const Division& division,
                                                   std::size_t d, int subfile);

}  // namespace sluice::formats::subfile_names
