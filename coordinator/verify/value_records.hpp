#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace sluice::coordinator {

/// One put or get of a record that the client library has made; docs/design/verifying-a-run.md.
struct RecordedAccess {
  bool is_get = false;
  std::string variable;
  std::int64_t elements = 0;
  int status = 0;
  std::string fingerprint;
  std::string slabs;  ///< as recorded

  [[nodiscard]] bool operator==(const RecordedAccess&) const = default;
};

/// The accesses of one process to one file, in the order of the calls.
struct AccessSite {
  std::string component;
  int rank = 0;
  std::string path;  ///< relative to the workflow's directory; absolute outside of it
  auto operator<=>(const AccessSite&) const = default;
};

/// A file that programs of a component have opened for reading by the C library.
struct FileSite {
  std::string component;
  std::string path;
  auto operator<=>(const FileSite&) const = default;
};

/// What one run has recorded.
struct RunRecords {
  std::map<AccessSite, std::vector<RecordedAccess>> accesses;
  std::map<FileSite, std::set<std::string>> reads;  ///< bytes and fingerprints of what was seen there
  std::map<std::string, std::string> writers;       ///< by path: a component that has written it
};

/// Reads the records of all components: `directory`/COMPONENT. `tree` is the workflow's directory in that
/// run. Lines that are damaged are left out.
[[nodiscard]] RunRecords read_records(const std::filesystem::path& directory,
                                      const std::filesystem::path& tree);

/// What two runs have read.
struct ReadComparison {
  std::uint64_t equal = 0;      ///< gets with the same arguments and values, files with the same bytes
  std::uint64_t different = 0;  ///< all others
  std::uint64_t excused = 0;    ///< those that time decides
  std::vector<std::string> differences;  ///< the first difference of each process and file, in words
};

/// What may differ without a fault.
struct Excuses {
  /// Whether time decides which files the component takes. Those that it took in one run alone are excused.
  std::function<bool(const std::string& component)> chooses;
  /// Whether the contents of the file follow from such a choice.
  std::function<bool(const std::string& path)> depends;
  /// Whether time decides how much of the file the component sees. What is equal counts nevertheless.
  std::function<bool(const std::string& component, const std::string& path)> sees_part =
      [](const std::string&, const std::string&) { return false; };
};

/// The path in a record without the number of the step: "state.nc" of "state.nc.step-3".
[[nodiscard]] std::string without_step(const std::string& path);

[[nodiscard]] ReadComparison compare_gets(const RunRecords& first, const RunRecords& second,
                                          const Excuses& excuses);
/// The same for files that were read by the C library.
[[nodiscard]] ReadComparison compare_reads(const RunRecords& first, const RunRecords& second,
                                           const Excuses& excuses);

/// Leaves out the gets that the component has made in one run alone, of files that its netCDF may have by
/// hyperslabs in one run and by the C library in the other: they cannot be compared.
void leave_out_unlike_reads(RunRecords& files, RunRecords& memory,
                            const std::function<bool(const std::string& path)>& may_be_unlike);

/// Whether the component's gets of some of the files are not the same in both runs.
[[nodiscard]] bool has_read_otherwise(const RunRecords& first, const RunRecords& second,
                                      const std::string& component,
                                      const std::function<bool(const std::string& path)>& is_meant);
/// Whether the component has opened other files in the two runs.
[[nodiscard]] bool has_other_choice(const RunRecords& first, const RunRecords& second,
                                    const std::string& component);

/// "rank 2 of model": who put that element last, according to the order of each process's puts. Empty: nobody
/// is known.
[[nodiscard]] std::string writer_of(const RunRecords& records, const std::string& path,
                                    const std::string& variable, const std::vector<std::int64_t>& index);

}  // namespace sluice::coordinator
