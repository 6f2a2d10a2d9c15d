#include "sluice/files/changed_parts.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <span>

#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::files {

using runtime::FileDescriptor;
using runtime::FileIdentity;

constinit std::atomic<int> noted_files{0};

namespace {

/// For a smaller file, a comparison takes no time.
constexpr off_t least_bytes = off_t{1} << 20;
constexpr std::uint64_t end_of_file = std::numeric_limits<std::int64_t>::max();

constexpr int no_descriptor = -1, being_set = -2;

/// A file that the process has opened to go on in it. Where two threads change it at the same moment, or a
/// handler within a call, it is lost, because nobody may wait here.
struct NotedFile {
  std::atomic<int> descriptor{no_descriptor};
  std::atomic<bool> is_lost{false};
  std::atomic<bool> is_busy{false};
  FileIdentity identity = {};
  bool is_appended = false;     ///< O_APPEND
  std::uint64_t uncounted = 0;  ///< what the process had written before, and count_written() not
  std::size_t parts = 0;
  struct Part {
    std::uint64_t begin = 0, end = 0;
  };
  std::array<Part, 64> part = {};

  void add(Part added) noexcept;
};
constinit std::array<NotedFile, 8> all_noted{};
constinit std::atomic<std::uint64_t> counted_bytes{0};
constinit std::atomic<std::uint32_t> mappings{0};

/// Where there is no place, the nearest one grows: more counts as changed than was.
void NotedFile::add(Part added) noexcept {
  const auto distance = [&](const Part& other) {
    return std::max(other.begin, added.begin) -
           std::min({other.end, added.end, std::max(other.begin, added.begin)});
  };
  for (;;) {
    const auto known = std::span(part).first(parts);
    const auto near = std::ranges::min_element(known, {}, distance);
    if (near == known.end() || (distance(*near) > 0 && parts < part.size())) break;
    added = {std::min(near->begin, added.begin), std::max(near->end, added.end)};
    *near = part[--parts];
  }
  part[parts++] = added;
}

NotedFile* find(int descriptor) noexcept {
  if (descriptor < 0) return nullptr;
  const auto found =
      std::ranges::find_if(all_noted, [&](const NotedFile& file) { return file.descriptor == descriptor; });
  return found == all_noted.end() ? nullptr : &*found;
}

/// All bytes that the process has written by system calls, by whatever way; nothing: the kernel does not
/// tell.
std::optional<std::uint64_t> bytes_of_kernel() noexcept {
  const FileDescriptor file(::open("/proc/self/io", O_RDONLY | O_CLOEXEC));
  std::array<char, 512> text{};
  const ssize_t length = file ? ::read(file.number(), text.data(), text.size() - 1) : 0;
  const char* const line = length > 0 ? std::strstr(text.data(), "wchar: ") : nullptr;
  if (line == nullptr) return std::nullopt;
  return std::strtoull(line + 7, nullptr, 10);
}

/// Other libraries may have replaced the code of this one's wrapper.
bool are_mappings_seen() noexcept {
  const std::uint32_t before = mappings;
  const int trouble = errno;
  (void)::mmap(nullptr, 0, PROT_NONE, MAP_SHARED, no_descriptor, 0);  // fails: no bytes
  errno = trouble;
  return mappings != before;
}

NotedFile* take_place(int descriptor) noexcept {
  for (const int former : {descriptor, no_descriptor}) {  // a number that was closed unseen is there still
    for (NotedFile& file : all_noted) {
      int here = former;
      if (!file.descriptor.compare_exchange_strong(here, being_set)) continue;
      if (former == no_descriptor) ++noted_files;
      return &file;
    }
  }
  return nullptr;
}

void note(NotedFile& file, std::uint64_t offset, std::uint64_t bytes) noexcept {
  if (bytes == 0) return;
  if (file.is_busy.exchange(true)) {
    file.is_lost = true;
    return;
  }
  file.add({offset, offset + std::min(bytes, end_of_file - offset)});
  file.is_busy = false;
}

void give_back(NotedFile& file) noexcept {
  file.descriptor = no_descriptor;
  --noted_files;
}

}  // namespace

bool begin_noting(int descriptor, int flags) noexcept {
  struct stat facts {};
  const bool goes_on = (flags & O_ACCMODE) != O_RDONLY && (flags & O_TRUNC) == 0;
  if (!goes_on || ::fstat(descriptor, &facts) != 0 || facts.st_size < least_bytes || !are_mappings_seen())
    return false;
  NotedFile* const file = take_place(descriptor);
  if (file == nullptr) return false;
  const auto written = bytes_of_kernel();
  if (!written) {
    give_back(*file);
    return false;
  }
  file->identity = {facts.st_dev, facts.st_ino};
  file->is_appended = (flags & O_APPEND) != 0;
  file->uncounted = *written - counted_bytes;
  file->parts = 0;
  file->is_lost = false;
  file->is_busy = false;
  file->descriptor = descriptor;
  return true;
}

void note_write(int descriptor, off_t offset, std::uint64_t bytes) noexcept {
  NotedFile* const file = find(descriptor);
  if (file == nullptr) return;
  // With O_APPEND, Linux appends whatever the offset is.
  if (file->is_appended || offset < 0)
    file->is_lost = true;
  else
    note(*file, static_cast<std::uint64_t>(offset), bytes);
}

std::optional<std::uint64_t> note_write_here(int descriptor, std::uint64_t bytes) noexcept {
  NotedFile* const file = find(descriptor);
  if (file == nullptr) return std::nullopt;
  struct stat facts {};
  off_t place = -1;
  if (!file->is_appended)
    place = ::lseek(descriptor, 0, SEEK_CUR);
  else if (::fstat(descriptor, &facts) == 0)
    place = facts.st_size;
  if (place < 0) file->is_lost = true;
  const auto offset = static_cast<std::uint64_t>(std::max<off_t>(place, 0));
  note(*file, offset, bytes);
  return offset;
}

void note_cut(int descriptor, off_t size) noexcept {
  NotedFile* const file = find(descriptor);
  if (file != nullptr && size >= 0) note(*file, static_cast<std::uint64_t>(size), end_of_file);
}

/// Somebody else may have moved the place meanwhile.
void expect_place(int descriptor, std::uint64_t end) noexcept {
  if (static_cast<std::uint64_t>(::lseek(descriptor, 0, SEEK_CUR)) != end) lose_track(descriptor);
}

void count_written(ssize_t bytes) noexcept {
  if (bytes > 0) counted_bytes += static_cast<std::uint64_t>(bytes);
}

void note_mapping(int descriptor, int flags) noexcept {
  ++mappings;
  if ((flags & MAP_SHARED) != 0) lose_track(descriptor);
}

void lose_track(int descriptor) noexcept {
  if (NotedFile* const file = find(descriptor)) file->is_lost = true;
}

void lose_track_of_all() noexcept {
  for (NotedFile& file : all_noted) file.is_lost = true;
}

void lose_track(const FileIdentity& file) noexcept {
  for (NotedFile& noted : all_noted)
    if (noted.identity == file) noted.is_lost = true;
}

ChangedParts end_noting(int descriptor, const FileIdentity& file) noexcept {
  NotedFile* const noted = find(descriptor);
  if (noted == nullptr) return std::nullopt;
  ChangedParts parts;
  const bool is_whole = noted->identity == file && !noted->is_busy && !noted->is_lost;
  if (is_whole && bytes_of_kernel() == noted->uncounted + counted_bytes) {
    try {
      parts.emplace();
      for (const auto& part : std::span(noted->part).first(noted->parts)) {
        parts->push_back(part.begin);
        parts->push_back(part.end);
      }
    } catch (const std::exception&) {  // no memory
      parts.reset();
    }
  }
  give_back(*noted);
  return parts;
}

}  // namespace sluice::files
