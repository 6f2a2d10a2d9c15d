#include "file_import.hpp"

#include <algorithm>
#include <vector>

#include "agreement.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::api {
namespace {

/// The size of one get and put, and so the memory that an import needs.
constexpr std::int64_t piece_bytes = std::int64_t{4} << 20;

/// Divides the elements of a variable into boxes of limited size, from dimension `dimension` of `box` on.
/// Calls `visit` with each box.
template <class Visit>
void for_each_piece(formats::Hyperslab& box, std::size_t dimension, std::int64_t most_elements,
                    const Visit& visit) {
  const std::int64_t elements = box.view().elements();
  if (elements <= most_elements) return visit(box.view());
  const std::int64_t length = box.count[dimension];
  const std::int64_t of_one_index = elements / length;
  const std::int64_t indexes = std::max<std::int64_t>(most_elements / of_one_index, 1);
  for (std::int64_t first = 0; first < length; first += indexes) {
    box.start[dimension] = first;
    box.count[dimension] = std::min(indexes, length - first);
    for_each_piece(box, dimension + 1, most_elements, visit);
  }
  box.start[dimension] = 0;
  box.count[dimension] = length;
}

/// Imports pieces in turn with the other ranks.
class Importer {
 public:
  Importer(const Communicator& comm, const OpenedDriver& from, Driver& to)
      : comm_(comm), from_(from), to_(to) {}

  void import_variable(int varid) {
    const formats::Type type = from_.header.variable(varid).type;
    const auto element_bytes = static_cast<std::int64_t>(formats::size_of(type));
    formats::Hyperslab box;
    box.count = from_.header.shape(varid);
    box.start.resize(box.count.size());
    for_each_piece(box, 0, piece_bytes / element_bytes, [&](const formats::HyperslabView& piece) {
      if (piece.elements() == 0 || next_piece_++ % comm_.size() != comm_.rank()) return;
      buffer_.resize(static_cast<std::size_t>(piece.elements() * element_bytes));
      Access access;
      access.varid = varid;
      access.slabs = {&piece, 1};
      access.buffer = buffer_.data();
      access.memory = type;
      access.elements = piece.elements();
      from_.driver->get(from_.header, from_.layout, {&access, 1}, Mode::independent);
      expect_done(access, "read");
      to_.put(from_.header, from_.layout, {&access, 1}, Mode::independent);
      expect_done(access, "put into memory");
    });
  }

 private:
  void expect_done(const Access& access, const char* what) const {
    if (access.status == NC_NOERR) return;
    throw Error(static_cast<Status>(access.status), "variable " + from_.header.variable(access.varid).name +
                                                        " of the file from before the run cannot be " + what);
  }

  const Communicator& comm_;
  const OpenedDriver& from_;
  Driver& to_;
  std::vector<std::byte> buffer_;
  std::int64_t next_piece_ = 0;
};

}  // namespace

void import_file(const Communicator& comm, const OpenedDriver& from, Driver& to) {
  to.write_header(from.header, from.layout);
  together_telling(comm, [&] {
    Importer importer(comm, from, to);
    for (int id = 0; id < from.header.variable_count(); ++id) importer.import_variable(id);
  });
  (void)to.agree_record_count(from.header.record_count, Mode::collective);
  to.end_independent();
}

}  // namespace sluice::api
