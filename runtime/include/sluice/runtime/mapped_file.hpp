#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "sluice/runtime/file_descriptor.hpp"
#include "sluice/runtime/segment.hpp"

namespace sluice::runtime {

/// A file with segments in it, of which small ones share windows: neither descriptors nor mappings grow with
/// the number of segments. One thread at a time.
class MappedFile {
 public:
  explicit MappedFile(FileDescriptor file)
      : MappedFile(std::make_shared<const FileDescriptor>(std::move(file))) {}
  explicit MappedFile(std::shared_ptr<const FileDescriptor> file) noexcept : file_(std::move(file)) {}

  /// Shared by all who map the file or write to it.
  [[nodiscard]] const std::shared_ptr<const FileDescriptor>& descriptor() const noexcept { return file_; }

  /// A segment. It is in the window of others where it lies within one, and is mapped by itself otherwise.
  /// Throws as Mapping does.
  [[nodiscard]] Mapping map(const SegmentExtent& extent, Mapping::Access access);

 private:
  std::shared_ptr<const FileDescriptor> file_;
  std::map<std::uint64_t, std::weak_ptr<MappedWindow>> windows_;  ///< that mappings share, by their number
};

}  // namespace sluice::runtime
