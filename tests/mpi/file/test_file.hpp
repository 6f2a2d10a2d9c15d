#pragma once
#include <mpi.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "driver.hpp"
#include "file_options.hpp"
#include "mpi_handles.hpp"
#include "support/dense_reference.hpp"

namespace sluice::test {

/// A variable and what a file should hold of it, as small whole numbers that all types can hold. -1:
/// undefined.
struct ReferenceVariable {
  std::vector<std::int64_t>
      shape;  ///< for a record variable, the first is the largest number of records in the test
  std::vector<int> values;
};

/// A file under a driver and dense arrays beside it. All ranks make the same calls with the same seed.
class TestFile {
 public:
  enum class Kind { file, subfiles, blobs };

  /// Draws dimensions and variables of all types, and creates the file, or several.
  TestFile(std::uint64_t seed, const api::FileOptions& options, formats::Version version,
           Kind kind = Kind::file);
  ~TestFile();

  /// Closes the file and opens it again, as open_file does.
  void reopen();
  /// Lets `list_length` accesses a rank put values, and notes them. With `overlaps`, a rank's accesses may
  /// touch the same elements and the later wins; otherwise ranks may meet, with the same values.
  void put(api::Mode mode, int list_length, bool overlaps);
  /// Lets every rank read what it likes and compares.
  void get_and_check(api::Mode mode, int list_length);
  /// All of the file on every rank.
  void check_everything();
  /// Fills a variable in some records.
  void fill();
  /// Adds variables so that the others move.
  void redefine();

  [[nodiscard]] const formats::Header& header() const { return header_; }
  HyperslabGenerator random;  ///< the same numbers on all ranks

 private:
  /// One access with what it points to.
  struct Prepared {
    std::vector<formats::Hyperslab> slabs;
    std::vector<formats::HyperslabView> views;
    std::vector<std::byte> buffer;
    std::vector<int> values;
    api::Access access;
    bool repeats = false;  ///< names the very list of hyperslabs that the access before it names
  };

  void create();
  void use_mode(api::Mode mode);
  void add_variables(int count);
  /// Adds a variable of the same dimensions as the last one.
  void add_twin();
  Prepared draw_access(int owner, bool overlaps, bool within_records);
  /// An access that follows those of the same process: a new one, or the last one's hyperslabs again, of
  /// another variable or the same.
  Prepared draw_next(const std::vector<Prepared>& before, int owner, bool overlaps, bool within_records);
  /// Completes an access whose hyperslabs are there.
  void set_variable(Prepared& prepared, int varid);
  /// What the driver gets; refers to the list.
  static std::vector<api::Access> accesses_of(std::vector<Prepared>& list);
  void set_buffer(Prepared& prepared, const std::vector<int>& values);
  [[nodiscard]] std::vector<int> values_of(const Prepared& prepared) const;
  template <class Visit>
  void for_each(const Prepared& prepared, const Visit& visit) const;

  api::Communicator comm_;
  std::string path_;
  api::FileOptions options_;
  Kind kind_;
  int files_ = 0;  ///< beside the master
  api::Mode mode_ = api::Mode::collective;
  std::unique_ptr<api::Driver> driver_;
  formats::Header header_;
  formats::Layout layout_;
  std::vector<ReferenceVariable> reference_;
};

}  // namespace sluice::test
