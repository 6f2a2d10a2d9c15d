#include "sluice/storage/file_system.hpp"

namespace sluice::storage {

void read_exactly(const File& file, std::int64_t offset_bytes, std::span<std::byte> bytes) {
  const auto got = file.read(offset_bytes, bytes);
  if (got < bytes.size())
    throw FormatError(NC_ETRUNC, file.path(), static_cast<std::uint64_t>(offset_bytes) + got,
                      "the file ends here, " + std::to_string(bytes.size() - got) + " bytes too early");
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
