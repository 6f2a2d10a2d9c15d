#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sluice/runtime/mapped_file.hpp"

namespace sluice::runtime {

/// Cuts segments from large sparse files, so that the number of descriptors is constant. A range is never
/// reused: a process may still have it mapped when its segment has ended. The pages of a returned range are
/// freed by hole punching.
class FileRanges {
 public:
  struct Options {
    /// Makes an empty file; of `bytes` bytes if it is not to grow. Throws IoError.
    std::function<FileDescriptor(std::uint64_t bytes)> make;
    /// Reserves space for a range, if needed. Throws IoError; the range then stays free.
    std::function<void(const FileDescriptor& file, std::uint64_t offset_bytes, std::uint64_t bytes)> reserve =
        {};
    /// the number of files that take turns: writers of one file wait for each other
    std::uint32_t files = 1;
    std::uint64_t file_bytes = std::uint64_t{4} << 40;
  };
  explicit FileRanges(Options options);

  struct Range {
    std::shared_ptr<MappedFile> file;  ///< shared by all its segments
    SegmentExtent extent;
  };
  /// Returns a range. A range smaller than a window lies within one window. `number`: the number of a new
  /// file, if one is needed. Throws as Options::make and Options::reserve.
  [[nodiscard]] Range cut(std::uint64_t number, std::uint64_t bytes);

 private:
  struct Current {
    std::shared_ptr<MappedFile> file;
    std::uint64_t number = 0;
    std::uint64_t next = 0;
    std::uint64_t end = 0;
  };
  [[nodiscard]] static std::uint64_t place_of(std::uint64_t next, std::uint64_t bytes) noexcept;

  Options options_;
  std::vector<Current> files_;
  std::size_t turn_ = 0;
};

}  // namespace sluice::runtime
