#include "file_driver.hpp"

#include <algorithm>

#include "agreement.hpp"
#include "data_move.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/storage/posix_file_system.hpp"

namespace sluice::api {

void FileDriver::write_header(const formats::Header& header, const formats::Layout&) {
  run_on_root(comm_, [&] { file_.write(0, formats::encode_header(header)); });
  open_info_.version = header.version;
  open_info_.record_count = header.record_count;
  if (open_info_.is_shared) sync();
}

void FileDriver::move_data(const formats::Header& old_header, const formats::Layout& old_layout,
                           const formats::Header& new_header, const formats::Layout& new_layout) {
  const DataMove move({old_header, old_layout}, {new_header, new_layout},
                      size_on_root(comm_, [&] { return file_.size_bytes(); }));
  move.run(comm_, file_, transfer_.options().move_bytes, transfer_.options().gap_bytes);
}

void FileDriver::fill(const formats::Header& header, const formats::Layout& layout, int varid,
                      std::int64_t first_record, std::int64_t records) {
  transfer_.fill(header, formats::FilePlacement(header, layout), varid, first_record, records);
}

void FileDriver::put(const formats::Header& header, const formats::Layout& layout, std::span<Access> accesses,
                     Mode mode) {
  transfer_.put(header, formats::FilePlacement(header, layout), accesses, mode);
}

void FileDriver::get(const formats::Header& header, const formats::Layout& layout, std::span<Access> accesses,
                     Mode mode) {
  transfer_.get(header, formats::FilePlacement(header, layout), accesses, mode);
}

std::int64_t FileDriver::agree_record_count(std::int64_t local, Mode mode) {
  const std::int64_t records = transfer_.agree_record_count(std::max(local, open_info_.record_count), mode);
  if (mode == Mode::independent || records == open_info_.record_count) return records;
  if (!open_info_.is_shared) {
    write_record_count(records);
  } else {
    run_collectively(comm_, [&] { write_record_count(records); });
    sync();
  }
  return records;
}

void FileDriver::write_record_count(std::int64_t records) {
  if (records == open_info_.record_count) return;
  open_info_.record_count = records;
  if (comm_.is_root() && open_info_.is_writable) api::write_record_count(file_, open_info_.version, records);
}

void FileDriver::sync() {
  run_collectively(comm_, [&] {
    if (open_info_.is_writable) file_.sync();
  });
}

void FileDriver::close(const formats::Header& header) {
  run_collectively(comm_,
                   [&] { write_record_count(std::max(header.record_count, open_info_.record_count)); });
  file_.close();
}

void FileDriver::discard(bool is_new) {
  const std::string path = file_.path();
  file_.close();
  run_collectively(comm_, [&] {
    if (is_new && comm_.is_root()) storage::PosixFileSystem().remove(path);
  });
}

}  // namespace sluice::api
