#include "compared_files.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <span>
#include <utility>

#include "memory_file.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/storage/cut_guard.hpp"

namespace sluice::runtime {

namespace {

constexpr const char* any_file = "a file that was written by the C library";

/// What frees a file of kept_mapped(), which it has mapped. It has nothing yet when it is moved.
class FileView {
 public:
  /// The file's first bytes, as many as `size`. Empty: it cannot be mapped.
  [[nodiscard]] std::span<const std::byte> look(const FileDescriptor& file, std::uint64_t size) {
    if (is_cut()) unmap();
    if (memory_.size() < size) map(file, size);
    return memory_.size() < size ? std::span<const std::byte>()
                                 : std::span<const std::byte>(memory_).first(size);
  }
  [[nodiscard]] bool is_cut() const noexcept { return !memory_.empty() && storage::is_cut(memory_.data()); }
  void operator()(const FileDescriptor* file) noexcept {
    unmap();
    const std::unique_ptr<const FileDescriptor> ended(file);
  }

 private:
  void map(const FileDescriptor& file, std::uint64_t size);
  void unmap() noexcept;

  std::span<std::byte> memory_;
};

/// Private, so that the file can be sealed. To touch a hole would give it memory, so a file with holes is not
/// mapped. Such files grow: there is room for more.
void FileView::map(const FileDescriptor& file, std::uint64_t size) {
  constexpr std::uint64_t block = 512, few = 1 << 16;
  if (static_cast<std::uint64_t>(status_of(file).st_blocks) * block + few < size) return unmap();
  const std::size_t room = size + size / 2 + few;
  storage::unguard(memory_);
  void* const memory = memory_.empty()
                           ? ::mmap(nullptr, room, PROT_READ, MAP_PRIVATE | MAP_NORESERVE, file.number(), 0)
                           : ::mremap(memory_.data(), memory_.size(), room, MREMAP_MAYMOVE);
  if (memory != MAP_FAILED) memory_ = {static_cast<std::byte*>(memory), room};
  storage::guard_from_cuts(memory_);
}

void FileView::unmap() noexcept {
  if (memory_.empty()) return;
  storage::unguard(memory_);
  ::munmap(memory_.data(), memory_.size());
  memory_ = {};
}

/// A file, part by part: read, or mapped, where it is kept so.
class FileParts {
 public:
  explicit FileParts(const FileDescriptor& file) : file_(file) {}
  explicit FileParts(const SharedFile& file) : file_(*file), view_(std::get_deleter<FileView>(file)) {
    if (view_ != nullptr) mapped_ = view_->look(file_, file_size(file_));
  }
  /// Fewer bytes at the end of the file.
  [[nodiscard]] std::span<const std::byte> part(std::uint64_t offset, std::size_t bytes) {
    if (!mapped_.empty())
      return mapped_.subspan(std::min(mapped_.size(), offset))
          .first(std::min(bytes, mapped_.size() - std::min(mapped_.size(), offset)));
    room_.resize(std::max(room_.size(), bytes));
    const ssize_t length = ::pread(file_.number(), room_.data(), bytes, static_cast<off_t>(offset));
    if (length < 0) throw IoError(NC_EIO, errno, any_file, "read");
    return std::span<const std::byte>(room_).first(static_cast<std::size_t>(length));
  }
  /// What was mapped has been the file's.
  void expect_no_cut() const {
    if (view_ != nullptr && view_->is_cut())
      throw Error(NC_EIO, std::string(any_file) + " was cut by another program");
  }

 private:
  const FileDescriptor& file_;
  FileView* view_ = nullptr;
  std::span<const std::byte> mapped_;
  std::vector<std::byte> room_;
};

}  // namespace

SharedFile kept_mapped(FileDescriptor file) {
  return {std::make_unique<const FileDescriptor>(std::move(file)).release(), FileView()};
}

std::uint64_t size_of(const ByteRanges& ranges) noexcept {
  std::int64_t bytes = 0;
  for (const storage::FileRange& range : ranges) bytes += range.size();
  return static_cast<std::uint64_t>(bytes);
}

std::uint64_t size_within(const ByteRanges& ranges, std::uint64_t size) noexcept {
  const auto end = static_cast<std::int64_t>(size);
  std::int64_t bytes = 0;
  for (const storage::FileRange& range : ranges)
    bytes += std::max(std::min(range.end, end) - range.begin, std::int64_t{0});
  return static_cast<std::uint64_t>(bytes);
}

ByteRanges united(const ByteRanges& a, const ByteRanges& b) {
  ByteRanges all;
  std::ranges::merge(a, b, std::back_inserter(all), {}, &storage::FileRange::begin,
                     &storage::FileRange::begin);
  ByteRanges united;
  for (const storage::FileRange& range : all) {
    if (united.empty() || united.back().end < range.begin) {
      united.push_back(range);
    } else {
      united.back().end = std::max(united.back().end, range.end);
    }
  }
  return united;
}

namespace {

void append_range(std::uint64_t offset, std::uint64_t bytes, ByteRanges& ranges) {
  const auto begin = static_cast<std::int64_t>(offset), end = static_cast<std::int64_t>(offset + bytes);
  if (bytes == 0) return;
  if (!ranges.empty() && ranges.back().end == begin) {
    ranges.back().end = end;
  } else {
    ranges.push_back({begin, end});
  }
}

constexpr std::size_t page = 4096;

/// Appends the pages of a part of a file, from `offset` on, that differ from the other's.
void append_changed(std::span<const std::byte> part, std::span<const std::byte> base, std::uint64_t offset,
                    ByteRanges& changed) {
  for (std::size_t at = 0; at < part.size(); at += page) {
    const std::size_t length = std::min(page, part.size() - at);
    if (at + length <= base.size() && std::memcmp(part.data() + at, base.data() + at, length) == 0) continue;
    append_range(offset + at, length, changed);
  }
}

constexpr std::size_t bytes_at_once = std::size_t{64} << 10;  // which the processor's cache has room for

/// Calls `take` with each part that both files may have from `offset` on: its offset, its bytes in the one,
/// and in the other. Returns where the first file ends.
template <class Take>
std::uint64_t compare_parts(FileParts file, FileParts base, std::uint64_t offset, std::uint64_t end,
                            const Take& take) {
  while (offset < end) {
    const auto length = static_cast<std::size_t>(std::min<std::uint64_t>(bytes_at_once, end - offset));
    const auto here = file.part(offset, length);
    if (here.empty()) break;
    take(offset, here, base.part(offset, here.size()));
    offset += here.size();
  }
  file.expect_no_cut();
  base.expect_no_cut();
  return offset;
}

/// What is behind the end of the base need not be read. `File`: of what FileParts are made.
template <class File>
ByteRanges changed_within(const File& file, std::uint64_t size, const File& base, std::uint64_t base_size,
                          const ByteRanges& where) {
  const std::uint64_t common = std::min(size, base_size);
  ByteRanges changed;
  std::uint64_t at = 0;
  for (const storage::FileRange& range : where) {
    at = std::max(at, static_cast<std::uint64_t>(range.begin) / page * page);
    const std::uint64_t end =
        std::min(common, (static_cast<std::uint64_t>(range.end) + page - 1) / page * page);
    if (at >= end) continue;
    at = compare_parts(
        FileParts(file), FileParts(base), at, end,
        [&](std::uint64_t offset, auto here, auto there) { append_changed(here, there, offset, changed); });
  }
  append_range(common, size - common, changed);
  return changed;
}

}  // namespace

ByteRanges changed_ranges(const SharedFile& file, const SharedFile& base) {
  const std::uint64_t size = file_size(*file);
  return changed_within(file, size, base, file_size(*base), {{0, static_cast<std::int64_t>(size)}});
}

ByteRanges changed_ranges(const FileDescriptor& file, const FileDescriptor& base, const ByteRanges& where) {
  return changed_within(file, file_size(file), base, file_size(base), where);
}

ByteRanges copy_changes(const FileDescriptor& file, const SharedFile& base, const FileDescriptor& to) {
  ByteRanges changed;
  const auto copy = [&](std::uint64_t offset, auto here, auto there) {
    ByteRanges of_part;
    append_changed(here, there, offset, of_part);
    for (const storage::FileRange& range : of_part) {
      const auto begin = static_cast<std::uint64_t>(range.begin),
                 bytes = static_cast<std::uint64_t>(range.size());
      if (const int trouble = write_range(to, begin, here.subspan(begin - offset, bytes)); trouble != 0)
        throw IoError(NC_EIO, trouble, any_file, "copy");
      append_range(begin, bytes, changed);
    }
  };
  const std::uint64_t size = compare_parts(FileParts(file), FileParts(base), 0, file_size(file), copy);
  if (::ftruncate(to.number(), static_cast<off_t>(size)) != 0)
    throw IoError(NC_EIO, errno, any_file, "cut a copy of");
  return changed;
}

/// Where the source is cut meanwhile, writing fails.
int copy_ranges(const SharedFile& from, const FileDescriptor& to, const ByteRanges& ranges) {
  FileParts parts(from);
  const auto size = static_cast<std::int64_t>(file_size(*from));
  for (const storage::FileRange& range : ranges) {
    const std::int64_t end = std::min(range.end, size);
    for (std::int64_t at = range.begin; at < end;) {
      const auto offset = static_cast<std::uint64_t>(at);
      const auto part = parts.part(offset, std::min(static_cast<std::size_t>(end - at), bytes_at_once));
      const int trouble = part.empty() ? EIO : write_range(to, offset, part);
      if (trouble != 0) return trouble;
      at += std::ssize(part);
    }
  }
  return ::ftruncate(to.number(), size) == 0 ? 0 : errno;
}

}  // namespace sluice::runtime
