#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
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
using ValueRecords = std::map<AccessSite, std::vector<RecordedAccess>>;

/// Reads the records of all components: `directory`/COMPONENT/RANK. `tree` is the workflow's directory in
/// that run. Lines that are damaged are left out.
[[nodiscard]] ValueRecords read_value_records(const std::filesystem::path& directory,
                                              const std::filesystem::path& tree);

/// What two runs have read.
struct GetComparison {
  std::uint64_t equal = 0;               ///< gets with the same arguments and values in both runs
  std::uint64_t different = 0;           ///< all others
  std::vector<std::string> differences;  ///< the first difference of each process and file, in words
};
[[nodiscard]] GetComparison compare_gets(const ValueRecords& first, const ValueRecords& second);

/// "rank 2 of model": who put that element last, according to the order of each process's puts. Empty: nobody
/// is known.
[[nodiscard]] std::string writer_of(const ValueRecords& records, const std::string& path,
                                    const std::string& variable, const std::vector<std::int64_t>& index);

}  // namespace sluice::coordinator
