#include "file_driver.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "agreement.hpp"
#include "data_move.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/formats/convert.hpp"
#include "sluice/storage/posix_file_system.hpp"

namespace sluice::api {
namespace {

/// `value` split into `parts`: the first of part `i`.
std::int64_t share_begin(std::int64_t value, std::int64_t parts, std::int64_t i) noexcept {
  return value / parts * i + std::min(i, value % parts);
}

/// Fill values one after the other, as the file holds them.
ByteBuffer fill_pattern(const formats::Header& header, int varid, std::int64_t elements) {
  const std::size_t element_bytes = formats::size_of(header.variable(varid).type);
  std::array<std::byte, 8> value{};
  header.fill_value(varid, value.data());
  formats::copy_swapped(value.data(), value.data(), element_bytes, 1);
  ByteBuffer pattern;
  std::byte* to = pattern.reserve(static_cast<std::size_t>(elements) * element_bytes);
  for (std::int64_t i = 0; i < elements; ++i, to += element_bytes)
    std::memcpy(to, value.data(), element_bytes);
  return pattern;
}

RequestSummary summary_of(const FileRequest& request, std::int64_t gap_bytes, std::int64_t records) {
  const auto runs = request.runs(gap_bytes);
  RequestSummary summary;
  summary.hull = request.hull();
  summary.bytes = request.bytes();
  summary.extents = static_cast<std::int64_t>(request.extents().size());
  summary.runs = runs.count;
  summary.run_bytes = runs.bytes;
  summary.has_more = request.has_more() ? 1 : 0;
  summary.records = records;
  return summary;
}

}  // namespace

void FileDriver::write_header(const formats::Header& header, const formats::Layout&) {
  together(comm_, [&] {
    if (!comm_.is_root()) return;
    file_.write(0, formats::encode_header(header));
  });
  facts_.version = header.version;
  facts_.record_count = header.record_count;
  if (facts_.is_shared) sync();
}

void FileDriver::move_data(const formats::Header& old_header, const formats::Layout& old_layout,
                           const formats::Header& new_header, const formats::Layout& new_layout) {
  const DataMove move(old_header, old_layout, new_header, new_layout);
  move.run(comm_, file_, options_.move_bytes, options_.gap_bytes);
}

void FileDriver::fill(const formats::Header& header, const formats::Layout& layout, int varid,
                      std::int64_t first_record, std::int64_t records) {
  const auto& variable = header.variable(varid);
  const auto element_bytes = static_cast<std::int64_t>(formats::size_of(variable.type));
  const std::int64_t per_record = header.elements_per_record(varid);
  const std::int64_t total = per_record * records;
  const std::int64_t last = share_begin(total, comm_.size(), comm_.rank() + 1);
  const std::int64_t record_step = header.is_record_variable(varid) ? layout.record_size : 0;
  together(comm_, [&] {
    std::int64_t element = share_begin(total, comm_.size(), comm_.rank());
    const std::int64_t chunk = std::min(last - element, options_.direct_bytes / element_bytes);
    const ByteBuffer pattern = fill_pattern(header, varid, chunk);
    while (element < last) {
      const std::int64_t record = first_record + element / per_record;
      const std::int64_t index = element % per_record;
      const std::int64_t n = std::min({last - element, chunk, per_record - index});
      file_.write(variable.begin + record * record_step + index * element_bytes,
                  {pattern.data(), static_cast<std::size_t>(n * element_bytes)});
      element += n;
    }
  });
}

void FileDriver::put(const formats::Header& header, const formats::Layout& layout, std::span<Access> accesses,
                     Mode mode) {
  FileRequest request(header, layout, accesses, FileRequest::Kind::put);
  if (mode == Mode::collective) return access_together(request, FileRequest::Kind::put);
  while (request.has_more()) {
    request.next_batch(options_.batch_extents);
    access_directly(request, FileRequest::Kind::put);
  }
}

void FileDriver::get(const formats::Header& header, const formats::Layout& layout, std::span<Access> accesses,
                     Mode mode) {
  FileRequest request(header, layout, accesses, FileRequest::Kind::get);
  if (mode == Mode::collective) return access_together(request, FileRequest::Kind::get);
  while (request.has_more()) {
    request.next_batch(options_.batch_extents);
    access_directly(request, FileRequest::Kind::get);
  }
}

void FileDriver::access_together(FileRequest& request, FileRequest::Kind kind) {
  // A rank that fails takes part in the rest with nothing to do. When data went through other ranks, all
  // learn of it at the end.
  bool has_exchanged = false;
  int status = NC_NOERR;
  std::string what;
  const auto attempt = [&](const auto& work) {
    try {
      work();
    } catch (const Error& error) {
      if (status == NC_NOERR) what = error.what();
      if (status == NC_NOERR) status = error.status();
      request.give_up();
    } catch (const std::bad_alloc&) {
      status = NC_ENOMEM;
      request.give_up();
    }
  };
  std::vector<RequestSummary> summaries(static_cast<std::size_t>(comm_.size()));
  const auto wish = kind == FileRequest::Kind::put ? options_.put_exchange : options_.get_exchange;
  // A rank that writes by itself must not touch the gaps.
  const std::int64_t gap_bytes = kind == FileRequest::Kind::put ? 0 : options_.gap_bytes;
  const std::int64_t records = kind == FileRequest::Kind::put ? request.record_end() : 0;
  const auto has_more = [](const RequestSummary& summary) { return summary.has_more != 0; };
  do {
    attempt([&] { request.next_batch(options_.batch_extents); });
    const RequestSummary mine = summary_of(request, gap_bytes, records);
    constexpr int words = sizeof(RequestSummary) / sizeof(std::int64_t);
    check_mpi(MPI_Allgather(&mine, words, MPI_INT64_T, summaries.data(), words, MPI_INT64_T, comm_.get()),
              "gather the requests");
    for (const auto& summary : summaries) agreed_records_ = std::max(agreed_records_, summary.records);
    if (joint_hull(summaries).is_empty()) continue;
    const bool exchanges = is_exchange_better(summaries, options_, wish);
    has_exchanged = has_exchanged || exchanges;
    attempt([&] {
      if (!exchanges) {
        access_directly(request, kind);
      } else if (kind == FileRequest::Kind::put) {
        exchange_.put(request, summaries);
      } else {
        exchange_.get(request, summaries);
      }
    });
  } while (std::any_of(summaries.begin(), summaries.end(), has_more));
  if (has_exchanged) return agree(comm_, status, what);
  if (status != NC_NOERR) throw Error(static_cast<Status>(status), what);
}

void FileDriver::access_directly(FileRequest& request, FileRequest::Kind kind) {
  const FileRange hull = request.hull();
  std::int64_t begin = hull.begin;
  while (begin < hull.end) {
    // Not a sum that may be beyond 2^63: a damaged file may say that its data is just below.
    const FileRange range{begin, begin + std::min(hull.end - begin, options_.direct_bytes)};
    if (access_plain_bytes(request, range, kind)) {
      // done
    } else if (kind == FileRequest::Kind::put) {
      put_window(request, range);
    } else {
      get_window(request, range);
    }
    const auto rest = request.extents_in({range.end, hull.end});
    if (rest.empty()) return;
    begin = std::max(range.end, rest.front().offset_bytes);
  }
}

void FileDriver::put_window(FileRequest& request, const FileRange& range) {
  window_.move_to(range);
  coverage_.clear();
  coverage_.begin_list();
  for_each_clipped(request.extents_in(range), range, [&](const Extent& part) {
    request.codec(part).encode(part.first_element, part.elements, window_.at(part.offset_bytes));
    coverage_.add({part.offset_bytes, part.end()});
  });
  // Gaps are left alone: other processes may be writing there.
  window_.write(file_, coverage_.join(), 0);
}

void FileDriver::get_window(FileRequest& request, const FileRange& range) {
  window_.move_to(range);
  coverage_.clear();
  coverage_.begin_list();
  const auto extents = request.extents_in(range);
  for_each_clipped(extents, range, [&](const Extent& part) {
    coverage_.add({part.offset_bytes, part.end()});
  });
  window_.read(file_, coverage_.join(), options_.gap_bytes);
  for_each_clipped(extents, range, [&](const Extent& part) {
    request.codec(part).decode(part.first_element, part.elements, window_.at(part.offset_bytes));
  });
}

bool FileDriver::access_plain_bytes(FileRequest& request, const FileRange& range, FileRequest::Kind kind) {
  const auto extents = request.extents_in(range);
  if (extents.size() != 1) return false;
  const Extent part = clip(extents.front(), range);
  std::byte* bytes = request.codec(part).plain_bytes(part.first_element);
  if (bytes == nullptr || part.elements == 0) return false;
  const auto size = static_cast<std::size_t>(part.elements);
  if (kind == FileRequest::Kind::put) {
    file_.write(part.offset_bytes, {bytes, size});
  } else {
    file_.read(part.offset_bytes, {bytes, size});
  }
  return true;
}

std::int64_t FileDriver::agree_record_count(std::int64_t local, Mode mode) {
  std::int64_t records = std::max({local, facts_.record_count, agreed_records_});
  if (mode == Mode::independent) return records;
  // Right after a collective put all know the answer.
  const bool is_agreed = std::exchange(agreed_records_, 0) > 0;
  if (comm_.size() > 1 && !is_agreed) {
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, &records, 1, MPI_INT64_T, MPI_MAX, comm_.get()),
              "agree on the number of records");
  }
  if (records == facts_.record_count) return records;
  if (!facts_.is_shared) {
    write_record_count(records);
  } else {
    together(comm_, [&] { write_record_count(records); });
    sync();
  }
  return records;
}

void FileDriver::write_record_count(std::int64_t records) {
  if (records == facts_.record_count) return;
  facts_.record_count = records;
  if (!comm_.is_root() || !facts_.is_writable) return;
  constexpr std::int64_t offset_bytes = 4;  // behind the magic number
  std::array<std::byte, 8> bytes{};
  const std::size_t size = facts_.version == formats::Version::cdf5 ? 8 : 4;
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>(records >> (8 * (size - 1 - i)) & 0xFF);
  file_.write(offset_bytes, std::span(bytes).first(size));
}

void FileDriver::sync() {
  together(comm_, [&] {
    if (facts_.is_writable) file_.sync();
  });
}

void FileDriver::close(const formats::Header& header) {
  together(comm_, [&] { write_record_count(std::max(header.record_count, facts_.record_count)); });
  file_.close();
}

void FileDriver::discard(bool is_new) {
  const std::string path = file_.path();
  file_.close();
  together(comm_, [&] {
    if (is_new && comm_.is_root()) storage::PosixFileSystem().remove(path);
  });
}

}  // namespace sluice::api
