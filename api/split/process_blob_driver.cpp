#include "process_blob_driver.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "agreement.hpp"
#include "process_blob_file.hpp"
#include "same_definitions.hpp"
#include "sluice/formats/convert.hpp"
#include "sluice/formats/linear_range.hpp"
#include "sluice/storage/header_file.hpp"
#include "sluice/storage/posix_file_system.hpp"

namespace sluice::api {
namespace {

/// The first element of part `i`, if `value` elements are split into `parts`.
std::int64_t share_begin(std::int64_t value, std::int64_t parts, std::int64_t i) noexcept {
  return value / parts * i + std::min(i, value % parts);
}

}  // namespace

ProcessBlobDriver::ProcessBlobDriver(const Communicator& comm, OpenInfo open_info, MPI_Info info,
                                     std::unique_ptr<ProcessBlobReader> reader)
    : comm_(comm),
      open_info_(std::move(open_info)),
      info_(InfoHandle::duplicate_of(info)),
      reader_(std::move(reader)) {
  if (reader_) header_ = reader_->dataset().dataset.header;
  is_taken_ = !reader_;
  records_ = header_.record_count;
  pending_.use_header(header_);
}

void ProcessBlobDriver::write_header(const formats::Header& header, const formats::Layout&) {
  together_telling(comm_, [&] { formats::check_blob_names(header); });
  check_same_definitions(comm_, header);
  header_ = header;
  records_ = std::max(records_, header.record_count);
  pending_.use_header(header_);
  is_changed_ = true;
}

void ProcessBlobDriver::fill(const formats::Header& header, const formats::Layout&, int varid,
                             std::int64_t first_record, std::int64_t records) {
  // Each process puts its share.
  const bool has_records = header.is_record_variable(varid);
  const std::int64_t per_record = header.elements_per_record(varid);
  const std::int64_t first = share_begin(per_record, comm_.size(), comm_.rank());
  const std::int64_t end = share_begin(per_record, comm_.size(), comm_.rank() + 1);
  run_collectively(comm_, [&] {
    const auto& variable = header.variable(varid);
    std::array<std::byte, 8> value{};
    header.fill_value(varid, value.data());
    const auto element_bytes = formats::size_of(variable.type);
    auto shape = header.shape(varid);
    if (has_records) shape.front() = 1;
    for (std::int64_t record = 0; record < records; ++record) {
      formats::for_each_box(shape, first, end - first, [&](const formats::HyperslabView& box) {
        std::vector<std::byte> values(static_cast<std::size_t>(box.elements()) * element_bytes);
        for (std::size_t at = 0; at < values.size(); at += element_bytes)
          std::memcpy(values.data() + at, value.data(), element_bytes);
        std::vector<std::int64_t> start(box.start.begin(), box.start.end());
        if (has_records) start.front() = first_record + record;
        const formats::HyperslabView slab{start, box.count, {}};
        Access access;
        access.varid = varid;
        access.slabs = {&slab, 1};
        access.buffer = values.data();
        access.memory = variable.type;
        access.elements = box.elements();
        PendingPuts::Call(pending_, header, call_).add(access);
      });
    }
  });
  is_changed_ = true;
  ++call_;
}

void ProcessBlobDriver::put(const formats::Header& header, const formats::Layout&, std::span<Access> accesses,
                            Mode mode) {
  if (!accesses.empty()) is_changed_ = true;
  PendingPuts::Call call(pending_, header, mode == Mode::collective ? call_++ : call_);
  for (Access& access : accesses) call.add(access);
}

void ProcessBlobDriver::get(const formats::Header& header, const formats::Layout&, std::span<Access> accesses,
                            Mode mode) {
  if (mode == Mode::collective && open_info_.is_writable) write_files(false, false);
  if (mode == Mode::collective && !reader_) open_written();
  if (mode == Mode::collective || !open_info_.is_writable) return reader_->get(header, accesses, mode);
  for (Access& access : accesses) get_own(header, access);
}

void ProcessBlobDriver::get_own(const formats::Header& header, Access& access) {
  // A get sees the puts of this process, but not other processes' puts after the last write of the files.
  // Both have the variable's type; only the result is converted.
  const auto type = header.variable(access.varid).type;
  const auto element_bytes = formats::size_of(type);
  std::vector<std::byte> values(static_cast<std::size_t>(access.elements) * element_bytes);
  Access plain = access;
  plain.buffer = values.data();
  plain.memory = type;
  const bool is_written = reader_ && access.varid < reader_->dataset().dataset.header.variable_count();
  if (is_written) reader_->get(header, {&plain, 1}, Mode::independent);
  pending_.read(header, plain, is_written ? PendingPuts::Rest::kept : PendingPuts::Rest::zeros,
                is_written ? written_call_ : 0);
  const int status = formats::convert_get(access.memory, access.buffer, type, values.data(), access.elements,
                                          header.version != formats::Version::cdf5);
  if (status != NC_NOERR) access.status = status;
}

std::int64_t ProcessBlobDriver::agree_record_count(std::int64_t local, Mode mode) {
  std::int64_t records = std::max(local, records_);
  if (mode == Mode::independent) return records;
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &records, 1, MPI_INT64_T, MPI_MAX, comm_.get()),
            "agree on the number of records");
  if (open_info_.is_writable && records != records_) is_changed_ = true;
  records_ = records;
  return records;
}

void ProcessBlobDriver::write_files(bool is_last, bool is_synced) {
  std::array<std::int64_t, 2> agreed{is_changed_ ? 1 : 0, records_};
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, agreed.data(), 2, MPI_INT64_T, MPI_MAX, comm_.get()),
            "agree on writing");
  if (agreed[0] == 0) return;
  records_ = agreed[1];
  header_.record_count = records_;
  together_telling(comm_, [&] { take_written(); });
  if (reader_) reader_->close();
  reader_.reset();
  formats::Blobs blobs;
  std::vector<std::byte> blob;
  // At most one file for each process: more processes may have written the dataset than now open it.
  const int files = std::min(static_cast<int>(open_info_.paths.size()) - 1, comm_.size());
  blobs = decide_process_blobs(comm_, header_, pending_.parts(header_), files);
  together_telling(comm_, [&] { blob = encode_blob(header_, blobs, comm_.rank(), pending_, is_last); });
  write_process_blobs(comm_, {open_info_.paths, header_, blobs, blob, info_.get(), is_synced});
  run_collectively(comm_, [&] { remove_files_behind(files); });
  is_changed_ = false;
  written_call_ = ++call_;
}

void ProcessBlobDriver::remove_files_behind(int files) {
  const auto first = open_info_.paths.begin() + files + 1;
  storage::PosixFileSystem system;
  for (auto path = first; path != open_info_.paths.end(); ++path) {
    if (comm_.is_root() && system.exists(*path)) system.remove(*path);
  }
  open_info_.paths.erase(first, open_info_.paths.end());
}

void ProcessBlobDriver::sync() {
  if (!open_info_.is_writable) return;
  write_files(false, true);
  // For gets in independent mode, which cannot open files.
  if (!reader_) open_written();
}

void ProcessBlobDriver::take_written() {
  if (std::exchange(is_taken_, true)) return;
  const auto& dataset = reader_->dataset();
  const auto& blobs = dataset.dataset.blobs;
  const auto first = static_cast<int>(share_begin(blobs.processes, comm_.size(), comm_.rank()));
  const auto end = static_cast<int>(share_begin(blobs.processes, comm_.size(), comm_.rank() + 1));
  for (int process = first; process < end; ++process) {
    for (const auto& part : read_blob(dataset, process, reader_->blobs()))
      pending_.take({part.varid, part.record, 0}, part.runs, part.bytes);
  }
}

void ProcessBlobDriver::open_written() {
  formats::Header master;
  together_telling(comm_, [&] {
    const auto file = storage::PosixFileSystem().open(open_info_.paths.front(), storage::OpenMode::read);
    master = storage::read_header(*file).decoded.header;
  });
  auto dataset = look_at_process_blobs(comm_, master, open_info_.paths);
  together_telling(comm_, [&] {
    reader_ = std::make_unique<ProcessBlobReader>(comm_, std::move(dataset), open_info_.options, info_.get());
  });
}

void ProcessBlobDriver::close(const formats::Header& header) {
  records_ = std::max(records_, header.record_count);
  if (open_info_.is_writable) write_files(true, false);
  if (reader_) reader_->close();
}

void ProcessBlobDriver::discard(bool is_new) {
  if (reader_) reader_->close();
  check_mpi(MPI_Barrier(comm_.get()), "wait for the other processes");
  run_collectively(comm_, [&] {
    if (!is_new || !comm_.is_root()) return;
    storage::PosixFileSystem system;
    for (const auto& path : open_info_.paths) {
      if (system.exists(path)) system.remove(path);
    }
  });
}

}  // namespace sluice::api
