#pragma once
#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "described_dataset.hpp"
#include "dispatch_table.hpp"
#include "program_library.hpp"

namespace sluice::api::netcdf {

/// A dataset that a program has open by netCDF, and that is coupled by hyperslabs.
///
/// All that is defined goes to two places: to the coupled dataset, which readers get; and to the *shadow*, a
/// dataset of the program's netCDF in memory, without data. The shadow answers inquiries and makes the
/// checks, so rules and errors of definitions are netCDF's own.
struct CarriedDataset {
  ProgramLibrary library;
  std::string path;  ///< as the program wrote it
  std::string file;  ///< what the path leads to
  int mode = 0;      ///< the program's flags, and those of the format
  bool is_created = false;
  bool is_writable = false;
  bool is_parallel = false;  ///< it belongs to a communicator that the program has named
  int shadow = -1;           ///< id at the program's netCDF
  int coupled = -1;          ///< id at api/dataset
  bool in_define_mode = false;
  int status_of_close = 0;                           ///< a close that has failed: netCDF keeps the id
  bool has_placed_variables = false;                 ///< it has left define mode with variables
  std::vector<std::byte> header = {};                ///< a reader's shadow is opened from these bytes
  std::unique_ptr<DescribedDataset> described = {};  ///< of a netCDF-4 dataset
  /// Of a parallel one, by the shadow's group and id: whether puts are collective. Others: independent.
  std::map<std::array<int, 2>, bool> collective = {};

  /// Bytes that the shadow has between its header and where data would begin, so that definitions may follow.
  /// CDF-1 has little space before its variables have to begin.
  [[nodiscard]] std::size_t space_after_header() const noexcept {
    constexpr std::size_t much = std::size_t{1} << 20, little = std::size_t{1} << 16;
    return (mode & (mode::offset64 | mode::data64)) != 0 ? much : little;
  }
  /// Calls a function of the program's netCDF for the shadow.
  template <class... Parameters>
  int ask(const char* name, Parameters... parameters) const noexcept {
    return library.call<int, Parameters...>(name, shadow, parameters...);
  }
};

/// A group of a carried dataset: what the functions of the table are called for.
struct CarriedGroup {
  CarriedDataset& dataset;
  int shadow;  ///< id at the program's netCDF

  template <class... Parameters>
  int ask(const char* name, Parameters... parameters) const noexcept {
    return dataset.library.call<int, Parameters...>(name, shadow, parameters...);
  }
  CarriedDataset* operator->() const noexcept { return &dataset; }
};

/// The dataset of an id that the program's netCDF has given out, of any group; null: it is not carried.
[[nodiscard]] CarriedDataset* find_carried(int ncid) noexcept;
/// The dataset of that file that this process writes and has defined, and not with others; null: there is
/// none.
[[nodiscard]] std::shared_ptr<CarriedDataset> find_written(const std::string& file);
/// Keeps the dataset for that id until remove_carried(). One dataset may have several ids.
void add_carried(int ncid, std::shared_ptr<CarriedDataset> dataset);
void remove_carried(int ncid) noexcept;
/// Whether the dataset of the id has other ids, too.
[[nodiscard]] bool has_other_ids(int ncid) noexcept;

}  // namespace sluice::api::netcdf
