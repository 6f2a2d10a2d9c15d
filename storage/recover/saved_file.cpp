#include "sluice/storage/saved_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

#include "sluice/formats/error.hpp"
#include "sluice/storage/partial_file.hpp"

namespace sluice::storage {
namespace {

// The tail: PATH, then the run, the size and the length of PATH, 8 bytes each, then the signature.
constexpr std::string_view signature = "sluicesv";
constexpr std::size_t fixed_bytes = 3 * 8 + signature.size();
constexpr std::uint64_t longest_path = 1 << 16;

void append_number(std::vector<std::byte>& bytes, std::uint64_t number) {
  for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(static_cast<std::byte>(number >> shift));
}

std::uint64_t number_at(std::span<const std::byte> bytes, std::size_t offset) noexcept {
  std::uint64_t number = 0;
  for (const std::byte byte : bytes.subspan(offset, 8))
    number = number << 8 | std::to_integer<unsigned>(byte);
  return number;
}

std::vector<std::byte> tail_of(const SavedFile& file) {
  std::vector<std::byte> tail;
  const auto append = [&](std::string_view text) {
    for (const char letter : text) tail.push_back(static_cast<std::byte>(letter));
  };
  append(file.path);
  append_number(tail, file.run);
  append_number(tail, static_cast<std::uint64_t>(file.size_bytes));
  append_number(tail, file.path.size());
  append(signature);
  return tail;
}

/// Returns how many bytes were copied: fewer where the source has become shorter.
std::int64_t copy_contents(const File& from, std::int64_t size_bytes, File& to) {
  for (std::int64_t done = 0; done < size_bytes;) {
    const std::int64_t copied = to.copy(from, {done, size_bytes}, done);
    if (copied <= 0) return done;
    done += copied;
  }
  return size_bytes;
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

void save_file(FileSystem& system, const std::string& from, const std::string& to, const SavedFile& file) {
  const auto source = system.open(from, OpenMode::read);
  SavedFile saved = file;
  PartialFile partial(system, to);
  saved.size_bytes = copy_contents(*source, source->size_bytes(), partial.file());
  partial.file().write(saved.size_bytes, tail_of(saved));
  partial.file().sync();
  partial.publish_like(from);
}

std::optional<SavedFile> read_saved_file(FileSystem& system, const std::string& path) {
  const auto file = system.open(path, OpenMode::read_no_link);
  const std::int64_t size = file->size_bytes();
  std::array<std::byte, fixed_bytes> end{};
  const auto at_end = size - static_cast<std::int64_t>(fixed_bytes);
  if (at_end < 0) return std::nullopt;
  read_exactly(*file, at_end, end);
  const auto same = [](std::byte byte, char letter) { return byte == static_cast<std::byte>(letter); };
  if (!std::ranges::equal(std::span(end).subspan(24), signature, same)) return std::nullopt;
  const std::uint64_t contents = number_at(end, 8), length = number_at(end, 16);
  if (length == 0 || length > longest_path || contents > static_cast<std::uint64_t>(at_end) ||
      contents + length != static_cast<std::uint64_t>(at_end))
    return std::nullopt;
  SavedFile saved{std::string(length, '\0'), number_at(end, 0), static_cast<std::int64_t>(contents)};
  read_exactly(*file, saved.size_bytes, std::as_writable_bytes(std::span(saved.path)));
  return saved;
}

bool has_saved_contents(FileSystem& system, const std::string& saved, const SavedFile& file,
                        const std::string& path) {
  const auto one = system.open(saved, OpenMode::read), other = system.open(path, OpenMode::read);
  if (other->size_bytes() != file.size_bytes) return false;
  constexpr std::int64_t piece = 256 << 10;
  std::vector<std::byte> first(piece), second(piece);
  for (std::int64_t at = 0; at < file.size_bytes; at += piece) {
    const auto length = static_cast<std::size_t>(std::min(piece, file.size_bytes - at));
    read_exactly(*one, at, std::span(first).first(length));
    read_exactly(*other, at, std::span(second).first(length));
    if (!std::equal(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(length), second.begin()))
      return false;
  }
  return true;
}

void restore_file(FileSystem& system, const std::string& saved, const SavedFile& file,
                  const std::string& path) {
  const auto source = system.open(saved, OpenMode::read);
  PartialFile partial(system, path);
  if (copy_contents(*source, file.size_bytes, partial.file()) < file.size_bytes)
    throw IoError(NC_EIO, EIO, saved, "read the end of");
  partial.file().sync();
  partial.publish_like(saved);
}

}  // namespace sluice::storage
