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

/// A variable and its expected contents in a file, as small whole numbers that all types can hold. -1:
/// undefined.
struct ReferenceVariable {
  std::vector<std::int64_t>
      shape;  ///< the first length of a record variable is the largest number of records in the test
  std::vector<int> values;
};

/// A file under a driver, and dense arrays with its expected contents. All ranks make the same calls with the
/// same seed.
class TestFile {
 public:
  enum class Kind { file, subfiles, blobs };

  /// Draws dimensions and variables of all types, and creates one or several files.
  TestFile(std::uint64_t seed, const api::FileOptions& options, formats::Version version,
           Kind kind = Kind::file);
  ~TestFile();

  /// Closes the file and opens it again, as open_file does.
  void reopen();
  /// Each rank makes up to `list_length` puts, and records them. With `overlaps`, the puts of a rank may
  /// overlap, and the later one wins. Otherwise ranks may overlap, with the same values.
  void put(api::Mode mode, int list_length, bool overlaps);
  /// Each rank reads random parts and compares them.
  void get_and_check(api::Mode mode, int list_length);
  /// Compares the whole file on every rank.
  void check_everything();
  /// Fills a variable in some records.
  void fill();
  /// Adds variables, so that the others move.
  void redefine();

  [[nodiscard]] const formats::Header& header() const { return header_; }
  HyperslabGenerator random;  ///< the same numbers on all ranks

 private:
  /// An access, with the objects that it refers to.
  struct Prepared {
    std::vector<formats::Hyperslab> slabs;
    std::vector<formats::HyperslabView> views;
    std::vector<std::byte> buffer;
    std::vector<int> values;
    api::Access access;
    bool repeats = false;  ///< names the same list object as the access before it
  };

  void create();
  void use_mode(api::Mode mode);
  void add_variables(int count);
  /// Adds a variable of the same dimensions as the last one.
  void add_twin();
  Prepared draw_access(int owner, bool overlaps, bool within_records);
  /// An access that follows others of the same process. It is new, or has the last one's hyperslabs, for the
  /// same variable or another.
  Prepared draw_next(const std::vector<Prepared>& before, int owner, bool overlaps, bool within_records);
  /// Completes an access that has hyperslabs.
  void set_variable(Prepared& prepared, int varid);
  /// The driver's arguments; they refer to `list`.
  static std::vector<api::Access> accesses_of(std::vector<Prepared>& list);
  void set_buffer(Prepared& prepared, const std::vector<int>& values);
  [[nodiscard]] std::vector<int> values_of(const Prepared& prepared) const;
  template <class Visit>
  void for_each(const Prepared& prepared, const Visit& visit) const;

  api::Communicator comm_;
  std::string path_;
  api::FileOptions options_;
  Kind kind_;
  int files_ = 0;  ///< the number of files beside the master
  api::Mode mode_ = api::Mode::collective;
  std::unique_ptr<api::Driver> driver_;
  formats::Header header_;
  formats::Layout layout_;
  std::vector<ReferenceVariable> reference_;
};

}  // namespace sluice::test
