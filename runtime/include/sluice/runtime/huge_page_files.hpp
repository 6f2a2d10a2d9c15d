#pragma once
#include <cstdint>
#include <optional>
#include <utility>

#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::runtime {

/// Memory files with huge pages, also where the system has none for memfds (`shmem_enabled: never`, which is
/// Linux' default): files without a name in a tmpfs of our own that is mounted at no path, with
/// `huge=within_size`. Who is not root gets that in a user namespace. The tmpfs ends with the last descriptor
/// and mapping of its files.
class HugePageFiles {
 public:
  /// Nothing where the system refuses it, or has no huge page left right now. Forks: for a process that has
  /// one thread.
  [[nodiscard]] static std::optional<HugePageFiles> make() noexcept;

  /// A file of `bytes` zero bytes, as create_segment(). It has huge pages but for an end of less than one;
  /// small ones where the system finds no huge one. It has no seals: Mapping trusts it because it has no name
  /// and is this user's. Throws IoError.
  [[nodiscard]] FileDescriptor create(std::uint64_t bytes) const;

 private:
  explicit HugePageFiles(FileDescriptor root) noexcept : root_(std::move(root)) {}
  [[nodiscard]] bool has_huge_pages() const;

  FileDescriptor root_;  ///< the tmpfs' directory
};

}  // namespace sluice::runtime
