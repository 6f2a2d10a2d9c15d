// vard: the part of the variable is an MPI datatype, whose bytes are counted from the variable's first one in
// the file. It becomes a list of hyperslabs.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "access.hpp"
#include "buffer_type.hpp"
#include "dataset_table.hpp"
#include "guard.hpp"
#include "prepared_access.hpp"

namespace sluice::api {

namespace {

/// A list of hyperslabs in the form in which varn takes it.
class SlabList {
 public:
  explicit SlabList(std::size_t dimensions) : dimensions_(dimensions) {}

  /// Appends one; the caller fills in the numbers.
  struct Slab {
    MPI_Offset* start;
    MPI_Offset* count;
  };
  Slab append() {
    auto& numbers = numbers_.emplace_back(2 * dimensions_, 0);
    starts_.push_back(numbers.data());
    counts_.push_back(numbers.data() + dimensions_);
    return {starts_.back(), counts_.back()};
  }

  [[nodiscard]] int size() const noexcept { return static_cast<int>(starts_.size()); }
  [[nodiscard]] MPI_Offset* const* starts() const noexcept { return starts_.data(); }
  [[nodiscard]] MPI_Offset* const* counts() const noexcept { return counts_.data(); }

 private:
  std::size_t dimensions_;
  std::deque<std::vector<MPI_Offset>> numbers_;  // the pointers stay good while it grows
  std::vector<MPI_Offset*> starts_;
  std::vector<MPI_Offset*> counts_;
};

/// Turns runs of bytes, counted as in the file, into hyperslabs of one variable.
class FileTypeReader {
 public:
  FileTypeReader(const Dataset& dataset, int varid, SlabList& slabs)
      : shape_(dataset.header.shape(varid)),
        is_record_(dataset.header.is_record_variable(varid)),
        element_bytes_(static_cast<std::int64_t>(formats::size_of(dataset.header.variable(varid).type))),
        elements_(dataset.header.elements_per_record(varid)),
        record_bytes_(dataset.layout.record_size),
        slabs_(slabs) {}

  void add_run(std::int64_t offset_bytes, std::int64_t length_bytes) {
    const auto bytes = elements_ * element_bytes_;  // of one record, or of the variable
    if (offset_bytes < 0 || bytes == 0) leave_variable();
    while (length_bytes > 0) {
      const auto record = is_record_ ? offset_bytes / record_bytes_ : 0;
      const auto within = is_record_ ? offset_bytes % record_bytes_ : offset_bytes;
      // Records of the only record variable lie one behind the other.
      const auto here = is_record_ ? std::min(length_bytes, bytes - within) : length_bytes;
      if (within % element_bytes_ != 0 || here <= 0 || here > bytes - within) leave_variable();
      add_elements(record, within / element_bytes_, here / element_bytes_);
      offset_bytes += here;
      length_bytes -= here;
    }
  }

 private:
  [[noreturn]] static void leave_variable() {
    throw Error(NC_ETYPESIZE, "The file type reaches outside of the variable.");
  }

  /// Cuts `n` elements from `first` on into boxes, each as large as its place allows.
  void add_elements(std::int64_t record, std::int64_t first, std::int64_t n) {
    const std::size_t outermost = is_record_ ? 1 : 0;
    const auto dimensions = shape_.size();
    while (n > 0) {
      const auto slab = slabs_.append();
      if (is_record_) {
        slab.start[0] = record;
        slab.count[0] = 1;
      }
      auto rest = first;
      for (std::size_t d = dimensions; d-- > outermost;) {
        slab.start[d] = rest % shape_[d];
        slab.count[d] = 1;
        rest /= shape_[d];
      }
      std::int64_t taken = 1;
      for (std::size_t d = dimensions; d-- > outermost;) {
        slab.count[d] = std::min<std::int64_t>(n / taken, shape_[d] - slab.start[d]);
        taken *= slab.count[d];
        if (slab.count[d] != shape_[d]) break;
      }
      first += taken;
      n -= taken;
    }
  }

  std::vector<std::int64_t> shape_;
  bool is_record_;
  std::int64_t element_bytes_;
  std::int64_t elements_;
  std::int64_t record_bytes_;
  SlabList& slabs_;
};

/// The selection of the call as a list; nothing for an empty access. Returns NC_NOERR or the code.
int read_file_type(const Dataset& dataset, const DatatypeAccessCall& call, SlabList& slabs) {
  const auto type = decode_buffer_type(call.file_type);
  if (type.element() != dataset.header.variable(call.varid).type) return NC_ETYPE_MISMATCH;
  if (type.elements() == 0 || call.buffer_count == 0) {
    // As in the reference, nothing to transfer. With MPI_DATATYPE_NULL the buffer's count means nothing.
    if (type.elements() == 0 || call.buffer_type != MPI_DATATYPE_NULL) return NC_NOERR;
  }
  constexpr MPI_Offset count_ignored = -1;  // NC_COUNT_IGNORE: as many as the file type has elements
  if (call.buffer_count < count_ignored && call.buffer_type != MPI_DATATYPE_NULL) return NC_EIOMISMATCH;
  FileTypeReader reader(dataset, call.varid, slabs);
  type.for_each_run([&](std::int64_t offset, std::int64_t length) { reader.add_run(offset, length); });
  return NC_NOERR;
}

int perform(const DatatypeAccessCall& call) {
  const DatasetUse dataset(call.ncid);
  AccessCall list;
  list.verb = call.verb;
  list.shape = Shape::varn;
  list.is_collective = call.is_collective;
  list.is_flexible = true;
  list.ncid = call.ncid;
  list.varid = call.varid;
  list.buffer = call.buffer;
  list.buffer_count = call.buffer_count;
  list.buffer_type = call.buffer_type;
  if (const int status = check_mode(*dataset, list); status != NC_NOERR) return status;

  const bool has_variable = call.varid >= 0 && call.varid < dataset->header.variable_count();
  SlabList slabs(has_variable ? dataset->header.variable(call.varid).dimids.size() : 0);
  int status = NC_NOERR;
  if (has_variable && call.file_type != MPI_DATATYPE_NULL) {
    status = guard([&] { return read_file_type(*dataset, call, slabs); });
  }
  if (status == NC_NOERR) {
    list.list_length = slabs.size();
    list.starts = slabs.starts();
    list.counts = slabs.counts();
  }
  // With a mistake this rank still takes part, with nothing.
  const int transferred = perform(*dataset, list);
  return status != NC_NOERR ? status : transferred;
}

}  // namespace

int datatype_access(const DatatypeAccessCall& call) noexcept {
  return guard([&] { return perform(call); });
}

}  // namespace sluice::api
