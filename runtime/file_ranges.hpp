#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sluice/runtime/mapped_file.hpp"

namespace sluice::runtime {

/// Cuts segments off large files that have no pages where nobody has written: a constant number of
/// descriptors, however many segments there are. A range is never cut twice, so that who still has it mapped
/// when its segment has ended harms nobody; its pages go by hole punching.
class FileRanges {
 public:
  struct Options {
    /// Makes an empty file, of so many bytes where it is not to grow. Throws IoError.
    std::function<FileDescriptor(std::uint64_t bytes)> make;
    /// Makes room for a range, if that has to be done. Throws IoError: the range stays free.
    std::function<void(const FileDescriptor& file, std::uint64_t offset_bytes, std::uint64_t bytes)> reserve =
        {};
    std::uint32_t files = 1;  ///< that take turns: writers of one file wait for each other
    std::uint64_t file_bytes = std::uint64_t{4} << 40;
  };
  explicit FileRanges(Options options);

  struct Range {
    std::shared_ptr<MappedFile> file;  ///< shared by all its segments
    SegmentExtent extent;
  };
  /// A range within a window where it is smaller than one. `number`: of the file, if one has to be made.
  /// Throws as Options::make and Options::reserve.
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
