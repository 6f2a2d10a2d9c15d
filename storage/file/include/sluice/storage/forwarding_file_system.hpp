#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

/// Forwards to another file system; subclasses change a part.
class ForwardingFileSystem : public FileSystem {
 public:
  /// `base` outlives this object.
  explicit ForwardingFileSystem(FileSystem& base) : base_(base) {}

  [[nodiscard]] std::unique_ptr<File> open(const std::string& path, OpenMode mode) override {
    return base_.open(path, mode);
  }
  [[nodiscard]] bool exists(const std::string& path) override { return base_.exists(path); }
  [[nodiscard]] std::optional<std::int64_t> owner_of(const std::string& path) override {
    return base_.owner_of(path);
  }
  [[nodiscard]] std::int64_t user() const override { return base_.user(); }
  void remove(const std::string& path) override { base_.remove(path); }
  void rename(const std::string& from, const std::string& to) override { base_.rename(from, to); }
  [[nodiscard]] std::vector<std::string> list(const std::string& directory) override {
    return base_.list(directory);
  }
  [[nodiscard]] std::int64_t capacity_bytes(const std::string& directory) override {
    return base_.capacity_bytes(directory);
  }
  void sync_directory(const std::string& directory) override { base_.sync_directory(directory); }

 protected:
  [[nodiscard]] FileSystem& base() const noexcept { return base_; }

 private:
  FileSystem& base_;
};

/// Forwards to another file what every file can do; subclasses change a part. What the base of File does
/// without help of a file system (copies, mapped memory, hints) is not forwarded.
class ForwardingFile : public File {
 public:
  explicit ForwardingFile(std::unique_ptr<File> base) : base_(std::move(base)) {}

  [[nodiscard]] const std::string& path() const noexcept override { return base_->path(); }
  [[nodiscard]] std::int64_t size_bytes() const override { return base_->size_bytes(); }
  [[nodiscard]] std::size_t read(std::int64_t offset_bytes, std::span<std::byte> bytes) const override {
    return base_->read(offset_bytes, bytes);
  }
  void write(std::int64_t offset_bytes, std::span<const std::byte> bytes) override {
    base_->write(offset_bytes, bytes);
  }
  void resize(std::int64_t size_bytes) override { base_->resize(size_bytes); }
  void reserve(std::int64_t size_bytes) override { base_->reserve(size_bytes); }
  void sync() override { base_->sync(); }
  [[nodiscard]] bool try_lock() override { return base_->try_lock(); }
  [[nodiscard]] bool try_lock_for_sure() override { return base_->try_lock_for_sure(); }
  [[nodiscard]] std::int64_t owner() const override { return base_->owner(); }
  [[nodiscard]] bool is_removed() const override { return base_->is_removed(); }
  void take_permissions_of(const std::string& path) override { base_->take_permissions_of(path); }
  void take_times_of(const std::string& path) override { base_->take_times_of(path); }
  [[nodiscard]] std::string mark() const override { return base_->mark(); }
  bool set_mark(const std::string& mark) noexcept override { return base_->set_mark(mark); }
  void close() override { base_->close(); }

 protected:
  [[nodiscard]] File& base() const noexcept { return *base_; }

 private:
  std::unique_ptr<File> base_;
};

}  // namespace sluice::storage
