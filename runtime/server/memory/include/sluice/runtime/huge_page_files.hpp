#pragma once
#include <cstdint>
#include <optional>
#include <utility>

#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::runtime {

/// Memory files with huge pages, even where the system has none for memfds (`shmem_enabled: never`, the
/// default of Linux). The files have no name. They are in a separate tmpfs with `huge=within_size` that is
/// mounted at no path. Users other than root get the tmpfs in a user namespace. The tmpfs ends with the last
/// descriptor and mapping of its files.
class HugePageFiles {
 public:
  /// Returns nothing when the system refuses it, or has no free huge page now. Forks, so the process must
  /// have one thread.
  [[nodiscard]] static std::optional<HugePageFiles> make() noexcept;

  /// Makes a file of `bytes` zero bytes, as create_segment() does. It has huge pages, except for an end
  /// smaller than one, or small pages when the system finds no huge one. It has no seals: Mapping trusts the
  /// file because it has no name and belongs to this user. Throws IoError.
  [[nodiscard]] FileDescriptor create(std::uint64_t bytes) const;

 private:
  explicit HugePageFiles(FileDescriptor root) noexcept : root_(std::move(root)) {}
  [[nodiscard]] bool has_huge_pages() const;

  FileDescriptor root_;  ///< directory of the tmpfs
};

}  // namespace sluice::runtime
