#include "sluice/storage/memory_file_system.hpp"

#include <algorithm>
#include <cerrno>

#include "file_errors.hpp"

namespace sluice::storage {
namespace {

class MemoryFile final : public File {
 public:
  MemoryFile(std::string path, std::shared_ptr<MemoryFileSystem::Bytes> bytes)
      : path_(std::move(path)), bytes_(std::move(bytes)) {}

  [[nodiscard]] const std::string& path() const noexcept override { return path_; }
  [[nodiscard]] std::int64_t size_bytes() const override { return static_cast<std::int64_t>(bytes_->size()); }

  [[nodiscard]] std::size_t read(std::int64_t offset_bytes, std::span<std::byte> bytes) const override {
    if (offset_bytes < 0) throw IoError(NC_EREAD, EINVAL, path_, "read");
    const auto offset = static_cast<std::size_t>(offset_bytes);
    if (offset >= bytes_->size()) return 0;
    const auto size = std::min(bytes.size(), bytes_->size() - offset);
    std::copy_n(bytes_->begin() + offset_bytes, size, bytes.begin());
    return size;
  }

  void write(std::int64_t offset_bytes, std::span<const std::byte> bytes) override {
    if (offset_bytes < 0) throw IoError(NC_EWRITE, EINVAL, path_, "write");
    reserve(offset_bytes + static_cast<std::int64_t>(bytes.size()));
    std::copy(bytes.begin(), bytes.end(), bytes_->begin() + offset_bytes);
  }

  void resize(std::int64_t size_bytes) override { bytes_->resize(static_cast<std::size_t>(size_bytes)); }
  void reserve(std::int64_t size_bytes) override {
    if (size_bytes > this->size_bytes()) resize(size_bytes);
  }
  void sync() override {}
  [[nodiscard]] bool try_lock() override { return true; }
  void close() override {}

 private:
  std::string path_;
  std::shared_ptr<MemoryFileSystem::Bytes> bytes_;
};

}  // namespace

std::unique_ptr<File> MemoryFileSystem::open(const std::string& path, OpenMode mode) {
  const bool creates = mode == OpenMode::create || mode == OpenMode::create_new;
  if (!creates && !exists(path)) fail(ENOENT, path, "open");
  if (mode == OpenMode::create_new && exists(path)) fail(EEXIST, path, "create");
  auto& bytes = files_[path];
  if (bytes == nullptr) bytes = std::make_shared<Bytes>();
  if (mode == OpenMode::create) bytes->clear();
  return std::make_unique<MemoryFile>(path, bytes);
}

void MemoryFileSystem::remove(const std::string& path) {
  if (files_.erase(path) == 0) fail(ENOENT, path, "delete");
}

void MemoryFileSystem::rename(const std::string& from, const std::string& to) {
  auto node = files_.extract(from);
  if (node.empty()) fail(ENOENT, from, "rename");
  files_.insert_or_assign(to, node.mapped());
}

std::vector<std::string> MemoryFileSystem::list(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& [path, bytes] : files_)
    if (directory_of(path) == directory) names.push_back(name_of(path));
  return names;
}

MemoryFileSystem::Bytes& MemoryFileSystem::bytes(const std::string& path) {
  const auto found = files_.find(path);
  if (found == files_.end()) fail(ENOENT, path, "look at");
  return *found->second;
}

}  // namespace sluice::storage
