#include "replay_files.hpp"

#include <algorithm>
#include <limits>

#include "sluice/formats/blobs.hpp"
#include "sluice/formats/process_blobs.hpp"
#include "sluice/formats/subfiles.hpp"
#include "sluice/storage/header_file.hpp"

namespace sluice::storage {
namespace {

void raise_record_count_of(File& file, std::int64_t records) {
  const auto header = read_header(file).decoded.header;
  if (header.record_dimension() < 0 || header.record_count >= records) return;
  const bool is_narrow = header.version != formats::Version::cdf5;
  if (is_narrow && records >= std::numeric_limits<std::uint32_t>::max())
    throw Error(NC_EINTOVERFLOW, file.path() + ": " + std::to_string(records) +
                                     " records are more than the format of this file can hold");
  file.write(formats::record_count_offset, formats::encode_record_count(header.version, records));
}

void refuse_blobs(const formats::Header& master, const std::string& path) {
  if (formats::blob_file_count(master) == 0 && formats::process_blob_file_count(master) == 0) return;
  throw Error(NC_EINVAL, path +
                             " is in blobs, and logs cannot be put into blobs. 'sluice recover "
                             "--output-directory DIR …' makes one ordinary file of the blobs and the logs");
}

}  // namespace

ReplayFiles::ReplayFiles(FileSystem& system, const std::string& path) {
  files_.push_back(system.open(path, OpenMode::update));
  decoded_ = read_header(*files_.front()).decoded;
  refuse_blobs(decoded_.header, path);
  if (formats::subfile_count(decoded_.header) > 0) {
    split_ = open_split_dataset(system, path);
    for (std::size_t i = 1; i < split_->paths().size(); ++i)
      files_.push_back(system.open(split_->paths()[i], OpenMode::update));
  } else {
    layout_ = formats::layout_of(decoded_.header, decoded_.size_bytes);
    plain_.emplace(decoded_.header, layout_);
  }
}

const formats::Header& ReplayFiles::header() const {
  return split_ ? split_->header() : decoded_.header;
}

const formats::Layout& ReplayFiles::layout() const {
  return split_ ? split_->space().layout() : layout_;
}

const formats::Placement& ReplayFiles::placement() const {
  if (split_) return split_->placement();
  return *plain_;
}

void ReplayFiles::write(std::int64_t offset_bytes, std::span<const std::byte> bytes) {
  if (!split_) return files_.front()->write(offset_bytes, bytes);
  while (!bytes.empty()) {
    const auto place = split_->space().locate(offset_bytes);
    const auto part = bytes.first(std::min(bytes.size(), static_cast<std::size_t>(place.length_bytes)));
    files_[static_cast<std::size_t>(place.file)]->write(place.offset_bytes, part);
    offset_bytes += std::ssize(part);
    bytes = bytes.subspan(part.size());
  }
}

void ReplayFiles::sync() {
  for (const auto& file : files_) file->sync();
}

void ReplayFiles::raise_record_count(std::int64_t records) {
  for (const auto& file : files_) raise_record_count_of(*file, records);
}

void ReplayFiles::lengthen(std::int64_t records) {
  for (std::size_t i = 0; split_ && i < files_.size(); ++i) {
    const auto bytes = split_->whole_bytes(static_cast<int>(i), records);
    if (files_[i]->size_bytes() < bytes) files_[i]->resize(bytes);
  }
}

void ReplayFiles::close() {
  for (const auto& file : files_) file->close();
}

}  // namespace sluice::storage
