#include "split_files.hpp"

#include <algorithm>
#include <utility>

#include "agreement.hpp"
#include "data_move.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/storage/posix_file_system.hpp"

namespace sluice::api {
namespace {

/// The variables that had those ids before, in their order then.
formats::Header in_old_order(const formats::Header& header, const std::vector<int>& ids) {
  formats::Header result;
  for (const auto& dimension : header.dimensions()) result.add_dimension(dimension);
  for (const int id : ids) result.add_variable(header.variable(id));
  return result;
}

}  // namespace

void SplitFiles::adopt(Descriptions descriptions) {
  space_ = formats::FileSpace(descriptions, files_.paths());
  descriptions_ = std::move(descriptions);
  files_.use_space(space_);
}

void SplitFiles::move_to(Descriptions next, std::int64_t record_count,
                         const std::vector<std::vector<int>>& ids) {
  for (int i = 0; i < files_.size(); ++i) {
    const auto file = static_cast<std::size_t>(i);
    auto& old = descriptions_[file];
    old.header.record_count = record_count;
    const auto& changed = next[file];
    const auto header = ids.empty() ? changed.header : in_old_order(changed.header, ids[file]);
    together(comm_, [&] { (void)files_.file(i); });
    const DataMove move({old.header, old.layout}, {header, changed.layout},
                        size_on_root(comm_, [&] { return files_.file(i).size_bytes(); }));
    if (move.stream_bytes() == 0) continue;
    move.run(comm_, files_.file(i), transfer_.options().move_bytes, transfer_.options().gap_bytes);
  }
  adopt(std::move(next));
}

void SplitFiles::write_my_headers() const {
  for_my_files([&](int file) {
    const auto& description = descriptions_[static_cast<std::size_t>(file)];
    files_.file(file).write(0, formats::encode_header(description.header));
  });
}

void SplitFiles::write_my_record_counts(std::int64_t records) {
  if (std::exchange(record_count_, records) == records || !facts_.is_writable) return;
  for_my_files([&](int file) {
    const auto& [header, layout] = descriptions_[static_cast<std::size_t>(file)];
    // The master's is the dataset's, whether or not a variable with records is in it.
    const bool has_records = file == 0 ? header.record_dimension() >= 0 : layout.record_size > 0;
    if (has_records) write_record_count(files_.file(file), header.version, records);
  });
}

void SplitFiles::metadata_written() {
  if (facts_.is_shared) sync();
}

void SplitFiles::sync() {
  together(comm_, [&] {
    if (facts_.is_writable) files_.sync();
  });
}

void SplitFiles::close(std::int64_t records) {
  together(comm_, [&] {
    write_my_record_counts(std::max(records, record_count_));
    files_.close();
  });
}

void SplitFiles::discard(bool is_new) {
  together(comm_, [&] {
    files_.close();
    if (!is_new) return;
    storage::PosixFileSystem system;
    for_my_files([&](int file) {
      // Some may not have been made yet.
      const auto& path = files_.paths()[static_cast<std::size_t>(file)];
      if (system.exists(path)) system.remove(path);
    });
  });
}

}  // namespace sluice::api
