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

/// Consecutive elements of a variable (or of a record of it), in its canonical order.
struct ElementRun {
  std::int64_t offset = 0;
  std::int64_t length = 0;
  bool operator==(const ElementRun&) const = default;
};

/// The elements of a variable's decomposed dimensions in each process's blob, in that order. Elements in no
/// blob are holes, which read as zeros.
struct DecompositionMap {
  /// The dimensions, slowest first; variables may have other dimensions of the same lengths. A map with the
  /// record dimension, which only blobs of processes can have, covers all records of a variable. The
  /// processes' elements differ in each record.
  std::vector<int> dimids;
  std::vector<std::vector<ElementRun>> runs;  ///< runs of each process, ascending
};

/// How a dataset is stored in blob files: contiguous groups of processes share a file. A value type.
struct Blobs {
  /// How a variable is stored.
  static constexpr int undecided = -1;  ///< no process has put data
  static constexpr int whole = 0;       ///< in the first blob file, in canonical order; k > 0: by maps[k - 1]

  bool are_of_processes =
      false;  ///< docs/formats/blobs-hdf5.md; otherwise blobs of variables: docs/formats/blobs.md
  int processes = 1;
  int files = 1;  ///< number of blob files
  std::vector<DecompositionMap> maps;
  std::vector<int> kept;  ///< by variable
  std::vector<int>
      order;  ///< the definitions in the blob files: variable ids, and -k for the variables of map k
  /// Whether all files define the whole variables. Their data is read from the first file.
  bool is_whole_everywhere = false;
  /// The first process of each file, then the number of processes; empty if the processes are divided evenly.
  std::vector<int> first_processes;

  [[nodiscard]] int file_of(int process) const noexcept {
    if (first_processes.empty())
      return static_cast<int>(static_cast<std::int64_t>(process) * files / processes);
    const auto behind = std::upper_bound(first_processes.begin(), first_processes.end(), process);
    return static_cast<int>(behind - first_processes.begin()) - 1;
  }
  /// The first process of a file; for the file after the last, the number of processes.
  [[nodiscard]] int first_process(int file) const noexcept {
    if (!first_processes.empty()) return first_processes[static_cast<std::size_t>(file)];
    return static_cast<int>((static_cast<std::int64_t>(file) * processes + files - 1) / files);
  }
  /// Whether the file defines a variable that is stored that way, or has a blob of it.
  [[nodiscard]] bool has(int file, int how) const noexcept {
    return file == 0 || how != whole || is_whole_everywhere;
  }
  /// Elements of a map in the blobs of processes [first, last).
  [[nodiscard]] std::int64_t elements(const DecompositionMap& map, int first, int last) const;
};

/// Throws Error(NC_ENAMEINUSE) if the user's names collide with names that blobs need.
void check_blob_names(const Header& header);

/// Make the headers of the files from the user's header: the master, which has no data, and blob file `file`.
/// Begins are 0.
[[nodiscard]] Header blob_master_header(const Header& header, const Blobs& blobs);
[[nodiscard]] Header blob_file_header(const Header& header, const Blobs& blobs, int file);

/// The master for blob files of E3SM's programs, which write no master; made from the first file's header.
/// Throws FormatError(NC_ENOTNC) if that is not the header of a blob file.
[[nodiscard]] Header master_of_blob_file(const Header& first, bool are_of_processes, const std::string& path);

/// The variables of a blob file in their order there: each is an entry of `order`, and a map's entry appears
/// five times.
[[nodiscard]] std::vector<int> variables_of_file(const Blobs& blobs, std::span<const int> order, int file);

/// The same as shares of the data, for FileEnd.
[[nodiscard]] std::vector<Share> shares_in_file(const Blobs& blobs, std::span<const int> order, int file);

/// The number of files if this is the master of blobs of variables; otherwise 0.
[[nodiscard]] int blob_file_count(const Header& header);
/// The same for blobs of processes.
[[nodiscard]] int process_blob_file_count(const Header& header);

/// The content of a master and its files. `maps` have no runs yet: read_blob_maps.
struct BlobHeader {
  Header header;
  Blobs blobs;
};
/// Reads the headers of blobs of variables and of processes. `paths`: the master and the blob files. The
/// number of blobs in a file comes from the file itself. Throws FormatError(NC_ENOTNC), which names the file.
[[nodiscard]] BlobHeader read_blob_headers(std::span<const FileDescription> files,
                                           std::span<const std::string> paths);

/// Throws FormatError(NC_ETRUNC), which names the file, if a blob file was truncated. Throws
/// FormatError(NC_ENOTNC) if no variable is decomposed, and a file other than the first has data.
void check_blob_ends(const BlobHeader& dataset, std::span<const FileDescription> files,
                     std::span<const std::string> paths);

/// The five variables of a map in one blob file, in the file's representation (big-endian) and in the order
/// of map_variables.
inline constexpr int map_variable_count = 5;
[[nodiscard]] std::vector<std::vector<std::byte>> encode_map(const Blobs& blobs, int map, int file,
                                                             const Header& file_header);
/// The id of a map's first variable in the blob file's header.
[[nodiscard]] int first_map_variable(const Header& file_header, int map);
/// Takes the runs of the file's processes from those bytes. Throws FormatError(NC_ENOTNC).
void decode_map(BlobHeader& dataset, int map, int file, const Header& file_header,
                std::span<const std::vector<std::byte>> variables, const std::string& path);
/// Throws FormatError(NC_ENOTNC) unless each element of each map's dimensions is in exactly one blob.
void check_maps(const BlobHeader& dataset, const std::string& path);

/// How often the runs of all processes contain the elements of a map.
enum class Coverage {
  each_once,   ///< every element is in one blob
  with_holes,  ///< no element is in two blobs, some are in none
  twice,       ///< some elements are in two blobs
};
[[nodiscard]] Coverage coverage_of(const DecompositionMap& map, std::int64_t elements);
/// Gives the holes of a map to processes, so that each element has a place. A short hole goes to the process
/// with the preceding element; a long hole is divided among all processes.
void give_away_holes(DecompositionMap& map, const Header& header);
/// The lengths of dimensions; 0 for the record dimension. Variables of the same shape can share a map.
[[nodiscard]] std::vector<std::int64_t> lengths_of(const Header& header, const std::vector<int>& dimids);
/// Whether the map's first dimension is the record dimension.
[[nodiscard]] bool has_records(const Header& header, const DecompositionMap& map);
/// The number of elements of the map's dimensions.
[[nodiscard]] std::int64_t elements_of_map(const Header& header, const DecompositionMap& map);

/// The number of elements of the map's fastest dimension (a row). No request of a list crosses the end of a
/// row, so that each request is one start and count, as E3SM's programs expect.
[[nodiscard]] std::int64_t row_elements(const Header& header, const DecompositionMap& map);
/// Requests result from runs that are cut at the ends of rows with that many elements. The first function
/// counts the requests of a list. The second visits the requests of one run, in order.
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
/// The inverse: appends a request, or extends the last run if the request continues it.
void append_joined(std::vector<ElementRun>& runs, const ElementRun& request);

/// The master as readers see it. The master has no data; readers add space for a record of the largest
/// variable after its end, at `master_bytes`. The holes of maps are placed there, and read as zeros because
/// nothing is stored there.
[[nodiscard]] FileDescription room_for_holes(const Header& header, std::int64_t master_bytes);

/// Variables with elements of one byte, without the record dimension and begins: an offset is then the number
/// of an element in canonical order.
[[nodiscard]] Header element_header(const Header& header);

}  // namespace sluice::formats
