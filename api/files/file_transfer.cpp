#include "file_transfer.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <limits>
#include <utility>
#include <vector>

#include "agreement.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/formats/convert.hpp"
#include "sluice/formats/linear_range.hpp"

namespace sluice::api {
namespace {

/// The first element of part `i`, if `value` elements are split into `parts`.
std::int64_t share_begin(std::int64_t value, std::int64_t parts, std::int64_t i) noexcept {
  return value / parts * i + std::min(i, value % parts);
}

/// Repeated fill values in the file's representation.
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

void FileTransfer::put(const formats::Header& header, const formats::Placement& placement,
                       std::span<Access> accesses, Mode mode) {
  FileRequest request(header, placement, accesses, FileRequest::Kind::put);
  access(request, FileRequest::Kind::put, mode);
}

void FileTransfer::get(const formats::Header& header, const formats::Placement& placement,
                       std::span<Access> accesses, Mode mode) {
  FileRequest request(header, placement, accesses, FileRequest::Kind::get);
  access(request, FileRequest::Kind::get, mode);
}

void FileTransfer::access(FileRequest& request, FileRequest::Kind kind, Mode mode) {
  if (mode == Mode::collective) return access_together(request, kind);
  while (request.has_more()) {
    request.next_batch(options_.batch_extents);
    access_directly(request, kind);
  }
}

void FileTransfer::fill(const formats::Header& header, const formats::Placement& placement, int varid,
                        std::int64_t first_record, std::int64_t records) {
  std::int64_t total = 0;
  if (__builtin_mul_overflow(header.elements_per_record(varid), records, &total))
    throw Error(NC_EINTOVERFLOW, "there are too many elements to fill");
  const FileRange mine{share_begin(total, comm_.size(), comm_.rank()),
                       share_begin(total, comm_.size(), comm_.rank() + 1)};
  // This fill overwrites data that other processes put before, and their puts may still be running.
  check_mpi(MPI_Barrier(comm_.get()), "wait for the other processes");
  run_collectively(comm_, [&] {
    const auto place = placement.place_of(varid);
    fill_elements(header, *place, varid, first_record, mine);
  });
}

void FileTransfer::fill_elements(const formats::Header& header, const formats::VariablePlace& place,
                                 int varid, std::int64_t first_record, const FileRange& elements) {
  const std::int64_t element_bytes = place.element_bytes();
  const std::int64_t chunk = std::min(elements.size(), options_.direct_bytes / element_bytes);
  const ByteBuffer pattern = fill_pattern(header, varid, chunk);
  auto shape = header.shape(varid);
  const bool is_record = header.is_record_variable(varid);
  if (is_record) shape.front() = std::numeric_limits<std::int64_t>::max();  // no bound
  std::vector<std::int64_t> start;
  std::vector<formats::FileRun> runs;
  for (std::int64_t first = elements.begin; first < elements.end; first += chunk) {
    runs.clear();
    formats::for_each_box(shape, first, std::min(chunk, elements.end - first),
                          [&](const formats::HyperslabView& box) {
                            start.assign(box.start.begin(), box.start.end());
                            if (is_record) start.front() += first_record;
                            place.append({start, box.count, {}}, runs);
                          });
    for (std::span<const formats::FileRun> rest = runs; !rest.empty();)
      rest = rest.subspan(fill_window(rest, pattern));
  }
}

std::size_t FileTransfer::fill_window(std::span<const formats::FileRun> runs, const ByteBuffer& pattern) {
  const auto end_of = [&](std::size_t i) { return runs[i].offset_bytes + runs[i].length_bytes; };
  const std::int64_t begin = runs.front().offset_bytes;
  const auto is_near = [&](std::size_t i) {
    const std::int64_t gap = runs[i].offset_bytes - end_of(i - 1);
    return gap >= 0 && gap <= options_.fill_gap_bytes && end_of(i) - begin <= options_.direct_bytes;
  };
  std::size_t n = 1;
  while (n < runs.size() && is_near(n)) ++n;
  if (n == 1) {
    bytes_.write(begin, {pattern.data(), static_cast<std::size_t>(runs.front().length_bytes)});
    return n;
  }
  window_.move_to({begin, end_of(n - 1)});
  coverage_.clear();
  coverage_.begin_list();
  for (std::size_t i = 0; i < n; ++i) {
    std::memcpy(window_.at(runs[i].offset_bytes), pattern.data(),
                static_cast<std::size_t>(runs[i].length_bytes));
    coverage_.add({runs[i].offset_bytes, end_of(i)});
  }
  // No process writes the records of other variables in between: fills are collective.
  window_.write(bytes_, coverage_.join(), options_.fill_gap_bytes);
  return n;
}

void FileTransfer::access_together(FileRequest& request, FileRequest::Kind kind) {
  // A rank that fails takes part in the remaining exchanges with an empty request. After an exchange, all
  // ranks learn of the failure at the end.
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
  // A rank that writes by itself must not write to the gaps.
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
        put_by_exchange(request, summaries);
      } else {
        exchange_.get(request, summaries);
      }
    });
  } while (std::any_of(summaries.begin(), summaries.end(), has_more));
  if (has_exchanged) return agree(comm_, status, what);
  if (status != NC_NOERR) throw Error(static_cast<Status>(status), what);
}

void FileTransfer::put_by_exchange(FileRequest& request, std::span<const RequestSummary> summaries) {
  // All ranks have entered this call, so rank 0 waits for no rank while other writers are held off.
  int is_alone = comm_.is_root() && others_.hold_off() ? 1 : 0;
  check_mpi(MPI_Bcast(&is_alone, 1, MPI_INT, 0, comm_.get()), "broadcast");
  std::exception_ptr failure;
  try {
    exchange_.put(request, summaries, is_alone != 0);
  } catch (...) {
    failure = std::current_exception();
  }
  if (is_alone != 0) {
    check_mpi(MPI_Barrier(comm_.get()), "wait for the other processes");
    if (comm_.is_root()) others_.release();
  }
  if (failure) std::rethrow_exception(failure);
}

void FileTransfer::access_directly(FileRequest& request, FileRequest::Kind kind) {
  const FileRange hull = request.hull();
  std::int64_t begin = hull.begin;
  while (begin < hull.end) {
    // Avoids a sum beyond 2^63: a damaged file may place its data just below that limit.
    FileRange range{begin, begin + std::min(hull.end - begin, options_.direct_bytes)};
    // A long extent is handled alone: it may need no staging.
    const Extent& first = request.extents_in(range).front();
    if (first.end() - begin >= options_.direct_bytes / 4) range.end = std::min(range.end, first.end());
    if (access_in_place(request, range, kind)) {
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

void FileTransfer::put_window(FileRequest& request, const FileRange& range) {
  window_.move_to(range);
  const auto extents = request.extents_in(range);
  for_each_clipped(extents, range, [&](const Extent& part) {
    request.codec(part).encode(part.first_element, part.elements, window_.at(part.offset_bytes));
  });
  // Gaps are not written: other processes may be writing there.
  for_each_covered(extents, range, 0, [&](const FileRange& covered) { window_.write(bytes_, covered); });
}

void FileTransfer::get_window(FileRequest& request, const FileRange& range) {
  window_.move_to(range);
  const auto extents = request.extents_in(range);
  for_each_covered(extents, range, options_.gap_bytes,
                   [&](const FileRange& covered) { window_.read(bytes_, covered); });
  for_each_clipped(extents, range, [&](const Extent& part) {
    request.codec(part).decode(part.first_element, part.elements, window_.at(part.offset_bytes));
  });
}

bool FileTransfer::access_in_place(FileRequest& request, const FileRange& range, FileRequest::Kind kind) {
  const auto extents = request.extents_in(range);
  if (extents.size() != 1) return false;
  const Extent part = clip(extents.front(), range);
  ElementCodec& codec = request.codec(part);
  std::byte* bytes = codec.plain_bytes(part.first_element);
  if (bytes == nullptr || part.elements == 0) return false;
  const std::span memory(bytes, static_cast<std::size_t>(part.length_bytes()));
  if (kind == FileRequest::Kind::get) {
    bytes_.read(part.offset_bytes, memory);
    codec.decode(part.first_element, part.elements, bytes);
    return true;
  }
  // The user's memory must not be swapped in place.
  if (!codec.is_in_file_order()) return false;
  bytes_.write(part.offset_bytes, memory);
  return true;
}

std::int64_t FileTransfer::agree_record_count(std::int64_t local, Mode mode) {
  std::int64_t records = std::max(local, agreed_records_);
  if (mode == Mode::independent) return records;
  const bool is_agreed = std::exchange(agreed_records_, 0) > 0;
  if (comm_.size() > 1 && !is_agreed) {
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, &records, 1, MPI_INT64_T, MPI_MAX, comm_.get()),
              "agree on the number of records");
  }
  return records;
}

void write_record_count(const FileBytes& file, formats::Version version, std::int64_t records) {
  file.write(formats::record_count_offset, formats::encode_record_count(version, records));
}

}  // namespace sluice::api
