// vard: an MPI datatype selects the data. Its bytes count from the variable's first byte in the file. The
// selection becomes lists of hyperslabs, one for each variable that the datatype covers.
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "access.hpp"
#include "buffer_type.hpp"
#include "collective_checks.hpp"
#include "dataset_table.hpp"
#include "file_map.hpp"
#include "guard.hpp"
#include "prepared_access.hpp"

namespace sluice::api {

namespace {

/// Turns runs of bytes into hyperslabs of the variables that they cover. The runs count from the first byte
/// of a variable in the file.
class FileTypeReader {
 public:
  FileTypeReader(const Dataset& dataset, int varid)
      : header_(dataset.header),
        map_(dataset.header, dataset.layout),
        varid_(varid),
        type_(header_.variable(varid).type),
        element_bytes_(static_cast<std::int64_t>(formats::size_of(type_))) {}

  void add_run(std::int64_t offset_bytes, std::int64_t length_bytes) {
    std::int64_t position = 0;
    if (offset_bytes < 0 || __builtin_add_overflow(header_.variable(varid_).begin, offset_bytes, &position))
      leave_variables();
    while (length_bytes > 0) {
      // Most datatypes stay in their variable.
      auto place = map_.in_variable(varid_, position);
      if (!place) place = map_.at(position);
      if (!place || place->offset_bytes % element_bytes_ != 0) leave_variables();
      if (header_.variable(place->varid).type != type_) {
        throw Error(NC_EMULTITYPES, "the file type covers variable " + header_.variable(place->varid).name +
                                        ", which has another type");
      }
      const auto here = std::min(length_bytes, place->rest_bytes);
      add_elements(*place, here / element_bytes_);
      position += here;
      length_bytes -= here;
    }
  }

  /// The hyperslabs by variable, in the order of the elements.
  [[nodiscard]] std::vector<VariableSlabs> take_parts() noexcept { return std::move(parts_); }

 private:
  [[noreturn]] static void leave_variables() {
    throw Error(NC_ETYPESIZE, "the file type covers bytes where no element of a variable begins");
  }

  VarnSlabs& slabs_of(int varid) {
    if (parts_.empty() || parts_.back().varid != varid)
      parts_.push_back({varid, VarnSlabs(header_.variable(varid).dimids.size())});
    return parts_.back().slabs;
  }

  /// Divides `n` elements from a place on into boxes, each as large as its place allows.
  void add_elements(const FileMap::Place& place, std::int64_t n) {
    auto& slabs = slabs_of(place.varid);
    const auto& dimids = header_.variable(place.varid).dimids;
    const std::size_t outermost = header_.is_record_variable(place.varid) ? 1 : 0;
    const auto length = [&](std::size_t d) { return header_.dimension(dimids[d]).length; };
    for (auto first = place.offset_bytes / element_bytes_; n > 0;) {
      const auto slab = slabs.append();
      if (outermost > 0) {
        slab.start[0] = place.record;
        slab.count[0] = 1;
      }
      auto rest = first;
      for (std::size_t d = dimids.size(); d-- > outermost;) {
        slab.start[d] = rest % length(d);
        slab.count[d] = 1;
        rest /= length(d);
      }
      std::int64_t taken = 1;
      for (std::size_t d = dimids.size(); d-- > outermost;) {
        slab.count[d] = std::min<std::int64_t>(n / taken, length(d) - slab.start[d]);
        taken *= slab.count[d];
        if (slab.count[d] != length(d)) break;
      }
      first += taken;
      n -= taken;
    }
  }

  const formats::Header& header_;
  FileMap map_;
  int varid_;
  formats::Type type_;
  std::int64_t element_bytes_;
  std::vector<VariableSlabs> parts_;
};

/// Finds the selection of the call; it is empty for an empty access. Returns NC_NOERR or the error code.
int read_file_type(const Dataset& dataset, const DatatypeAccessCall& call,
                   std::vector<VariableSlabs>& parts) {
  const auto type = decode_buffer_type(call.file_type);
  if (type.element() != dataset.header.variable(call.varid).type) return NC_ETYPE_MISMATCH;
  if (type.elements() == 0 || call.buffer_count == 0) {
    // As in PnetCDF, there is nothing to transfer. With MPI_DATATYPE_NULL the buffer's count is ignored.
    if (type.elements() == 0 || call.buffer_type != MPI_DATATYPE_NULL) return NC_NOERR;
  }
  constexpr MPI_Offset count_ignored = -1;  // NC_COUNT_IGNORE: the number of elements of the file type
  if (call.buffer_count < count_ignored && call.buffer_type != MPI_DATATYPE_NULL) return NC_EIOMISMATCH;
  FileTypeReader reader(dataset, call.varid);
  type.for_each_run([&](std::int64_t offset, std::int64_t length) { reader.add_run(offset, length); });
  parts = reader.take_parts();
  return NC_NOERR;
}

/// The part of the call in one variable, as a varn call.
AccessCall list_call(const DatatypeAccessCall& call) {
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
  return list;
}

int perform(const DatatypeAccessCall& call) {
  const DatasetUse dataset(call.ncid);
  AccessCall list = list_call(call);
  if (const int status = check_mode(*dataset, list); status != NC_NOERR) return status;

  const bool has_variable = call.varid >= 0 && call.varid < dataset->header.variable_count();
  PreparedAccess prepared;
  std::vector<VariableSlabs> parts;
  if (!has_variable) {
    const int status = prepare_parts(*dataset, list, parts, prepared);
    const int shared = call.is_collective ? status_of_all(*dataset, status) : NC_NOERR;
    return shared != NC_NOERR ? shared : perform_prepared(*dataset, list, prepared, status);
  }
  if (call.is_collective) {
    // Safe mode reports errors of the other ranks here; errors in the datatypes stay with each rank.
    if (const int shared = status_of_all(*dataset, NC_NOERR); shared != NC_NOERR) return shared;
  } else if (call.buffer_count == 0 && call.buffer_type != MPI_DATATYPE_NULL) {
    return NC_NOERR;
  }
  int status = NC_NOERR;
  if (call.file_type != MPI_DATATYPE_NULL)
    status = guard([&] { return read_file_type(*dataset, call, parts); });
  if (status == NC_NOERR) status = prepare_parts(*dataset, list, parts, prepared);
  return perform_prepared(*dataset, list, prepared, status);
}

}  // namespace

int datatype_access(const DatatypeAccessCall& call) noexcept {
  return guard([&] { return perform(call); });
}

}  // namespace sluice::api
