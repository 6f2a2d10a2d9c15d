#include "sealed_files.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "memory_file.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/segment.hpp"
#include "sluice/runtime/spill_file.hpp"

namespace sluice::runtime {

namespace {

/// The loop copies a file of this size in less than a millisecond.
constexpr std::uint64_t most_bytes_to_pack = std::uint64_t{4} << 20;
/// Ranges have whole pages, so that each can be given back alone.
constexpr std::uint64_t page_bytes = 4096;

std::uint64_t bytes_of(const struct stat& facts) noexcept {
  return static_cast<std::uint64_t>(facts.st_size);
}

[[noreturn]] void fail(int number, const char* action) {
  throw IoError(number == EMFILE || number == ENFILE ? NC_ENFILE : NC_EIO, number, "a written file", action);
}

}  // namespace

std::size_t SealedFiles::a_quarter_of_the_descriptors() noexcept {
  constexpr rlim_t least = 16, most = 1 << 16;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return least;
  return static_cast<std::size_t>(std::clamp(limit.rlim_cur / 4, least, most));
}

SealedFiles::SealedFiles(std::size_t most_open) : most_open_(most_open), ranges_({.make = create_segment}) {}

void SealedFiles::add(matcher::StepId step, SharedFile file, bool is_on_disk) {
  File& added = files_[step];
  added.open = std::move(file);
  added.is_on_disk = is_on_disk;
  note_open(step, added);
}

SharedFile SealedFiles::open(matcher::StepId step) {
  const auto found = files_.find(step);
  if (found == files_.end()) return nullptr;
  File& file = found->second;
  if (file.open == nullptr) unpack(file);
  SharedFile opened = file.open;  // held: the file is not packed now
  note_open(step, file);
  return opened;
}

SharedFile SealedFiles::opened(matcher::StepId step) const {
  const auto found = files_.find(step);
  return found == files_.end() ? nullptr : found->second.open;
}

bool SealedFiles::find_facts(matcher::StepId step, struct stat& facts) const noexcept {
  const auto found = files_.find(step);
  if (found == files_.end()) return false;
  if (found->second.open != nullptr) return ::fstat(found->second.open->number(), &facts) == 0;
  facts = found->second.facts;
  return true;
}

SharedFile SealedFiles::erase(matcher::StepId step) noexcept {
  const auto ended = files_.extract(step);
  if (ended.empty()) return nullptr;
  const File& file = ended.mapped();
  if (file.place) recent_.erase(*file.place);
  if (file.open == nullptr) {
    --packed_;
    if (file.range.file)
      punch_hole(*file.range.file->descriptor(), file.range.extent.offset_bytes, file.range.extent.bytes);
  }
  return file.open;
}

void SealedFiles::note_open(matcher::StepId step, File& file) {
  if (file.is_on_disk) return;
  if (file.place) recent_.erase(*file.place);
  file.place = recent_.insert(recent_.end(), step);
  pack_surplus();
}

/// A file that somebody uses keeps its descriptor anyway, so others are looked at, but not all each time.
void SealedFiles::pack_surplus() {
  constexpr int most_looks = 4;
  for (int i = 0; i < most_looks && recent_.size() > most_open_; ++i) {
    File& file = files_.at(recent_.front());
    recent_.splice(recent_.end(), recent_, recent_.begin());
    if (file.open.use_count() > 1) continue;
    try {
      pack(file);
    } catch (const Error&) {
      return;  // there is no memory: it stays open
    }
    recent_.erase(*std::exchange(file.place, std::nullopt));
  }
}

/// A file that is too large is no longer looked at.
void SealedFiles::pack(File& file) {
  const struct stat facts = status_of(*file.open);
  if (bytes_of(facts) > most_bytes_to_pack) return;
  FileRanges::Range range;
  if (facts.st_size > 0) {
    range = ranges_.cut(0, (bytes_of(facts) + page_bytes - 1) / page_bytes * page_bytes);
    const FileContents contents(*file.open);
    const int trouble = write_range(*range.file->descriptor(), range.extent.offset_bytes, contents.bytes());
    if (trouble != 0) fail(trouble, "pack");
  }
  file.facts = facts;
  file.range = std::move(range);
  file.open.reset();
  ++packed_;
}

void SealedFiles::unpack(File& file) {
  FileDescriptor made = make_memory_file(file.facts.st_mode);
  SharedFile to = reopened_by_owner(made, O_WRONLY);
  if (file.range.file) {
    const std::shared_ptr<const FileDescriptor> from = file.range.file->descriptor();
    std::vector<std::byte> bytes(bytes_of(file.facts));
    int trouble = read_range(*from, file.range.extent.offset_bytes, bytes);
    if (trouble == 0) trouble = write_range(*to, 0, bytes);
    if (trouble != 0) fail(trouble, "unpack");
    punch_hole(*from, file.range.extent.offset_bytes, file.range.extent.bytes);
  }
  // Only root can give a file to another user; the permissions are what counts for others.
  (void)::fchown(to->number(), file.facts.st_uid, file.facts.st_gid);
  set_times(*to, file.facts);
  to.reset();
  try {
    (void)seal(made);
  } catch (const Error&) {  // without a descriptor it is as it was, and its bytes are here alone
  }
  file.range = {};
  file.open = std::make_shared<const FileDescriptor>(std::move(made));
  --packed_;
}

}  // namespace sluice::runtime
