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

/// "NAME.subfile_2.nc", or "NAME.subfile_2" as on PnetCDF's page on subfiling.
enum class SubfileNames : std::uint8_t { with_suffix, without_suffix };
[[nodiscard]] std::string subfile_path(std::string_view master, int subfile,
                                       SubfileNames names = SubfileNames::with_suffix);

/// The division of a variable along one of its dimensions.
struct Division {
  int dimension = 0;                ///< position among the variable's dimensions
  std::vector<std::int64_t> first;  ///< subfile i holds indexes [first[i], first[i + 1])

  /// The number of indexes in a subfile.
  [[nodiscard]] std::int64_t length_in(int subfile) const {
    const auto i = static_cast<std::size_t>(subfile);
    return first[i + 1] - first[i];
  }
};

/// The division of a dataset's variables among subfiles. A value type.
class Subfiling {
 public:
  Subfiling() = default;
  explicit Subfiling(int subfiles) : subfiles_(subfiles) {}

  [[nodiscard]] int subfiles() const noexcept { return subfiles_; }
  /// Null for a variable in the master.
  [[nodiscard]] const Division* division_of(int varid) const noexcept;
  /// The id of a divided variable, which is the same in all subfiles.
  [[nodiscard]] int id_in_subfiles(int varid) const { return ids_[static_cast<std::size_t>(varid)]; }
  [[nodiscard]] int divided_variables() const noexcept { return divided_variables_; }
  /// Decides the division of variables added since the last call. `header` is the user's.
  void add_variables(const Header& header);
  /// For readers of a master: appends the division of the next variable, or none if it is not divided.
  void append(std::optional<Division> division);

  /// Convert the whole division to numbers for another process, and back.
  [[nodiscard]] std::vector<std::int64_t> numbers() const;
  [[nodiscard]] static Subfiling of_numbers(int subfiles, std::span<const std::int64_t> numbers);

 private:
  [[nodiscard]] std::optional<Division> divide(const Header& header, int varid) const;

  int subfiles_ = 0;
  int divided_variables_ = 0;
  std::vector<std::optional<Division>> divisions_;  ///< by variable
  std::vector<int> ids_;                            ///< by variable: id in the subfiles, or -1
};

/// The positions of one file's data: all facts that a process needs about a subfile of another writer.
struct FileSections {
  Layout layout;
  std::vector<std::int64_t> begins;  ///< by variable of the file
};
[[nodiscard]] FileSections sections_of(const Header& header, std::int64_t header_size_bytes);

/// The shares of a master's variables. Divided variables are scalars without meaning there.
[[nodiscard]] std::vector<Share> shares_in_master(const Subfiling& subfiling, int variables);

/// The number of subfiles that a header names; 0 for an ordinary file.
[[nodiscard]] int subfile_count(const Header& header);

/// The content of a master: the user's header (without begins) and its division.
struct SubfiledHeader {
  Header header;
  Subfiling subfiling;
};
/// Throws FormatError(NC_ENOTNC) if the attributes contradict each other. `path` is for messages. For a
/// header that is not decoded yet, MasterReader (subfile_master.hpp) is faster.
[[nodiscard]] SubfiledHeader read_master(const Header& master, const std::string& path);

/// Throws FormatError(NC_ENOTNC) unless the file has the content that SubfileHeaders would give it (except
/// the names of dimensions, and the attributes).
void check_subfile(const SubfiledHeader& dataset, int subfile, const Header& found, const std::string& path);

/// The positions of the elements of a dataset with subfiles, in the space of all its files: the master and
/// the subfiles in their order. Keeps references to all arguments, and no copies.
class SubfilePlacement final : public Placement {
 public:
  SubfilePlacement(const Header& header, const Subfiling& subfiling, std::span<const FileSections> files,
                   const FileSpace& space)
      : header_(header), subfiling_(subfiling), files_(files), space_(space) {}
  /// The result refers to the objects that this object refers to.
  [[nodiscard]] std::unique_ptr<VariablePlace> place_of(int varid) const override;

 private:
  const Header& header_;  ///< the user's header
  const Subfiling& subfiling_;
  std::span<const FileSections> files_;
  const FileSpace& space_;
};

}  // namespace sluice::formats
