#include "sluice/storage/saved_file.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "sluice/formats/error.hpp"
#include "sluice/storage/partial_file.hpp"

namespace sluice::storage {
namespace {

// The head: the signature, the run and the length of PATH, 8 bytes each, PATH, and their sum. Then parts:
// where the bytes belong, their number, a sum, and the bytes. A part without bytes ends a state of that size.
constexpr std::string_view signature = "sluicesv";
constexpr std::size_t number_bytes = 8, head_bytes = 3 * number_bytes, part_head_bytes = 3 * number_bytes;
constexpr std::uint64_t longest_path = 1 << 16;
constexpr std::int64_t most_bytes_of_part = 1 << 20;
constexpr std::int64_t page_bytes = 4096;

void append_number(std::vector<std::byte>& bytes, std::uint64_t number) {
  for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(static_cast<std::byte>(number >> shift));
}

std::uint64_t number_at(std::span<const std::byte> bytes, std::size_t offset) noexcept {
  std::uint64_t number = 0;
  for (const std::byte byte : bytes.subspan(offset, number_bytes))
    number = number << 8 | std::to_integer<unsigned>(byte);
  return number;
}

std::uint64_t word_at(const std::byte* bytes) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return std::endian::native == std::endian::little ? word : __builtin_bswap64(word);
}

std::uint64_t mixed(std::uint64_t sum, std::uint64_t word) noexcept {
  return std::rotl(sum + word * 0xc2b2ae3d27d4eb4fU, 31) * 0x9e3779b185ebca87U;
}

/// Detects damage, and changes by chance, not by intent. In four lanes, as xxHash: the processor works on
/// them at once.
std::uint64_t sum_of(std::span<const std::byte> bytes, std::uint64_t seed) noexcept {
  std::array<std::uint64_t, 4> lanes{seed, seed + 1, seed + 2, seed + 3};
  std::size_t at = 0;
  for (; at + 32 <= bytes.size(); at += 32)
    for (std::size_t lane = 0; lane < lanes.size(); ++lane)
      lanes[lane] = mixed(lanes[lane], word_at(bytes.data() + at + 8 * lane));
  std::uint64_t sum = mixed(seed, bytes.size());
  for (; at < bytes.size(); ++at) sum = mixed(sum, std::to_integer<std::uint64_t>(bytes[at]));
  for (const std::uint64_t lane : lanes) sum = mixed(sum ^ lane >> 29, lane);
  return sum ^ sum >> 32;
}

std::vector<std::byte> head_of(const SavedFile& file) {
  std::vector<std::byte> head;
  const auto append = [&](std::string_view text) {
    for (const char letter : text) head.push_back(static_cast<std::byte>(letter));
  };
  append(signature);
  append_number(head, file.run);
  append_number(head, file.path.size());
  append(file.path);
  append_number(head, sum_of(head, 0));
  return head;
}

/// The parts of a saved file, from the first to the last one that is whole.
class PartReader {
 public:
  /// Throws IoError.
  PartReader(FileSystem& system, const std::string& path)
      : file_(system.open(path, OpenMode::read_no_link)) {}

  /// Nothing: the file does not begin as a saved one.
  [[nodiscard]] std::optional<SavedFile> read_head() {
    std::vector<std::byte> head(head_bytes);
    if (file_->read(0, head) < head_bytes ||
        std::memcmp(head.data(), signature.data(), signature.size()) != 0)
      return std::nullopt;
    SavedFile saved{{}, number_at(head, 8), 0};
    const std::uint64_t length = number_at(head, 16);
    if (length == 0 || length > longest_path) return std::nullopt;
    head.resize(head_bytes + length + number_bytes);
    if (file_->read(0, head) < head.size()) return std::nullopt;
    const auto without_sum = std::span(head).first(head_bytes + length);
    sum_ = number_at(head, head_bytes + length);
    if (sum_of(without_sum, 0) != sum_) return std::nullopt;
    saved.path.assign(reinterpret_cast<const char*>(head.data()) + head_bytes, length);
    at_ = static_cast<std::int64_t>(head.size());
    return saved;
  }

  /// False: there is no whole one.
  [[nodiscard]] bool next() {
    std::array<std::byte, part_head_bytes> head{};
    if (file_->read(at_, head) < head.size()) return false;
    const std::uint64_t begin = number_at(head, 0), length = number_at(head, 8);
    if (length > most_bytes_of_part || begin > std::uint64_t{1} << 62) return false;
    bytes_.resize(length);
    if (file_->read(at_ + std::ssize(head), bytes_) < length) return false;
    sum_ = sum_of(bytes_, sum_of(std::span(head).first(16), sum_));
    if (sum_ != number_at(head, 16)) return false;
    begin_ = static_cast<std::int64_t>(begin);
    at_ += std::ssize(head) + std::ssize(bytes_);
    return true;
  }
  /// Of the part: where its bytes belong; without bytes, the size of the file.
  [[nodiscard]] std::int64_t begin() const noexcept { return begin_; }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }
  /// Where the next part begins.
  [[nodiscard]] std::int64_t place() const noexcept { return at_; }

 private:
  std::unique_ptr<File> file_;
  std::vector<std::byte> bytes_;
  std::int64_t at_ = 0, begin_ = 0;
  std::uint64_t sum_ = 0;
};

/// Where the last complete state ends; 0: there is none.
std::int64_t end_of_last_state(PartReader& parts, std::int64_t& size_bytes) {
  std::int64_t end = 0;
  while (parts.next()) {
    if (!parts.bytes().empty()) continue;
    end = parts.place();
    size_bytes = parts.begin();
  }
  return end;
}

/// Writes the contents to a new file.
void compose(FileSystem& system, const std::string& saved, File& to) {
  PartReader all(system, saved), parts(system, saved);
  std::int64_t size_bytes = 0;
  if (!all.read_head() || !parts.read_head()) throw IoError(NC_EIO, EIO, saved, "read");
  for (const std::int64_t end = end_of_last_state(all, size_bytes); parts.place() < end;) {
    if (!parts.next()) throw IoError(NC_EIO, EIO, saved, "read the end of");
    parts.bytes().empty() ? to.resize(parts.begin()) : to.write(parts.begin(), parts.bytes());
  }
}

bool have_same_contents(const File& one, const File& other) {
  const std::int64_t size = one.size_bytes();
  if (other.size_bytes() != size) return false;
  std::vector<std::byte> first(most_bytes_of_part), second(most_bytes_of_part);
  for (std::int64_t at = 0; at < size; at += most_bytes_of_part) {
    const auto length = static_cast<std::size_t>(std::min(most_bytes_of_part, size - at));
    read_exactly(one, at, std::span(first).first(length));
    read_exactly(other, at, std::span(second).first(length));
    if (std::memcmp(first.data(), second.data(), length) != 0) return false;
  }
  return true;
}

}  // namespace

std::string saved_file_path(const std::string& directory, const SavedFile& file, std::uint32_t matcher,
                            std::uint64_t number) {
  constexpr std::size_t longest = 150;  // a name has at most 255 bytes
  std::array<char, 64> mark{};
  std::snprintf(mark.data(), mark.size(), ".%016llx.%u.%llu", static_cast<unsigned long long>(file.run),
                matcher, static_cast<unsigned long long>(number));
  return directory + "/" + name_of(file.path).substr(0, longest) + mark.data() +
         std::string(saved_file_suffix);
}

std::uint64_t number_of_saved(const std::string& path) noexcept {
  const std::size_t end = path.size() - std::min(path.size(), saved_file_suffix.size());
  const std::size_t dot = path.rfind('.', end == 0 ? 0 : end - 1);
  return dot == std::string::npos ? 0 : std::strtoull(path.c_str() + dot + 1, nullptr, 10);
}

// Saving

/// Null: what has changed cannot be added to what was saved. What lies behind the last complete state after a
/// failure has no meaning.
std::unique_ptr<File> FileSaver::open_saved(FileSystem& system, const SavedFile& what) const {
  if (path_.empty() || is_torn_ || head_ != head_of(what)) return nullptr;
  try {
    auto saved = system.open(path_, OpenMode::update);
    if (saved->size_bytes() == end_) return saved;
  } catch (const IoError&) {  // it was removed, or its permissions forbid that
  }
  return nullptr;
}

/// Where there is no space for the whole, there may be space for what has changed.
void FileSaver::save(FileSystem& system, const std::string& from, const std::string& to,
                     const SavedFile& what) {
  const auto source = system.open(from, OpenMode::read);
  const auto saved = open_saved(system, what);
  const std::int64_t outdated = end_ - size_bytes_;
  if (saved && outdated <= std::max(size_bytes_, most_bytes_of_part)) return add(*source, *saved, from);
  FileSaver whole;
  try {
    whole.save_whole(system, *source, to, what, from);
  } catch (const IoError&) {
    if (!saved) throw;
    return add(*source, *saved, from);
  }
  whole.written_bytes_ += written_bytes_;
  *this = std::move(whole);
}

void FileSaver::add(const File& source, File& saved, const std::string& from) {
  const std::int64_t before = end_;
  is_torn_ = true;
  add_changes(source, saved);
  if (end_ != before) saved.sync();
  saved.take_permissions_of(from);
  saved.take_times_of(from);
  is_torn_ = false;
}

void FileSaver::save_whole(FileSystem& system, const File& source, const std::string& to,
                           const SavedFile& what, const std::string& from) {
  PartialFile partial(system, to);
  head_ = head_of(what);
  partial.file().write(0, head_);
  end_ = std::ssize(head_);
  sum_ = number_at(head_, head_.size() - number_bytes);
  written_bytes_ = head_.size();
  add_changes(source, partial.file());
  partial.file().sync();
  partial.publish_like(from);
  path_ = to;
}

void FileSaver::add_changes(const File& source, File& saved) {
  std::vector<std::byte> room(most_bytes_of_part);
  const std::int64_t before = end_;
  std::int64_t size = 0;
  for (std::size_t length = room.size(); length == room.size(); size += static_cast<std::int64_t>(length)) {
    length = source.read(size, room);
    add_pages(size, std::span(room).first(length), saved);
  }
  if (end_ != before || size != size_bytes_) add_part(size, {}, saved);
  size_bytes_ = size;
  pages_.resize(static_cast<std::size_t>((size + page_bytes - 1) / page_bytes));
}

/// One part for changed pages that follow each other.
void FileSaver::add_pages(std::int64_t begin, std::span<const std::byte> bytes, File& saved) {
  const auto first = static_cast<std::size_t>(begin / page_bytes);
  std::size_t from = 0, to = 0;  // what is changed
  for (std::size_t at = 0; at < bytes.size(); at += page_bytes) {
    const auto page = bytes.subspan(at, std::min<std::size_t>(page_bytes, bytes.size() - at));
    const std::size_t number = first + at / page_bytes;
    const Fingerprint now{sum_of(page, 1), sum_of(page, 0x27d4eb2f165667c5U)};
    const bool is_new = number >= pages_.size();
    if (is_new) pages_.resize(number + 1);
    if (std::exchange(pages_[number], now) == now && !is_new) continue;
    if (to != at) {
      if (to > from) add_part(begin + static_cast<std::int64_t>(from), bytes.subspan(from, to - from), saved);
      from = at;
    }
    to = at + page.size();
  }
  if (to > from) add_part(begin + static_cast<std::int64_t>(from), bytes.subspan(from, to - from), saved);
}

void FileSaver::add_part(std::int64_t begin, std::span<const std::byte> bytes, File& saved) {
  std::vector<std::byte> part;
  part.reserve(part_head_bytes + bytes.size());
  append_number(part, static_cast<std::uint64_t>(begin));
  append_number(part, bytes.size());
  sum_ = sum_of(bytes, sum_of(part, sum_));
  append_number(part, sum_);
  part.insert(part.end(), bytes.begin(), bytes.end());
  saved.write(end_, part);
  end_ += std::ssize(part);
  written_bytes_ += part.size();
}

// What was saved

std::optional<SavedFile> read_saved_file(FileSystem& system, const std::string& path) {
  PartReader parts(system, path);
  auto saved = parts.read_head();
  if (saved && end_of_last_state(parts, saved->size_bytes) == 0) saved.reset();
  return saved;
}

bool has_saved_contents(FileSystem& system, const std::string& saved, const std::string& path) {
  PartialFile partial(system, path);
  compose(system, saved, partial.file());
  return have_same_contents(partial.file(), *system.open(path, OpenMode::read));
}

void restore_file(FileSystem& system, const std::string& saved, const std::string& path) {
  PartialFile partial(system, path);
  compose(system, saved, partial.file());
  partial.file().sync();
  partial.publish_like(saved);
}

}  // namespace sluice::storage
