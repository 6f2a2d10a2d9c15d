#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "sluice/runtime/file_descriptor.hpp"
#include "sluice/runtime/segment.hpp"

namespace sluice::runtime {

/// A file that contains segments. Small segments share windows, so the numbers of descriptors and mappings do
/// not grow with the number of segments. One thread at a time.
class MappedFile {
 public:
  explicit MappedFile(FileDescriptor file)
      : MappedFile(std::make_shared<const FileDescriptor>(std::move(file))) {}
  explicit MappedFile(std::shared_ptr<const FileDescriptor> file) noexcept : file_(std::move(file)) {}

  /// A file that is open only while somebody needs its descriptor. `open`: throws IoError.
  using Opener = std::function<std::shared_ptr<const FileDescriptor>()>;
  explicit MappedFile(Opener open) noexcept : open_(std::move(open)) {}

  /// The descriptor, shared by all users that map the file or write to it. Throws IoError when the file is to
  /// be opened and cannot be.
  [[nodiscard]] std::shared_ptr<const FileDescriptor> descriptor() const { return file_ ? file_ : open_(); }

  /// The same for another thread, and for later: a function that gives the descriptor.
  [[nodiscard]] Opener opener() const {
    return file_ ? [file = file_] { return file; } : open_;
  }

  /// Maps a segment: as part of a shared window when the segment lies within one, otherwise by itself. Throws
  /// as Mapping does.
  [[nodiscard]] Mapping map(const SegmentExtent& extent, Mapping::Access access);

 private:
  std::shared_ptr<const FileDescriptor> file_;
  Opener open_;                           ///< where there is no file_
  std::uint64_t sealed_bytes_ = 0;        ///< a seal keeps so many bytes in the file; 0: not known
  std::shared_ptr<MappedWindow> recent_;  ///< stays: the next segment is often in it, too
  std::map<std::uint64_t, std::weak_ptr<MappedWindow>> windows_;  ///< by number; shared by mappings
};

}  // namespace sluice::runtime
