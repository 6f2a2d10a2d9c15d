#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/formats/file_end.hpp"
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

  /// How many indexes a subfile holds.
  [[nodiscard]] std::int64_t length_in(int subfile) const {
    const auto i = static_cast<std::size_t>(subfile);
    return first[i + 1] - first[i];
  }
};

/// The division of a dataset's variables among subfiles. A value.
class Subfiling {
 public:
  Subfiling() = default;
  explicit Subfiling(int subfiles) : subfiles_(subfiles) {}

  [[nodiscard]] int subfiles() const noexcept { return subfiles_; }
  /// Null for a variable that is in the master.
  [[nodiscard]] const Division* division_of(int varid) const noexcept;
  /// The id that a divided variable has in all subfiles.
  [[nodiscard]] int id_in_subfiles(int varid) const { return ids_[static_cast<std::size_t>(varid)]; }
  [[nodiscard]] int divided_variables() const noexcept { return divided_variables_; }
  /// Decides for the variables that have been added since. `header` is the user's.
  void add_variables(const Header& header);
  /// For readers of a master: the next variable is divided like this, or not.
  void append(std::optional<Division> division);

  /// All of it, to be told to another process, and back.
  [[nodiscard]] std::vector<std::int64_t> numbers() const;
  [[nodiscard]] static Subfiling of_numbers(int subfiles, std::span<const std::int64_t> numbers);

 private:
  [[nodiscard]] std::optional<Division> divide(const Header& header, int varid) const;

  int subfiles_ = 0;
  int divided_variables_ = 0;
  std::vector<std::optional<Division>> divisions_;  ///< by variable
  std::vector<int> ids_;                            ///< by variable: in the subfiles, or -1
};

/// Where the data of one file is: all that has to be known of a subfile that another process writes.
struct FileSections {
  Layout layout;
  std::vector<std::int64_t> begins;  ///< by variable of the file
};
[[nodiscard]] FileSections sections_of(const Header& header, std::int64_t header_size_bytes);

/// The shares of a master's variables: divided ones are scalars there that mean nothing.
[[nodiscard]] std::vector<Share> shares_in_master(const Subfiling& subfiling, int variables);

/// The number of subfiles that a header tells of; 0 for an ordinary file.
[[nodiscard]] int subfile_count(const Header& header);

/// What a master says: the user's header (without begins) and how it is divided.
struct SubfiledHeader {
  Header header;
  Subfiling subfiling;
};
/// Throws FormatError(NC_ENOTNC) where the attributes do not fit together. `path` is for messages. A header
/// that is yet to be decoded is read faster with MasterReader (subfile_master.hpp).
[[nodiscard]] SubfiledHeader read_master(const Header& master, const std::string& path);

/// Throws FormatError(NC_ENOTNC) unless the file holds what SubfileHeaders would give it (names of dimensions
/// and attributes aside).
void check_subfile(const SubfiledHeader& dataset, int subfile, const Header& found, const std::string& path);

/// Where the elements of a dataset with subfiles are, in the space of all its files: the master and the
/// subfiles in their order. Keeps references to all that it is given, and nothing else.
class SubfilePlacement final : public Placement {
 public:
  SubfilePlacement(const Header& header, const Subfiling& subfiling, std::span<const FileSections> files,
                   const FileSpace& space)
      : header_(header), subfiling_(subfiling), files_(files), space_(space) {}
  /// The result refers to what this refers to.
  [[nodiscard]] std::unique_ptr<VariablePlace> place_of(int varid) const override;

 private:
  const Header& header_;  ///< the user's
  const Subfiling& subfiling_;
  std::span<const FileSections> files_;
  const FileSpace& space_;
};

}  // namespace sluice::formats
