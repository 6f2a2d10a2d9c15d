#include "sluice/storage/log_header.hpp"

#include "sluice/formats/cdf.hpp"

namespace sluice::storage {

std::string partial_header_of(const std::string& header) {
  return header + ".partial";
}

void LogHeader::write(const formats::Header& header) {
  formats::Header empty = header;
  empty.record_count = 0;
  const auto partial = partial_header_of(path_);
  if (files_.owner_of(partial)) files_.remove(partial);  // left by an attempt that found the disk full
  const auto file = files_.open(partial, OpenMode::create_private);
  file->write(0, formats::encode_header(empty));
  file->close();
  files_.rename(partial, path_);
  is_written_ = true;
  is_header_synced_ = are_names_synced_ = false;
}

void LogHeader::sync() {
  if (is_written_ && !is_header_synced_) files_.open(path_, OpenMode::update)->sync();
  is_header_synced_ = true;
  // Names are synced after the files that they name.
  if (!are_names_synced_) files_.sync_directory(directory_of(path_));
  are_names_synced_ = true;
}

}  // namespace sluice::storage
