#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/formats/file_space.hpp"
#include "sluice/formats/header.hpp"
#include "sluice/formats/placement.hpp"

// Subfiles as PnetCDF 1.12.3 lays them out: docs/formats/subfiles.md.
namespace sluice::formats {

/// "NAME.subfile_2.nc", or, as PnetCDF's page on subfiling has it, "NAME.subfile_2".
enum class SubfileNames : std::uint8_t { with_suffix, without_suffix };
[[nodiscard]] std::string subfile_path(std::string_view master, int subfile,
                                       SubfileNames names = SubfileNames::with_suffix);

/// How a variable is divided: along one of its dimensions.
struct Division {
  int dimension = 0;                ///< index among the variable's dimensions
  std::vector<std::int64_t> first;  ///< subfile i holds indexes [first[i], first[i + 1])
};

/// The division of a dataset's variables among subfiles. A value.
class Subfiling {
 public:
  Subfiling() = default;
  explicit Subfiling(int subfiles) : subfiles_(subfiles) {}

  [[nodiscard]] int subfiles() const noexcept { return subfiles_; }
  /// Null for a variable that is in the master.
  [[nodiscard]] const Division* division_of(int varid) const noexcept;
  /// Decides for the variables that have been added since. `header` is the user's.
  void add_variables(const Header& header);
  /// For readers of a master: the next variable is divided like this, or not.
  void append(std::optional<Division> division) { divisions_.push_back(std::move(division)); }

 private:
  [[nodiscard]] std::optional<Division> divide(const Header& header, int varid) const;

  int subfiles_ = 0;
  std::vector<std::optional<Division>> divisions_;  ///< by variable
};

/// The header of the master and of a subfile, from the user's header; begins are 0, to be computed. Throw
/// Error(NC_EMAXNAME, NC_ENAMEINUSE) where something has been renamed so that the files' names are not
/// possible.
[[nodiscard]] Header master_header(const Header& header, const Subfiling& subfiling);
[[nodiscard]] Header subfile_header(const Header& header, const Subfiling& subfiling, int subfile);

/// The number of subfiles that a header tells of; 0 for an ordinary file.
[[nodiscard]] int subfile_count(const Header& header);

/// What a master says: the user's header (without begins) and how it is divided.
struct SubfiledHeader {
  Header header;
  Subfiling subfiling;
};
/// Throws FormatError(NC_ENOTNC) where the attributes do not fit together. `path` is for messages.
[[nodiscard]] SubfiledHeader read_master(const Header& master, const std::string& path);

/// Throws FormatError(NC_ENOTNC) unless the file holds what subfile_header would give it (names of dimensions
/// and attributes aside).
void check_subfile(const SubfiledHeader& dataset, int subfile, const Header& found, const std::string& path);

/// Where the elements of a dataset with subfiles are, in the space of all its files: the master and the
/// subfiles in their order. Keeps a reference to the division.
class SubfilePlacement final : public Placement {
 public:
  SubfilePlacement(const Subfiling& subfiling, std::span<const FileDescription> files,
                   const FileSpace& space);
  [[nodiscard]] std::unique_ptr<VariablePlace> place_of(int varid) const override;

 private:
  const Subfiling& subfiling_;
  Layout layout_;
  std::vector<Header> placed_;       ///< by file
  std::vector<int> subfile_varids_;  ///< by variable: its id in all subfiles, or -1
};

}  // namespace sluice::formats
