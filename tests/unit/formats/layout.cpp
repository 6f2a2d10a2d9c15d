#include "sluice/formats/layout.hpp"

#include <doctest/doctest.h>

#include "sluice/formats/error.hpp"

using namespace sluice;
using namespace sluice::formats;

namespace {

/// Adds a one-dimensional variable with its own dimension, or with the record dimension "t".
void add(Header& header, Type type, std::int64_t length, bool is_record = false) {
  Variable variable;
  variable.type = type;
  variable.name = "v" + std::to_string(header.variable_count());
  if (is_record) {
    if (header.record_dimension() < 0) header.add_dimension({.name = "t", .length = 0, .is_record = true});
    variable.dimids.push_back(header.record_dimension());
  }
  const auto name = "d" + std::to_string(header.dimension_count());
  variable.dimids.push_back(header.add_dimension({.name = name, .length = length}));
  header.add_variable(variable);
}

std::vector<std::int64_t> begins(const Header& header) {
  std::vector<std::int64_t> all;
  for (const auto& variable : header.variables()) all.push_back(variable.begin);
  return all;
}

int layout_status(Header header) {
  try {
    compute_layout(header, {}, nullptr);
  } catch (const Error& error) {
    return error.status();
  }
  return NC_NOERR;
}

Header of(Version version) {
  Header header;
  header.version = version;
  return header;
}

using Offsets = std::vector<std::int64_t>;
constexpr std::int64_t two_to_the_31 = std::int64_t{1} << 31;

}  // namespace

TEST_CASE(
    "the data section starts at 512, fixed-size variables come first, then one record after the other") {
  Header header;
  add(header, Type::int32, 3);
  add(header, Type::int32, 3, true);
  add(header, Type::int8, 1);
  add(header, Type::int8, 3, true);
  const auto layout = compute_layout(header, {}, nullptr);
  CHECK(layout.header_extent == 512);
  CHECK(layout.record_begin == 528);
  CHECK(layout.record_size == 16);
  CHECK(begins(header) == Offsets{512, 528, 524, 540});
  CHECK(header.variable(3).vsize == 4);
}

TEST_CASE("the records of a single record variable are not padded") {
  Header header;
  add(header, Type::int8, 3, true);
  CHECK(compute_layout(header, {}, nullptr).record_size == 3);
  CHECK(header.variable(0).vsize == 4);
  add(header, Type::int8, 1, true);
  CHECK(compute_layout(header, {}, nullptr).record_size == 8);
}

TEST_CASE("alignments and room are as asked for") {
  Header header;
  add(header, Type::int32, 3);
  add(header, Type::int8, 1);
  add(header, Type::int32, 3, true);
  SUBCASE("the data section and the record section are aligned, and not each variable") {
    const auto layout =
        compute_layout(header, {.data_align_bytes = 2048, .record_align_bytes = 3000}, nullptr);
    CHECK(begins(header) == Offsets{2048, 2060, 3000});
    CHECK(layout.record_begin == 3000);
  }
  SUBCASE(
      "room behind the header counts before its alignment, room behind the data before that of the records") {
    const auto layout = compute_layout(
        header,
        {.data_align_bytes = 52, .header_free_bytes = 100, .fixed_free_bytes = 51, .record_align_bytes = 36},
        nullptr);
    const auto extent = (layout.header_size + 100 + 51) / 52 * 52;
    CHECK(layout.header_extent == extent);
    CHECK(layout.record_begin == (extent + 16 + 51 + 35) / 36 * 36);
  }
}

TEST_CASE("without fixed-size variables the records are the data, and aligned as records") {
  Header header;
  add(header, Type::int32, 3, true);
  SUBCASE("as asked for, behind the header's room") {
    const auto layout = compute_layout(header,
                                       {.data_align_bytes = 2000,
                                        .header_free_bytes = 600,
                                        .fixed_free_bytes = 500,
                                        .record_align_bytes = 300},
                                       nullptr);
    CHECK(begins(header) == Offsets{900});
    CHECK(layout.header_extent == 900);
  }
  SUBCASE("by default to 512, again and again") {
    auto layout = compute_layout(header, {.record_align_bytes = 520}, nullptr);
    CHECK(begins(header) == Offsets{520});
    layout = compute_layout(header, {}, &layout);
    CHECK(begins(header) == Offsets{1024});
    CHECK(layout.header_extent == 1024);
  }
}

TEST_CASE("alignments come from hints, else from the arguments, in multiples of 4") {
  const auto alignments = [](const AlignmentHints& hints, const EnddefArguments& arguments) {
    const auto options = options_in_force(hints, arguments);
    return Offsets{options.data_align_bytes, options.record_align_bytes};
  };
  CHECK(alignments({}, {}) == Offsets{0, 0});
  CHECK(alignments({}, {.data_align = 1028, .record_align = 9}) == Offsets{1028, 12});
  CHECK(alignments({.data = 197}, {.data_align = 8, .record_align = 8}) == Offsets{200, 8});
  CHECK(alignments({.record = 2}, {.data_align = 8, .record_align = 8}) == Offsets{8, 4});
  CHECK(options_in_force({}, {.header_free_bytes = 5, .fixed_free_bytes = 6}).fixed_free_bytes == 6);
}

TEST_CASE("default alignments are those of the variables that there are") {
  Header header;
  const auto alignments = [&](const LayoutOptions& asked) {
    const auto options = with_defaults(asked, header);
    return Offsets{options.data_align_bytes, options.record_align_bytes};
  };
  CHECK(alignments({.data_align_bytes = 8, .record_align_bytes = 8}) == Offsets{0, 0});
  add(header, Type::int32, 3, true);
  CHECK(alignments({}) == Offsets{512, 512});
  add(header, Type::int32, 3);
  CHECK(alignments({}) == Offsets{512, 4});
  CHECK(alignments({.data_align_bytes = 8, .record_align_bytes = 16}) == Offsets{8, 16});
}

TEST_CASE("a file without variables is its header") {
  Header header;
  const auto layout = compute_layout(header, {}, nullptr);
  CHECK(layout.header_size == 32);
  CHECK(layout.header_extent == 32);
  CHECK(layout.record_size == 0);
}

TEST_CASE("a redefinition moves data only when it must, and never down") {
  Header header;
  add(header, Type::int32, 3);
  add(header, Type::int8, 1, true);
  add(header, Type::int8, 5, true);
  const LayoutOptions options;
  auto layout = compute_layout(header, options, nullptr);
  CHECK(begins(header) == Offsets{512, 524, 528});

  header.attributes.put(
      {.name = "a", .type = Type::text, .count = 1000, .values = std::vector<std::byte>(1000)});
  layout = compute_layout(header, options, &layout);
  CHECK(begins(header) == Offsets{1536, 1548, 1552});

  // The old extent counts, rounded up.
  const LayoutOptions other{.data_align_bytes = 1028, .record_align_bytes = 24};
  Header moved = header;
  CHECK(compute_layout(moved, other, &layout).header_extent == 2056);
  CHECK(begins(moved) == Offsets{2056, 2088, 2092});

  header.attributes.remove(0);
  layout = compute_layout(header, options, &layout);
  CHECK(begins(header) == Offsets{1536, 1548, 1552});

  add(header, Type::int32, 3);
  layout = compute_layout(header, options, &layout);
  CHECK(begins(header) == Offsets{1536, 1560, 1564, 1548});

  add(header, Type::int32, 3, true);
  layout = compute_layout(header, options, &layout);
  CHECK(begins(header) == Offsets{1536, 1560, 1564, 1548, 1572});
  CHECK(layout.record_size == 24);
}

TEST_CASE("without variables no space is reserved, and a longer header keeps its extent") {
  Header header;
  header.attributes.put(
      {.name = "a", .type = Type::text, .count = 100, .values = std::vector<std::byte>(100)});
  auto layout = compute_layout(header, {.header_free_bytes = 100}, nullptr);
  const auto extent = layout.header_size;
  CHECK(layout.header_extent == extent);
  header.attributes.remove(0);
  layout = compute_layout(header, {}, &layout);
  CHECK(layout.header_extent == extent);
  CHECK(layout.header_size < extent);
}

TEST_CASE("room behind the fixed-size section takes new variables") {
  Header header;
  add(header, Type::int32, 3);
  add(header, Type::int8, 1, true);
  const LayoutOptions options{.record_align_bytes = 512};
  auto layout = compute_layout(header, options, nullptr);
  CHECK(layout.record_begin == 1024);
  add(header, Type::int32, 100);
  layout = compute_layout(header, options, &layout);
  CHECK(begins(header) == Offsets{512, 1024, 524});
}

TEST_CASE("a size beyond the version's limits is NC_EVARSIZE, and the header stays unchanged") {
  SUBCASE("CDF-1: no variable starts beyond 2^31 - 1") {
    auto header = of(Version::cdf1);
    for (int i = 0; i < 5; ++i) add(header, Type::int8, two_to_the_31 / 4);
    CHECK(layout_status(header) == NC_EVARSIZE);
    CHECK(begins(header) == Offsets(5, 0));
  }
  SUBCASE("CDF-1: the last one may end there") {
    auto header = of(Version::cdf1);
    for (int i = 0; i < 3; ++i) add(header, Type::int8, two_to_the_31 / 4 - 1);
    add(header, Type::float64, two_to_the_31 / 4);
    CHECK(layout_status(header) == NC_NOERR);
  }
  SUBCASE("CDF-2: one variable of more than 4 GiB, the last, without records") {
    auto header = of(Version::cdf2);
    add(header, Type::int16, 4);
    add(header, Type::int32, two_to_the_31 - 1);
    CHECK(layout_status(header) == NC_NOERR);
    auto with_record = header;
    add(with_record, Type::int16, 4, true);
    CHECK(layout_status(with_record) == NC_EVARSIZE);
    add(header, Type::int16, 4);
    CHECK(layout_status(header) == NC_EVARSIZE);
  }
  SUBCASE("CDF-2: 2^32 - 4 bytes are not more than 4 GiB") {
    auto header = of(Version::cdf2);
    for (int i = 0; i < 3; ++i) add(header, Type::int32, two_to_the_31 / 2 - 1);
    CHECK(layout_status(header) == NC_NOERR);
    compute_layout(header, {}, nullptr);
    CHECK(header.variable(2).begin == 512 + 2 * ((std::int64_t{1} << 32) - 4));
  }
  SUBCASE("CDF-2: a record of more than 4 GiB is well in the last record variable only") {
    auto header = of(Version::cdf2);
    add(header, Type::int16, 4, true);
    add(header, Type::int32, two_to_the_31 - 1, true);
    CHECK(layout_status(header) == NC_NOERR);
    add(header, Type::int16, 4, true);
    CHECK(layout_status(header) == NC_EVARSIZE);
  }
  SUBCASE("CDF-5: sums beyond 63 bits") {
    auto header = of(Version::cdf5);
    add(header, Type::int16, (std::int64_t{1} << 62) - 1000);
    CHECK(layout_status(header) == NC_NOERR);
    add(header, Type::int16, 2000);
    CHECK(layout_status(header) == NC_EVARSIZE);
    auto product = of(Version::cdf5);
    add(product, Type::int64, std::int64_t{1} << 61);
    CHECK(layout_status(product) == NC_EVARSIZE);
  }
}
