#include "sluice/storage/file_system.hpp"

#include <algorithm>
#include <exception>

namespace sluice::storage {

std::int64_t File::copy(const File& from, const FileRange& range, std::int64_t offset_bytes) {
  constexpr std::int64_t piece_bytes = std::int64_t{1} << 20;
  std::vector<std::byte> piece(static_cast<std::size_t>(std::min(piece_bytes, range.size())));
  std::int64_t done = 0;
  while (done < range.size()) {
    const auto wanted = std::min(range.size() - done, piece_bytes);
    const auto got = from.read(range.begin + done, std::span(piece).first(static_cast<std::size_t>(wanted)));
    write(offset_bytes + done, std::span(piece).first(got));
    done += static_cast<std::int64_t>(got);
    if (static_cast<std::int64_t>(got) < wanted) break;
  }
  return done;
}

void read_exactly(const File& file, std::int64_t offset_bytes, std::span<std::byte> bytes) {
  const auto got = file.read(offset_bytes, bytes);
  if (got < bytes.size())
    throw FormatError(NC_ETRUNC, file.path(), static_cast<std::uint64_t>(offset_bytes) + got,
                      "the file ends here, " + std::to_string(bytes.size() - got) + " bytes too early");
}

void remove_if_unlocked(FileSystem& files, const std::string& path) {
  if (files.owner_of(path) != files.user()) return;
  try {
    const auto file = files.open(path, OpenMode::update);
    if (file->try_lock_for_sure() && !file->is_removed()) files.remove(path);
  } catch (const IoError&) {
    // The file stays; it is not in the way.
  }
}

void remove_quietly(FileSystem& files, const std::string& path) noexcept {
  try {
    files.remove(path);
  } catch (const std::exception&) {
    // The error that has led here is the one that counts.
  }
}

std::string directory_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string name_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

}  // namespace sluice::storage
