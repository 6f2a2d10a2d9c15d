#include "sluice/storage/memory_file_system.hpp"

#include <algorithm>
#include <cerrno>

#include "file_errors.hpp"

namespace sluice::storage {
namespace {

class MemoryFile final : public File {
 public:
  MemoryFile(std::string path, std::shared_ptr<MemoryFileSystem::Contents> contents)
      : path_(std::move(path)), contents_(std::move(contents)), bytes_(&contents_->bytes) {}
  ~MemoryFile() override {
    if (has_lock_) contents_->is_locked = false;
  }

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
  [[nodiscard]] bool try_lock() override {
    if (contents_->is_locked && !has_lock_) return false;
    return has_lock_ = contents_->is_locked = true;
  }
  [[nodiscard]] std::int64_t owner() const override { return contents_->owner; }
  [[nodiscard]] bool is_removed() const override { return contents_->is_removed; }
  [[nodiscard]] std::string mark() const override { return contents_->mark; }
  bool set_mark(const std::string& mark) noexcept override {
    contents_->mark = mark;
    return true;
  }
  void close() override {}

 private:
  std::string path_;
  std::shared_ptr<MemoryFileSystem::Contents> contents_;
  MemoryFileSystem::Bytes* bytes_;
  bool has_lock_ = false;
};

}  // namespace

std::unique_ptr<File> MemoryFileSystem::open(const std::string& path, OpenMode mode) {
  const bool must_be_new = mode == OpenMode::create_new || mode == OpenMode::create_private;
  const bool creates = mode == OpenMode::create || must_be_new;
  if (!creates && !exists(path)) fail(ENOENT, path, "open");
  if (must_be_new && exists(path)) fail(EEXIST, path, "create");
  auto& contents = files_[path];
  if (contents == nullptr) contents = std::make_shared<Contents>(Contents{{}, user_, {}, false, false});
  if (mode == OpenMode::create) contents->bytes.clear();
  return std::make_unique<MemoryFile>(path, contents);
}

std::optional<std::int64_t> MemoryFileSystem::owner_of(const std::string& path) {
  const auto found = files_.find(path);
  if (found == files_.end()) return std::nullopt;
  return found->second->owner;
}

void MemoryFileSystem::remove(const std::string& path) {
  const auto node = files_.extract(path);
  if (node.empty()) fail(ENOENT, path, "delete");
  node.mapped()->is_removed = true;
}

void MemoryFileSystem::rename(const std::string& from, const std::string& to) {
  auto node = files_.extract(from);
  if (node.empty()) fail(ENOENT, from, "rename");
  if (exists(to)) remove(to);
  files_.insert_or_assign(to, node.mapped());
}

std::vector<std::string> MemoryFileSystem::list(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& [path, contents] : files_)
    if (directory_of(path) == directory) names.push_back(name_of(path));
  return names;
}

MemoryFileSystem::Bytes& MemoryFileSystem::bytes(const std::string& path) {
  const auto found = files_.find(path);
  if (found == files_.end()) fail(ENOENT, path, "inspect");
  return found->second->bytes;
}

}  // namespace sluice::storage
