#include "sluice/runtime/name_counts.hpp"

#include <atomic>
#include <cstddef>

#include "sluice/formats/error.hpp"

namespace sluice::runtime {

namespace {

/// The first counts for all paths, the last ones are those of directories.
constexpr std::size_t counts = 1024, first_of_directories = 512;
constexpr std::uint64_t stopped = ~std::uint64_t{0};
constexpr SegmentExtent extent_of_page{counts * sizeof(std::uint64_t)};

/// FNV-1a.
std::uint64_t hash_of(std::string_view path) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : path) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return hash;
}

std::size_t place_of(std::string_view path) noexcept {
  return 1 + hash_of(path) % (first_of_directories - 1);
}

/// With or without a slash at its end.
std::size_t place_of_directory(std::string_view directory) noexcept {
  if (directory.ends_with('/')) directory.remove_suffix(1);
  return first_of_directories + hash_of(directory) % (counts - first_of_directories);
}

std::atomic_ref<std::uint64_t> count_at(const Mapping& memory, std::size_t place) noexcept {
  const std::byte* const at = memory.bytes().data() + place * sizeof(std::uint64_t);
  return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(const_cast<std::byte*>(at)));
}

}  // namespace

NameCounts::NameCounts() {
  try {
    page_ = std::make_shared<const FileDescriptor>(create_segment(extent_of_page.bytes));
    memory_ = Mapping(*page_, extent_of_page, Mapping::Access::read_write);
  } catch (const IoError&) {  // a limit on file sizes, for instance: all processes ask, then
    page_.reset();
  }
}

NameCounts::NameCounts(const FileDescriptor& page) : memory_(page, extent_of_page, Mapping::Access::read) {}

std::uint64_t NameCounts::of(std::string_view path) const noexcept {
  const std::uint64_t of_all = count_of_all();
  return of_all == stopped ? 0 : 1 + of_all + count_at(memory_, place_of(path));
}

std::uint64_t NameCounts::count_of_all() const noexcept {
  return memory_.bytes().empty() ? stopped : count_at(memory_, 0).load();
}

bool NameCounts::may_have_files(std::string_view directory) const noexcept {
  return count_of_all() == stopped || count_at(memory_, place_of_directory(directory)) != 0;
}

void NameCounts::change(std::string_view path) noexcept {
  if (memory_.bytes().empty()) return;
  const std::size_t slash = path.rfind('/');
  ++count_at(memory_, place_of(path));
  ++count_at(memory_, place_of_directory(path.substr(0, slash == path.npos ? 0 : slash)));
}

void NameCounts::change_all() noexcept {
  if (page_ != nullptr) ++count_at(memory_, 0);
}

void NameCounts::stop() noexcept {
  if (!memory_.bytes().empty()) count_at(memory_, 0) = stopped;
  page_.reset();
}

}  // namespace sluice::runtime
