#include "log_file.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "sluice/formats/error.hpp"
#include "sluice/storage/cut_guard.hpp"

namespace sluice::storage {
namespace {

/// What was written is gone.
[[noreturn]] void fail_for_cut(const File& file) {
  throw IoError(NC_EIO, EIO, file.path(), "go on in (another program has cut it)");
}

/// Without a system call.
void expect_mapped(std::span<const std::byte> memory, const File& file) {
  if (!memory.empty() && is_cut(memory.data())) fail_for_cut(file);
}

/// Space that is reserved at once. To reserve and map it costs some hundred times as much as a write, and at
/// the end it is given back.
constexpr std::int64_t least_capacity = 64 << 10;
constexpr std::int64_t most_growth = std::int64_t{64} << 20;

std::int64_t whole_pages(std::int64_t bytes) noexcept {
  constexpr std::int64_t page = 4096;
  return (bytes + page - 1) / page * page;
}

}  // namespace

LogFile::LogFile(std::unique_ptr<File> file, std::int64_t size_bytes) noexcept
    : file_(std::move(file)),
      written_bytes_(size_bytes),
      mapped_from_bytes_(size_bytes + std::max(least_capacity, size_bytes / 64)) {}

/// What follows may extend the file: then it would have zeros where it was cut.
void LogFile::expect_whole(std::int64_t size_bytes) const {
  expect_mapped(memory_, *file_);
  if (file_->size_bytes() < std::max(size_bytes, std::ssize(memory_))) fail_for_cut(*file_);
}

bool LogFile::has_room(std::int64_t end_bytes) {
  const auto capacity = std::ssize(memory_);
  if (end_bytes <= capacity) return true;
  if (!can_map_ || written_bytes_ < mapped_from_bytes_) return false;
  expect_whole(written_bytes_);
  const auto needed = whole_pages(std::max(end_bytes, written_bytes_));
  const auto wish = std::max({needed, least_capacity, capacity + std::min(capacity, most_growth)});
  memory_ = file_->map(wish);
  // A nearly full disk may have enough space for `needed` bytes, but not for twice as many.
  if (memory_.empty() && wish > needed) memory_ = file_->map(needed);
  can_map_ = !memory_.empty();
  return can_map_;
}

void LogFile::write(std::int64_t offset_bytes, std::span<const std::byte> bytes) {
  const std::int64_t end = offset_bytes + std::ssize(bytes);
  if (has_room(end)) {
    std::memcpy(memory_.data() + offset_bytes, bytes.data(), bytes.size());
    expect_mapped(memory_, *file_);
  } else {
    expect_whole(written_bytes_);
    file_->write(offset_bytes, bytes);
  }
  written_bytes_ = std::max(written_bytes_, end);
}

void LogFile::write_number(std::int64_t offset_bytes, std::int64_t value) {
  if (!has_room(offset_bytes + 8)) {
    expect_whole(written_bytes_);
    return file_->write(offset_bytes, std::as_bytes(std::span(&value, 1)));
  }
  auto& place = *reinterpret_cast<std::int64_t*>(memory_.data() + offset_bytes);
  std::atomic_ref(place).store(value, std::memory_order_release);
  expect_mapped(memory_, *file_);
}

void LogFile::cut(std::int64_t size_bytes) {
  if (memory_.empty()) {
    file_->resize(size_bytes);
  } else if (size_bytes < written_bytes_) {
    std::memset(memory_.data() + size_bytes, 0, static_cast<std::size_t>(written_bytes_ - size_bytes));
  }
  written_bytes_ = std::min(written_bytes_, size_bytes);
}

void LogFile::sync() {
  expect_whole(written_bytes_);
  file_->sync();
}

void LogFile::close(std::int64_t size_bytes) {
  expect_whole(std::min(size_bytes, written_bytes_));
  memory_ = file_->map(0);
  can_map_ = false;
  file_->resize(size_bytes);
  file_->close();
}

}  // namespace sluice::storage
