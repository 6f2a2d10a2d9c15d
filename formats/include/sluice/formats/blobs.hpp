#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sluice/formats/file_end.hpp"
#include "sluice/formats/file_space.hpp"
#include "sluice/formats/header.hpp"
#include "sluice/formats/placement.hpp"

// Blobs, one for each process, variable and record, as E3SM lays them out: docs/formats/blobs.md.
namespace sluice::formats {

/// "NAME.0002"
[[nodiscard]] std::string blob_file_path(std::string_view master, int file);

/// Elements that follow each other in a variable (in a record of it), in its canonical order.
struct ElementRun {
  std::int64_t offset = 0;
  std::int64_t length = 0;
  bool operator==(const ElementRun&) const = default;
};

/// Which elements of a variable's decomposed dimensions are in which process's blob, in that order. Elements
/// that are in none are holes, which read as zeros.
struct DecompositionMap {
  /// The dimensions, slowest first; variables may have others of the same lengths. With the record dimension,
  /// which only blobs of processes can have, the map has all records of a variable, each with other elements
  /// of the processes.
  std::vector<int> dimids;
  std::vector<std::vector<ElementRun>> runs;  ///< of each process, ascending
};

/// How a dataset is kept in blob files: processes in contiguous groups share one. A value.
struct Blobs {
  /// How a variable is kept.
  static constexpr int undecided = -1;  ///< nobody has put anything
  static constexpr int whole = 0;       ///< in the first blob file, in canonical order; k > 0: by maps[k - 1]

  bool are_of_processes = false;  ///< docs/formats/blobs-hdf5.md; else of variables: docs/formats/blobs.md
  int processes = 1;
  int files = 1;  ///< blob files
  std::vector<DecompositionMap> maps;
  std::vector<int> kept;   ///< by variable
  std::vector<int> order;  ///< what the blob files define: variable ids, and -k for the variables of map k
  /// Whether all files define the whole variables, of which the first has the data that is read.
  bool is_whole_everywhere = false;
  /// The first process of each file, and behind the last; empty where they are divided evenly.
  std::vector<int> first_processes;

  [[nodiscard]] int file_of(int process) const noexcept {
    if (first_processes.empty())
      return static_cast<int>(static_cast<std::int64_t>(process) * files / processes);
    const auto behind = std::upper_bound(first_processes.begin(), first_processes.end(), process);
    return static_cast<int>(behind - first_processes.begin()) - 1;
  }
  /// The first process of a file, or behind the last.
  [[nodiscard]] int first_process(int file) const noexcept {
    if (!first_processes.empty()) return first_processes[static_cast<std::size_t>(file)];
    return static_cast<int>((static_cast<std::int64_t>(file) * processes + files - 1) / files);
  }
  /// Whether the file defines a variable that is kept so, or has a blob of it.
  [[nodiscard]] bool has(int file, int how) const noexcept {
    return file == 0 || how != whole || is_whole_everywhere;
  }
  /// Elements of a map's blobs of processes [first, last).
  [[nodiscard]] std::int64_t elements(const DecompositionMap& map, int first, int last) const;
};

/// Throws Error(NC_ENAMEINUSE) where the user's names are those that blobs need.
void check_blob_names(const Header& header);

/// The headers of the files: the master, which has no data, and blob file `file` of it, from the user's
/// header. Begins are 0.
[[nodiscard]] Header blob_master_header(const Header& header, const Blobs& blobs);
[[nodiscard]] Header blob_file_header(const Header& header, const Blobs& blobs, int file);

/// The master that blob files of E3SM's programs, which write none, would have, from the first file's header.
/// Throws FormatError(NC_ENOTNC) where that is no header of a blob file.
[[nodiscard]] Header master_of_blob_file(const Header& first, bool are_of_processes, const std::string& path);

/// What each variable of a blob file is, in their order there: an entry of `order`, that of a map five times.
[[nodiscard]] std::vector<int> variables_of_file(const Blobs& blobs, std::span<const int> order, int file);

/// The same as shares of the data, for FileEnd.
[[nodiscard]] std::vector<Share> shares_in_file(const Blobs& blobs, std::span<const int> order, int file);

/// Whether this is the master of blobs of variables; and of how many files.
[[nodiscard]] int blob_file_count(const Header& header);
/// The same for blobs of processes.
[[nodiscard]] int process_blob_file_count(const Header& header);

/// What a master and its files say. `maps` have no runs yet: read_blob_maps.
struct BlobHeader {
  Header header;
  Blobs blobs;
};
/// Throws FormatError(NC_ENOTNC), naming the file: `paths` are the master's and those of the blob files. For
/// blobs of variables and of processes. How many blobs a file has is what it says itself.
[[nodiscard]] BlobHeader read_blob_headers(std::span<const FileDescription> files,
                                           std::span<const std::string> paths);

/// Throws FormatError(NC_ETRUNC), naming the file, where a blob file was cut short; FormatError(NC_ENOTNC)
/// where nothing is decomposed, and another file than the first has data.
void check_blob_ends(const BlobHeader& dataset, std::span<const FileDescription> files,
                     std::span<const std::string> paths);

/// The five variables of a map in one blob file, as the file has them (big-endian); in the order of
/// map_variables.
inline constexpr int map_variable_count = 5;
[[nodiscard]] std::vector<std::vector<std::byte>> encode_map(const Blobs& blobs, int map, int file,
                                                             const Header& file_header);
/// The id of a map's first variable in the blob file's header.
[[nodiscard]] int first_map_variable(const Header& file_header, int map);
/// Takes the runs of the file's processes from those bytes. Throws FormatError(NC_ENOTNC).
void decode_map(BlobHeader& dataset, int map, int file, const Header& file_header,
                std::span<const std::vector<std::byte>> variables, const std::string& path);
/// Throws FormatError(NC_ENOTNC) unless each element of each map's dimensions is in one blob.
void check_maps(const BlobHeader& dataset, const std::string& path);

/// How often the runs of all processes have the elements of a map.
enum class Coverage {
  each_once,   ///< every element is in one blob
  with_holes,  ///< none is in two blobs, some are in none
  twice,       ///< some are in two blobs
};
[[nodiscard]] Coverage coverage_of(const DecompositionMap& map, std::int64_t elements);
/// Gives the holes of a map to processes, so that each element has a place: a short one to the process that
/// has the element before it, parts of a long one to each.
void give_away_holes(DecompositionMap& map, const Header& header);
/// The lengths of dimensions; 0 for the record dimension. Variables of the same shape can share a map.
[[nodiscard]] std::vector<std::int64_t> lengths_of(const Header& header, const std::vector<int>& dimids);
/// Whether the map's first dimension is the record dimension.
[[nodiscard]] bool has_records(const Header& header, const DecompositionMap& map);
/// Elements of the map's dimensions.
[[nodiscard]] std::int64_t elements_of_map(const Header& header, const DecompositionMap& map);

/// Elements of the map's fastest dimension. No request of a list goes beyond the end of such a row, so that
/// each is one start and count, which is what E3SM's programs take it for.
[[nodiscard]] std::int64_t row_elements(const Header& header, const DecompositionMap& map);
/// The requests of a list whose runs are cut where rows of so many elements end: how many they are; and one
/// run's, in their order.
[[nodiscard]] std::int64_t count_requests(const std::vector<ElementRun>& runs, std::int64_t row);
template <class Visit>
void for_each_request(const ElementRun& run, std::int64_t row, const Visit& visit) {
  const std::int64_t end = run.offset + run.length;
  for (std::int64_t offset = run.offset; offset < end;) {
    const std::int64_t length = std::min(end - offset, row - offset % row);
    visit(ElementRun{offset, length});
    offset += length;
  }
}
/// Back again: as a longer last run, where the request continues that.
void append_joined(std::vector<ElementRun>& runs, const ElementRun& request);

/// What a reader takes the master for, which has no data: room for a record of the largest variable behind
/// its end, which is at `master_bytes`. Nothing is there, so it reads as zeros: holes of maps are there.
[[nodiscard]] FileDescription room_for_holes(const Header& header, std::int64_t master_bytes);

/// Variables as elements of one byte, without the record dimension and begins: a place in it is the number of
/// an element in canonical order.
[[nodiscard]] Header element_header(const Header& header);

}  // namespace sluice::formats
