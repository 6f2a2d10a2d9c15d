#include "sluice/runtime/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "segment_file.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/matcher/segment_pool.hpp"
#include "sluice/storage/cut_guard.hpp"

namespace sluice::runtime {

namespace {

#ifndef MADV_POPULATE_WRITE
constexpr int MADV_POPULATE_READ = 22;
constexpr int MADV_POPULATE_WRITE = 23;
#endif

using matcher::huge_page_bytes;

constexpr std::uint64_t page_bytes = 4096;
/// For fewer bytes, page faults cost less than avoiding them.
constexpr std::uint64_t least_prefaulted_bytes = std::uint64_t{256} << 10;
constexpr std::uint64_t blocks_of_mapping = 64;

Status status_of(int error_number) noexcept {
  switch (error_number) {
    case ENOSPC:
    case ENOMEM:
      return NC_ENO_SPACE;
    case EMFILE:
    case ENFILE:
      return NC_ENFILE;
    default:
      return NC_EIO;
  }
}

/// Whether a file that is not sealed against shrinking keeps its size. A spill file has no seals. It has no
/// name and belongs to this user: only processes that have received its descriptor, or that run as this user,
/// could truncate it. A log has a name. Both are guarded. `seals`: -1 where a file can have none.
bool is_left_alone(int seals, const struct stat& facts, bool may_have_name) noexcept {
  const bool is_sealable = seals >= 0 && (seals & F_SEAL_SEAL) == 0;  // a memory file without seals
  const bool is_nameless = facts.st_nlink == 0 || may_have_name;
  return !is_sealable && S_ISREG(facts.st_mode) && is_nameless && facts.st_uid == ::geteuid();
}

}  // namespace

void fail_segment(const std::string& action) {
  const int error_number = errno;
  throw IoError(status_of(error_number), error_number, "a memory segment", action);
}

void set_segment_size(const FileDescriptor& file, std::uint64_t bytes) {
  if (::ftruncate(file.number(), static_cast<off_t>(bytes)) != 0)
    fail_segment("reserve " + std::to_string(bytes) + " bytes for");
}

FileDescriptor create_segment(std::uint64_t bytes) {
  FileDescriptor file(::memfd_create("sluice-segment", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) fail_segment("create");
  set_segment_size(file, bytes);
  if (::fcntl(file.number(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    fail_segment("seal");
  return file;
}

bool is_in_file(const SegmentExtent& extent, std::uint64_t file_bytes) noexcept {
  return extent.offset_bytes <= file_bytes && extent.bytes <= file_bytes - extent.offset_bytes &&
         extent.offset_bytes % page_bytes == 0;
}

std::uint64_t check_extent(const FileDescriptor& file, const SegmentExtent& extent) {
  struct stat facts {};
  if (::fstat(file.number(), &facts) != 0) fail_segment("inspect");
  const int seals = ::fcntl(file.number(), F_GET_SEALS);
  const bool is_sealed = seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
  if (!is_sealed && !is_left_alone(seals, facts, extent.may_have_name)) {
    throw Error(NC_EIO, "a segment that is not sealed against shrinking was received");
  }
  const auto file_bytes = static_cast<std::uint64_t>(facts.st_size);
  if (!is_in_file(extent, file_bytes)) {
    throw Error(NC_EIO, "a segment of " + std::to_string(file_bytes) + " bytes was received as one of " +
                            std::to_string(extent.bytes) + " at " + std::to_string(extent.offset_bytes));
  }
  return is_sealed ? file_bytes : 0;
}

MappedWindow::MappedWindow(const FileDescriptor& file, std::uint64_t offset_bytes, std::uint64_t bytes,
                           Mapping::Access access)
    : first_(offset_bytes), access_(access) {
  const int protection = access == Mapping::Access::read ? PROT_READ : PROT_READ | PROT_WRITE;
  void* const address =
      ::mmap(nullptr, bytes, protection, MAP_SHARED, file.number(), static_cast<off_t>(offset_bytes));
  if (address == MAP_FAILED) fail_segment("map " + std::to_string(bytes) + " bytes of");
  bytes_ = {static_cast<std::byte*>(address), static_cast<std::size_t>(bytes)};
  const int seals = ::fcntl(file.number(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) storage::guard_from_cuts(bytes_);
}

MappedWindow::~MappedWindow() {
  storage::unguard(bytes_);
  ::munmap(bytes_.data(), bytes_.size());
}

std::span<std::byte> MappedWindow::part(std::uint64_t offset_bytes, std::uint64_t bytes) const noexcept {
  if (offset_bytes < first_ || offset_bytes - first_ > bytes_.size()) return {};
  const auto rest = bytes_.subspan(offset_bytes - first_);
  return bytes <= rest.size() ? rest.first(bytes) : std::span<std::byte>{};
}

void MappedWindow::make_writable() {
  if (access_ == Mapping::Access::read_write) return;
  if (::mprotect(bytes_.data(), bytes_.size(), PROT_READ | PROT_WRITE) != 0)
    fail_segment("make writable the mapping of");
  access_ = Mapping::Access::read_write;
}

Mapping::Mapping(const FileDescriptor& file, const SegmentExtent& extent, Access access) : access_(access) {
  check_extent(file, extent);
  if (extent.bytes == 0) return;
  window_ = std::make_shared<MappedWindow>(file, extent.offset_bytes, extent.bytes, access);
  bytes_ = window_->part(extent.offset_bytes, extent.bytes);
  if (bytes_.size() >= huge_page_bytes) ::madvise(bytes_.data(), bytes_.size(), MADV_HUGEPAGE);
}

Mapping::Mapping(const SegmentExtent& extent, Access access, std::shared_ptr<MappedWindow> window)
    : window_(std::move(window)), access_(access) {
  bytes_ = window_->part(extent.offset_bytes, extent.bytes);
  if (access == Access::read_write) window_->make_writable();
  if (bytes_.size() >= huge_page_bytes) ::madvise(bytes_.data(), bytes_.size(), MADV_HUGEPAGE);
}

Mapping::~Mapping() = default;

Mapping::Mapping(Mapping&& other) noexcept
    : window_(std::move(other.window_)),
      bytes_(std::exchange(other.bytes_, {})),
      access_(other.access_),
      touched_bytes_(other.touched_bytes_.load()),
      read_blocks_(other.read_blocks_.load()) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  if (this != &other) {
    window_ = std::move(other.window_);
    bytes_ = std::exchange(other.bytes_, {});
    access_ = other.access_;
    touched_bytes_ = other.touched_bytes_.load();
    read_blocks_ = other.read_blocks_.load();
  }
  return *this;
}

std::span<std::byte> Mapping::writable() const noexcept {
  return access_ == Access::read_write ? bytes_ : std::span<std::byte>{};
}

void Mapping::make_writable() {
  if (access_ == Access::read_write) return;
  if (window_ != nullptr) window_->make_writable();
  access_ = Access::read_write;
}

void Mapping::prefault(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  const std::uint64_t touched = touched_bytes_.load(std::memory_order_relaxed);
  if (offset + bytes <= touched || offset + bytes > bytes_.size() || access_ != Access::read_write) return;
  const std::uint64_t first = offset / page_bytes * page_bytes;
  // Kernels before 5.14 do not have this call; then the pages come one by one.
  ::madvise(bytes_.data() + first, offset + bytes - first, MADV_POPULATE_WRITE);
  if (offset <= touched) note_touched(offset + bytes);
}

void Mapping::prefault_reads(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  const std::uint64_t all = bytes_.size();
  if (bytes < least_prefaulted_bytes || offset > all || bytes > all - offset) return;
  const std::uint64_t whole_pages = (all + page_bytes - 1) / page_bytes;
  const std::uint64_t block = (whole_pages + blocks_of_mapping - 1) / blocks_of_mapping * page_bytes;
  const std::uint64_t end = (offset + bytes - 1) / block + 1;
  for (std::uint64_t i = offset / block; i < end; ++i) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    if ((read_blocks_.load(std::memory_order_relaxed) & bit) != 0) continue;
    std::uint64_t missing = 0;  // successive blocks for one call
    for (; i + missing < end && (read_blocks_.load(std::memory_order_relaxed) & (bit << missing)) == 0;
         ++missing)
      read_blocks_.fetch_or(bit << missing, std::memory_order_relaxed);
    const std::uint64_t first = i * block;
    ::madvise(bytes_.data() + first, std::min(all - first, missing * block), MADV_POPULATE_READ);
    i += missing - 1;
  }
}

void Mapping::note_touched(std::uint64_t bytes) const noexcept {
  if (bytes > touched_bytes_.load(std::memory_order_relaxed))
    touched_bytes_.store(bytes, std::memory_order_relaxed);
}

}  // namespace sluice::runtime
