#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace sluice::coordinator {

/// A copy of the directory of a workflow, in which one of the runs of `sluice verify` takes place.
class WorkflowCopy {
 public:
  /// Copies all of `directory` to `copy` but .sluice and .git. A copy that an earlier `sluice verify` has
  /// left is replaced. Throws IoError: `copy` exists and is something else, or the disk is full.
  WorkflowCopy(const std::filesystem::path& directory, std::filesystem::path copy);

  [[nodiscard]] const std::filesystem::path& directory() const noexcept { return copy_; }
  /// A directory for the records of puts and gets.
  [[nodiscard]] std::filesystem::path records() const { return copy_ / ".sluice" / "values"; }
  /// The output of the run.
  [[nodiscard]] std::filesystem::path output() const { return copy_ / ".sluice" / "verify-output.txt"; }

  /// The regular files that were written since the copy was made, relative to it.
  [[nodiscard]] std::map<std::string, std::filesystem::path> written_files() const;
  void remove() const noexcept;

 private:
  struct Stamp {
    std::filesystem::file_time_type time;
    std::uintmax_t size = 0;
    bool operator==(const Stamp&) const = default;
  };
  void copy_all(const std::filesystem::path& directory);

  std::filesystem::path copy_;
  std::map<std::string, Stamp> stamps_;  ///< of the files that were there at the beginning
};

/// The bytes of the files that a copy would have.
[[nodiscard]] std::uintmax_t bytes_to_copy(const std::filesystem::path& directory);

}  // namespace sluice::coordinator
