#pragma once
#include <memory>
#include <string>

#include "sluice/storage/forwarding_file_system.hpp"

namespace sluice::storage {

/// A file system on which long work can be ended: `check` is called before each open, and before each part of
/// what is read and written. An exception that it throws ends the work. Renames, removals and syncs are not
/// interrupted, so that what takes a file's place takes it whole, and partial files can be removed.
class InterruptibleFileSystem final : public ForwardingFileSystem {
 public:
  using Check = void (*)();

  /// `base` outlives this object.
  InterruptibleFileSystem(FileSystem& base, Check check) : ForwardingFileSystem(base), check_(check) {}

  [[nodiscard]] std::unique_ptr<File> open(const std::string& path, OpenMode mode) override;

 private:
  Check check_;
};

}  // namespace sluice::storage
