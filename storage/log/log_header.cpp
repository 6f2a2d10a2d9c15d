#include "sluice/storage/log_header.hpp"

#include <algorithm>

#include "sluice/formats/cdf.hpp"

namespace sluice::storage {

namespace {

formats::Header without_records(const formats::Header& header) {
  formats::Header empty = header;
  empty.record_count = 0;
  return empty;
}

}  // namespace

std::string partial_header_of(const std::string& header) {
  return header + ".partial";
}

void LogHeader::write(const formats::Header& header) {
  const auto partial = partial_header_of(path_);
  if (files_.owner_of(partial)) files_.remove(partial);  // left by a process that was killed
  const auto file = files_.open(partial, OpenMode::create_private);
  try {
    file->write(0, formats::encode_header(without_records(header)));
    file->close();
    files_.rename(partial, path_);
  } catch (const IoError&) {
    remove_quietly(files_, partial);  // the disk may be full
    throw;
  }
  is_written_ = true;
  is_header_synced_ = are_names_synced_ = false;
}

std::int64_t LogHeader::append(const formats::Header& header) {
  constexpr std::int64_t alignment = 8;
  const bool is_new = !files_.owner_of(path_);
  const auto file = files_.open(path_, is_new ? OpenMode::create_private : OpenMode::update);
  // Without a header of the first step, the file begins with zeros.
  const auto begin = std::max(alignment, (file->size_bytes() + alignment - 1) / alignment * alignment);
  file->write(begin, formats::encode_header(without_records(header)));
  file->close();
  is_written_ = true;
  is_header_synced_ = false;
  are_names_synced_ = are_names_synced_ && !is_new;
  return begin;
}

void LogHeader::sync() {
  if (is_written_ && !is_header_synced_) files_.open(path_, OpenMode::update)->sync();
  is_header_synced_ = true;
  // Names are synced after the files that they name.
  if (!are_names_synced_) files_.sync_directory(directory_of(path_));
  are_names_synced_ = true;
}

}  // namespace sluice::storage
