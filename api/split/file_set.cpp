#include "file_set.hpp"

#include <algorithm>
#include <utility>

namespace sluice::api {

FileSet::FileSet(std::vector<std::string> paths, int mode, MPI_Info info)
    : paths_(std::move(paths)),
      mode_(mode),
      info_(InfoHandle::duplicate_of(info)),
      self_(Communicator::duplicate_of(MPI_COMM_SELF)),
      files_(paths_.size()),
      is_open_(paths_.size()) {}

const FileHandle& FileSet::file(int i) const {
  const auto index = static_cast<std::size_t>(i);
  if (!is_open_[index]) {
    files_[index] = FileHandle::open(self_, paths_[index], mode_, info_.get());
    is_open_[index] = true;
  }
  return files_[index];
}

void FileSet::read(std::int64_t offset_bytes, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const auto place = space_.locate(offset_bytes);
    const auto length = std::min(bytes.size(), static_cast<std::size_t>(place.length_bytes));
    file(place.file).read(place.offset_bytes, bytes.first(length));
    bytes = bytes.subspan(length);
    offset_bytes += static_cast<std::int64_t>(length);
  }
}

void FileSet::write(std::int64_t offset_bytes, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const auto place = space_.locate(offset_bytes);
    const auto length = std::min(bytes.size(), static_cast<std::size_t>(place.length_bytes));
    file(place.file).write(place.offset_bytes, bytes.first(length));
    bytes = bytes.subspan(length);
    offset_bytes += static_cast<std::int64_t>(length);
  }
}

void FileSet::sync() const {
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (is_open_[i]) files_[i].sync();
  }
}

void FileSet::close() {
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (!is_open_[i]) continue;
    is_open_[i] = false;
    files_[i].close();
  }
}

}  // namespace sluice::api
