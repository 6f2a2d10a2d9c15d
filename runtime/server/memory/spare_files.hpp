#pragma once
#include <sys/stat.h>

#include <cstdint>
#include <list>
#include <memory>
#include <string>

#include "compared_files.hpp"

namespace sluice::runtime {

/// A file in memory whose step has ended, or that has not become one. Its bytes are nearly those of the
/// newest file of its path.
struct SpareFile {
  std::string path;
  SharedFile file = {};  ///< null: there is none
  std::weak_ptr<const FileDescriptor> newest = {};
  std::shared_ptr<const ByteRanges> lacks = {};  ///< of the newest one; shared with the thread that copies
  struct timespec time = {};                     ///< of its last change, when it was kept
};

/// A program that goes on in a file gets a copy of it. Where there is a spare file, only what that lacks is
/// copied, and no page of memory is taken from the system: docs/design/written-files.md.
class SpareFiles {
 public:
  /// Of fewer bytes, a copy takes no time.
  static constexpr std::uint64_t least_bytes = std::uint64_t{1} << 20;
  /// All files together have at most so many bytes, which do not count in staging.memory.
  void start(std::uint64_t most_bytes) noexcept { most_bytes_ = most_bytes; }
  /// A file that others may have now. `former`: the newest one before; what its path has lacks so much more.
  void keep(SpareFile spare, const SharedFile& former);
  /// A file that nobody else has, that can be changed, and that nobody has changed since; or none.
  [[nodiscard]] SpareFile take(const std::string& path, const SharedFile& newest);
  void clear() noexcept { files_.clear(); }

 private:
  std::uint64_t most_bytes_ = 0;
  std::list<SpareFile> files_;  ///< the newest one is the last
};

}  // namespace sluice::runtime
