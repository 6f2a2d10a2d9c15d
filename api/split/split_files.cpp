#include "split_files.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "agreement.hpp"
#include "sluice/storage/posix_file_system.hpp"

namespace sluice::api {

SplitFiles::Contents SplitFiles::contents_of(const Descriptions& files) {
  Contents contents;
  contents.version = files.front().header.version;
  contents.has_record_dimension = files.front().header.record_dimension() >= 0;
  for (const auto& file : files) contents.layouts.push_back(file.layout);
  return contents;
}

void SplitFiles::adopt(Contents contents) {
  contents_ = std::move(contents);
  space_ = formats::FileSpace(contents_.layouts);
  files_.use_space(space_);
}

void SplitFiles::move_to(Contents next, const MoveOf& move_of) {
  for (int i = 0; i < files_.size(); ++i) {
    run_collectively(comm_, [&] { (void)files_.file(i); });
    const auto move = move_of(i, size_on_root(comm_, [&] { return files_.file(i).size_bytes(); }));
    if (move.stream_bytes() == 0) continue;
    move.run(comm_, files_.file(i), transfer_.options().move_bytes, transfer_.options().gap_bytes);
  }
  adopt(std::move(next));
}

void SplitFiles::write_my_headers(const Encode& encode) const {
  for_my_files([&](int file) { files_.file(file).write(0, encode(file)); });
}

void SplitFiles::write_my_record_counts(std::int64_t records) {
  if (std::exchange(record_count_, records) == records || !open_info_.is_writable) return;
  for_my_files([&](int file) {
    // The master's flag is the dataset's, even if the master has no record variable.
    const bool has_records = file == 0 ? contents_.has_record_dimension
                                       : contents_.layouts[static_cast<std::size_t>(file)].record_size > 0;
    if (has_records) write_record_count(files_.file(file), contents_.version, records);
  });
}

void SplitFiles::metadata_written() {
  if (open_info_.is_shared) sync();
}

void SplitFiles::sync() {
  run_collectively(comm_, [&] {
    if (open_info_.is_writable) files_.sync();
  });
}

void SplitFiles::lengthen(const std::function<formats::FileEnd(int file, std::int64_t file_bytes)>& end_of) {
  if (!open_info_.is_writable) return;
  std::vector<formats::FileEnd> ends;
  run_collectively(comm_, [&] {
    for_my_files([&](int file) { ends.push_back(end_of(file, files_.file(file).size_bytes())); });
  });
  // The first missing piece, the last missing piece (negated), whether a file ends inside a piece, and
  // whether an operation failed. All are combined as maxima.
  std::array<std::int64_t, 4> most{0, -formats::FileEnd::nothing, 0, has_failed_ ? 1 : 0};
  for (const auto& end : ends) {
    if (end.has_shared) most[0] = std::max(most[0], end.first_missing);
    if (end.has_shared) most[1] = std::max(most[1], -end.first_missing);
    if (end.is_within) most[2] = 1;
  }
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, most.data(), 4, MPI_INT64_T, MPI_MAX, comm_.get()),
            "compare the ends of files");
  const bool is_even = most[0] == -most[1] || most[0] == 0;
  if ((is_even && most[2] == 0) || most[3] != 0) return;
  run_collectively(comm_, [&] {
    auto end = ends.begin();
    for_my_files([&](int file) {
      if (!end->is_complete()) files_.file(file).resize(end->data_bytes);
      ++end;
    });
  });
}

void SplitFiles::close(std::int64_t records) {
  run_collectively(comm_, [&] {
    write_my_record_counts(std::max(records, record_count_));
    files_.close();
  });
}

void SplitFiles::discard(bool is_new) {
  run_collectively(comm_, [&] {
    files_.close();
    if (!is_new) return;
    storage::PosixFileSystem system;
    for_my_files([&](int file) {
      // Some files may not exist yet.
      const auto& path = files_.paths()[static_cast<std::size_t>(file)];
      if (system.exists(path)) system.remove(path);
    });
  });
}

}  // namespace sluice::api
