#include "selection.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <utility>
#include <vector>

#include "sluice/formats/status.hpp"

using namespace sluice;
using api::AccessCall;
using api::Selection;
using api::Shape;

namespace {

using Numbers = std::vector<MPI_Offset>;

enum Variable { fixed, record, scalar };

/// fixed(4, 5), record(unlimited, 4) with 3 records, scalar.
formats::Header header_of(formats::Version version = formats::Version::cdf1) {
  formats::Header header;
  header.version = version;
  const int t = header.add_dimension({"t", 0, true});
  const int x = header.add_dimension({"x", 4, false});
  const int y = header.add_dimension({"y", 5, false});
  const auto add = [&](const char* name, std::vector<int> dimids) {
    formats::Variable variable;
    variable.name = name;
    variable.type = formats::Type::int32;
    variable.dimids = std::move(dimids);
    header.add_variable(std::move(variable));
  };
  add("fixed", {x, y});
  add("record", {t, x});
  add("scalar", {});
  header.record_count = 3;
  return header;
}

struct Arguments {
  Shape shape = Shape::vara;
  int varid = fixed;
  Numbers start;
  Numbers count;
  Numbers stride;
};

int resolve(Selection& selection, const Arguments& arguments, bool is_put,
            formats::Version version = formats::Version::cdf1) {
  const auto pointer = [](const Numbers& numbers) { return numbers.empty() ? nullptr : numbers.data(); };
  AccessCall call;
  call.shape = arguments.shape;
  call.varid = arguments.varid;
  call.start = pointer(arguments.start);
  call.count = pointer(arguments.count);
  call.stride = pointer(arguments.stride);
  return selection.resolve(call, header_of(version), is_put);
}

int status_of(const Arguments& arguments, bool is_put = true,
              formats::Version version = formats::Version::cdf1) {
  Selection selection;
  return resolve(selection, arguments, is_put, version);
}

}  // namespace

TEST_CASE("starts are checked before counts, counts with edges before strides") {
  CHECK(status_of({Shape::vara, fixed, {4, 0}, {0, 1}, {}}) == NC_NOERR);
  CHECK(status_of({Shape::vara, fixed, {4, 0}, {1, 1}, {}}) == NC_EINVALCOORDS);
  CHECK(status_of({Shape::vara, fixed, {5, 0}, {0, 1}, {}}) == NC_EINVALCOORDS);
  CHECK(status_of({Shape::vara, fixed, {-1, 0}, {-1, 1}, {}}) == NC_EINVALCOORDS);
  CHECK(status_of({Shape::vara, fixed, {0, 6}, {5, 1}, {}}) == NC_EINVALCOORDS);
  CHECK(status_of({Shape::vara, fixed, {0, 0}, {-1, 1}, {}}) == NC_ENEGATIVECNT);
  CHECK(status_of({Shape::vara, fixed, {0, 0}, {5, -1}, {}}) == NC_EEDGE);
  CHECK(status_of({Shape::vara, fixed, {0, 0}, {4, 5}, {}}) == NC_NOERR);
  CHECK(status_of({Shape::vara, fixed, {1, 0}, {std::numeric_limits<MPI_Offset>::max(), 1}, {}}) == NC_EEDGE);
  CHECK(status_of({Shape::vars, fixed, {0, 0}, {2, 1}, {4, -1}}) == NC_EEDGE);
  CHECK(status_of({Shape::vars, fixed, {0, 0}, {2, 3}, {-1, 4}}) == NC_EEDGE);
  CHECK(status_of({Shape::vars, fixed, {0, 0}, {2, 1}, {-1, 4}}) == NC_ESTRIDE);
  CHECK(status_of({Shape::vars, fixed, {3, 0}, {2, 1}, {-1, 1}}) == NC_EEDGE);
  CHECK(status_of({Shape::vars, fixed, {0, 0}, {0, 1}, {0, 1}}) == NC_ESTRIDE);
  CHECK(status_of({Shape::vars, fixed, {0, 0}, {2, 1}, {3, 1}}) == NC_NOERR);
  CHECK(status_of({Shape::vars, fixed, {0, 0}, {4, 1}, {std::numeric_limits<MPI_Offset>::max(), 1}}) ==
        NC_EEDGE);
}

TEST_CASE("a missing start is out of bounds and a missing count an edge, but for scalars") {
  CHECK(status_of({Shape::vara, fixed, {}, {1, 1}, {}}) == NC_EINVALCOORDS);
  CHECK(status_of({Shape::vara, fixed, {0, 0}, {}, {}}) == NC_EEDGE);
  CHECK(status_of({Shape::vara, fixed, {4, 0}, {}, {}}) == NC_EINVALCOORDS);
  CHECK(status_of({Shape::vars, fixed, {0, 0}, {}, {0, 1}}) == NC_EEDGE);
  CHECK(status_of({Shape::var1, fixed, {}, {}, {}}) == NC_EINVALCOORDS);
  CHECK(status_of({Shape::vara, scalar, {}, {}, {}}) == NC_NOERR);
  CHECK(status_of({Shape::var1, scalar, {}, {}, {}}) == NC_NOERR);
}

TEST_CASE("puts may name records that are not there yet, gets may not") {
  CHECK(status_of({Shape::vara, record, {3, 0}, {1, 1}, {}}, false) == NC_EINVALCOORDS);
  CHECK(status_of({Shape::vara, record, {3, 0}, {0, 1}, {}}, false) == NC_NOERR);
  CHECK(status_of({Shape::vara, record, {2, 0}, {2, 1}, {}}, false) == NC_EEDGE);
  Selection selection;
  CHECK(resolve(selection, {Shape::vars, record, {2, 0}, {3, 2}, {4, 1}}, true) == NC_NOERR);
  CHECK(selection.record_end() == 11);
  CHECK(selection.elements() == 6);
  CHECK(status_of({Shape::vara, record, {0xffffffffLL, 0}, {1, 1}, {}}) == NC_EINVALCOORDS);
  CHECK(status_of({Shape::vara, record, {0x7fffffffLL, 0}, {1, 1}, {}}) == NC_EINTOVERFLOW);
  CHECK(status_of({Shape::vara, record, {0xffffffffLL, 0}, {1, 1}, {}}, true, formats::Version::cdf5) ==
        NC_NOERR);
}

TEST_CASE("an empty put has no slab but still makes the records that it names") {
  Selection selection;
  CHECK(resolve(selection, {Shape::vara, record, {5, 0}, {1, 0}, {}}, true) == NC_NOERR);
  CHECK(selection.elements() == 0);
  CHECK(selection.slabs().empty());
  CHECK(selection.record_end() == 6);
  Selection none;
  CHECK(resolve(none, {Shape::vara, record, {5, 0}, {0, 1}, {}}, true) == NC_NOERR);
  CHECK(none.record_end() == 0);
}

TEST_CASE("a whole variable is as long as its records, and a stride of ones is none") {
  Selection whole;
  CHECK(resolve(whole, {Shape::var, record, {}, {}, {}}, true) == NC_NOERR);
  REQUIRE(whole.slabs().size() == 1);
  CHECK(whole.slabs()[0].count[0] == 3);
  CHECK(whole.elements() == 12);
  Selection ones;
  const Arguments arguments{Shape::vars, fixed, {1, 1}, {2, 2}, {1, 1}};
  CHECK(resolve(ones, arguments, true) == NC_NOERR);
  CHECK(ones.slabs()[0].stride.empty());
}

TEST_CASE("lists of slabs are checked one after the other, and missing counts mean one element") {
  Numbers a{0, 0};
  Numbers b{3, 4};
  Numbers outside{4, 0};
  Numbers two{1, 1};
  Numbers empty{0, 1};
  std::vector<MPI_Offset*> starts{a.data(), b.data(), a.data()};
  std::vector<MPI_Offset*> counts{nullptr, two.data(), empty.data()};
  const auto header = header_of();
  AccessCall call;
  call.shape = Shape::varn;
  call.varid = fixed;
  call.list_length = 3;
  call.starts = starts.data();
  call.counts = counts.data();
  {
    Selection selection;
    CHECK(selection.resolve(call, header, true) == NC_NOERR);
    CHECK(selection.elements() == 2);
    CHECK(selection.slabs().size() == 2);
  }
  const auto status = [&] {
    Selection selection;
    return selection.resolve(call, header, true);
  };
  starts[1] = outside.data();
  CHECK(status() == NC_EINVALCOORDS);
  starts[1] = nullptr;
  CHECK(status() == NC_ENULLSTART);
  call.starts = nullptr;
  CHECK(status() == NC_ENULLSTART);
  call.list_length = 0;
  CHECK(status() == NC_NOERR);
  call.list_length = -1;
  CHECK(status() == NC_ENULLSTART);
  call.starts = starts.data();
  CHECK(status() == NC_NOERR);
  call.varid = scalar;
  CHECK(status() == NC_EINVAL);
  call.list_length = 2;
  CHECK(status() == NC_EINVAL);
}

namespace {

/// A long varn call on one of header_of()'s variables.
struct LongList {
  explicit LongList(int length) {
    for (int i = 0; i < length; ++i) {
      starts.push_back({i % 3, i % 2});
      counts.push_back({1, 1 + i % 3});
    }
  }
  int resolve(Selection& selection, int varid, const formats::Header& header, bool is_put,
              formats::StartRule rule = formats::StartRule::relaxed) {
    return selection.resolve(call_of(varid), header, is_put, rule, &recent);
  }
  /// As a blocking call of a coupled file. The result refers to the list in `known`, or to the arguments.
  int resolve(Selection& selection, int varid, const formats::Header& header, api::KnownLists& known,
              bool is_put = false) {
    return selection.resolve(call_of(varid), header, is_put, formats::StartRule::relaxed, nullptr, &known);
  }
  AccessCall call_of(int varid) {
    start_pointers.clear();
    count_pointers.clear();
    for (auto& start : starts) start_pointers.push_back(start.data());
    for (auto& count : counts) count_pointers.push_back(count.data());
    AccessCall call;
    call.shape = Shape::varn;
    call.varid = varid;
    call.list_length = static_cast<int>(starts.size());
    call.starts = start_pointers.data();
    call.counts = count_pointers.data();
    return call;
  }
  /// Whether the call names `list` itself.
  bool names(const std::shared_ptr<const formats::SlabList>& list, int varid, const formats::Header& header) {
    Selection selection;
    REQUIRE(resolve(selection, varid, header, false) == NC_NOERR);
    return selection.keep(recent) == list;
  }
  std::vector<Numbers> starts, counts;
  std::vector<MPI_Offset*> start_pointers, count_pointers;
  api::RecentSlabs recent;
};

}  // namespace

TEST_CASE("a list that was named before is found again, unchanged") {
  LongList list(40);
  const auto header = header_of();
  Selection first;
  REQUIRE(list.resolve(first, record, header, false) == NC_NOERR);
  const auto kept = first.keep(list.recent);
  Selection second;
  REQUIRE(list.resolve(second, record, header, false) == NC_NOERR);
  CHECK(second.slabs().data() == kept->views().data());
  CHECK(second.elements() == first.elements());
  CHECK(second.record_end() == 3);
  CHECK(second.keep(list.recent) == kept);
}

TEST_CASE("a list of which anything differs is not one that was named before") {
  LongList list(40);
  const auto header = header_of();
  Selection first;
  REQUIRE(list.resolve(first, record, header, false) == NC_NOERR);
  const auto kept = first.keep(list.recent);
  CHECK(list.names(kept, record, header));
  const api::RecentSlabs before = list.recent;  // which keeps few lists
  for (std::size_t i = 0; i < 40; ++i) {
    for (auto* const numbers : {&list.starts[i], &list.counts[i]}) {
      for (MPI_Offset& number : *numbers) {
        const MPI_Offset old = std::exchange(number, 0);
        CHECK(list.names(kept, record, header) == (old == 0));
        number = old;
        list.recent = before;
      }
    }
  }
  list.starts[39][1] = 0;
  CHECK_FALSE(list.names(kept, record, header));
  list.starts[39][1] = 1;
  CHECK(list.names(kept, record, header));
  list.counts[7][1] = 3;
  CHECK_FALSE(list.names(kept, record, header));
  list.counts[7][1] = 2;
  std::swap(list.starts[0], list.starts[1]);
  CHECK_FALSE(list.names(kept, record, header));
  std::swap(list.starts[0], list.starts[1]);
  list.starts.pop_back();
  CHECK_FALSE(list.names(kept, record, header));
}

TEST_CASE("a list that was right for one shape is checked for another one") {
  LongList list(40);
  auto header = header_of();
  Selection first;
  REQUIRE(list.resolve(first, record, header, false) == NC_NOERR);
  (void)first.keep(list.recent);
  header.record_count = 2;
  Selection fewer_records;
  CHECK(list.resolve(fewer_records, record, header, false) == NC_EINVALCOORDS);
  header.record_count = 3;
  Selection of_fixed;
  REQUIRE(list.resolve(of_fixed, fixed, header, false) == NC_NOERR);
  CHECK(of_fixed.record_end() == 0);
  Selection of_put;
  REQUIRE(list.resolve(of_put, record, header, true) == NC_NOERR);
  CHECK(of_put.record_end() == 3);
  list.counts[5] = {0, 0};
  list.starts[5] = {3, 0};
  Selection with_empty;
  REQUIRE(list.resolve(with_empty, record, header, false) == NC_NOERR);
  (void)with_empty.keep(list.recent);
  Selection strict;
  CHECK(list.resolve(strict, record, header, false, formats::StartRule::strict) == NC_EINVALCOORDS);
}

namespace {

/// Whether the call names a list that `known` keeps.
bool is_known(LongList& list, const formats::Header& header, api::KnownLists& known, bool is_put = false) {
  Selection selection;
  REQUIRE(list.resolve(selection, record, header, known, is_put) == NC_NOERR);
  return known.summary_of(selection.slabs(), true) != nullptr;
}

}  // namespace

TEST_CASE("a list that calls of several files name is kept from the second call on") {
  LongList list(40);
  const auto header = header_of();
  api::KnownLists known(1 << 20);
  Selection first;
  REQUIRE(list.resolve(first, record, header, known) == NC_NOERR);
  CHECK_FALSE(is_known(list, header, known));
  Selection third;
  REQUIRE(list.resolve(third, record, header, known) == NC_NOERR);
  CHECK(third.elements() == first.elements());
  CHECK(third.record_end() == first.record_end());
  REQUIRE(third.slabs().size() == 40);
  const auto kept = known.summary_of(third.slabs(), true);
  REQUIRE(kept != nullptr);
  const matcher::BoxesSummary made = matcher::summarize(first.slabs(), true);
  CHECK(kept->boxes == made.boxes);
  CHECK(kept->lowest_record == made.lowest_record);
  CHECK(kept->records_end == made.records_end);
  CHECK(known.summary_of(third.slabs(), false) == nullptr);
  CHECK(known.summary_of(third.slabs().first(39), true) == nullptr);
  CHECK(known.summary_of(first.slabs(), true) == nullptr);
}

TEST_CASE("a call that differs in one number does not take the list of an earlier file") {
  LongList list(40);
  const auto header = header_of();
  for (std::size_t i = 0; i < 40; ++i) {
    for (auto* const numbers : {&list.starts[i], &list.counts[i]}) {
      for (MPI_Offset& number : *numbers) {
        api::KnownLists known(1 << 20);
        for (int call = 0; call < 2; ++call) static_cast<void>(is_known(list, header, known));
        REQUIRE(is_known(list, header, known));
        const MPI_Offset old = std::exchange(number, 0);
        CHECK(is_known(list, header, known) == (old == 0));
        number = old;
      }
    }
  }
}

TEST_CASE("a list of an earlier file is checked again for another shape") {
  LongList list(40);
  auto header = header_of();
  api::KnownLists known(1 << 20);
  for (int call = 0; call < 3; ++call) static_cast<void>(is_known(list, header, known));
  REQUIRE(is_known(list, header, known));
  header.record_count = 2;
  Selection fewer_records;
  CHECK(list.resolve(fewer_records, record, header, known) == NC_EINVALCOORDS);
  header.record_count = 3;
  CHECK_FALSE(is_known(list, header, known, true));
  AccessCall call = list.call_of(record);
  list.start_pointers[20] = nullptr;
  Selection without_start;
  CHECK(without_start.resolve(call, header, false, formats::StartRule::relaxed, nullptr, &known) ==
        NC_ENULLSTART);
}

TEST_CASE("known lists take no more memory than their limit, and the least recently used goes") {
  LongList list(40);
  LongList other(41);
  const auto header = header_of();
  const std::size_t bytes = 41 * (sizeof(formats::HyperslabView) + 4 * sizeof(std::int64_t));
  api::KnownLists one(bytes);
  for (int call = 0; call < 3; ++call) static_cast<void>(is_known(list, header, one));
  REQUIRE(is_known(list, header, one));
  for (int call = 0; call < 3; ++call) static_cast<void>(is_known(other, header, one));
  CHECK(is_known(other, header, one));
  CHECK_FALSE(is_known(list, header, one));
  api::KnownLists none(bytes - 1);
  for (int call = 0; call < 4; ++call) CHECK_FALSE(is_known(other, header, none));
}

TEST_CASE("known lists are few, so that a search among them is short") {
  const auto header = header_of();
  api::KnownLists known(std::size_t{64} << 20);
  LongList first(40);
  for (int call = 0; call < 2; ++call) static_cast<void>(is_known(first, header, known));
  REQUIRE(is_known(first, header, known));
  for (int length = 41; length < 41 + 256; ++length) {
    LongList other(length);
    for (int call = 0; call < 2; ++call) static_cast<void>(is_known(other, header, known));
    CHECK(is_known(other, header, known));
  }
  CHECK_FALSE(is_known(first, header, known));
}
