#pragma once
#include <dirent.h>

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace sluice::files {

/// The coupled files that a program finds in an open directory behind those on disk. One thread at a time may
/// read a directory, as with the C library.
class CoupledEntries {
 public:
  explicit CoupledEntries(std::vector<std::string> names);

  /// An entry of this name is on disk, so it does not come again.
  void note_on_disk(const char* name);
  void begin() noexcept { is_begun_ = true; }
  void rewind() noexcept;
  /// Whether the entries on disk are at their end.
  [[nodiscard]] bool is_begun() const noexcept { return is_begun_; }
  /// Null at the end. Valid until the next call.
  [[nodiscard]] dirent64* next() noexcept;
  /// For telldir and seekdir, where is_begun(). Negative, as no place on disk is.
  [[nodiscard]] long place() const noexcept;
  void go_to(long place) noexcept;

 private:
  struct Name {
    std::string text;
    bool is_on_disk = false;
  };
  std::vector<Name> names_;  ///< sorted
  std::size_t next_ = 0;
  bool is_begun_ = false;
  dirent64 entry_{};
};

/// The open directories in which there are coupled files. All others cost one comparison.
class OpenDirectories {
 public:
  /// Null: there are none.
  [[nodiscard]] CoupledEntries* find(DIR* directory);
  /// Without names, nothing is added.
  void add(DIR* directory, std::vector<std::string> names);
  void remove(DIR* directory);

 private:
  std::atomic<std::size_t> count_{0};
  std::mutex mutex_;
  std::map<DIR*, std::unique_ptr<CoupledEntries>> entries_;
};

}  // namespace sluice::files
