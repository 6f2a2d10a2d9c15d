#include "file_puts.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "sluice/formats/cdf.hpp"
#include "sluice/formats/convert.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/matcher/log_range.hpp"
#include "sluice/matcher/request_table.hpp"

using namespace sluice;
using runtime::FilePuts;

namespace {

void add_variable(formats::Header& header, const char* name, formats::Type type, std::vector<int> dimids) {
  formats::Variable variable;
  variable.name = name;
  variable.type = type;
  variable.dimids = std::move(dimids);
  header.add_variable(std::move(variable));
}

/// x = 3; t = UNLIMITED (2 records); double v(x) = 10, 11, 12; short r(t, x) = 0, 1, 2, 3, 4, 5; byte e(t)
struct Example {
  explicit Example(formats::Version version) {
    formats::Header header;
    header.version = version;
    header.record_count = 2;
    const int x = header.add_dimension({"x", 3, false});
    const int t = header.add_dimension({"t", 0, true});
    add_variable(header, "v", formats::Type::float64, {x});
    add_variable(header, "r", formats::Type::int16, {t, x});
    add_variable(header, "e", formats::Type::int8, {t});
    const formats::Layout layout = formats::compute_layout(header, {}, nullptr);
    bytes = formats::encode_header(header);
    bytes.resize(static_cast<std::size_t>(layout.record_begin + 2 * layout.record_size));
    const std::vector<double> v{10, 11, 12};
    put(header.variable(0).begin, v.data(), 8, 3);
    for (std::int16_t record = 0; record < 2; ++record) {
      const std::vector<std::int16_t> r{static_cast<std::int16_t>(3 * record),
                                        static_cast<std::int16_t>(3 * record + 1),
                                        static_cast<std::int16_t>(3 * record + 2)};
      put(header.variable(1).begin + record * layout.record_size, r.data(), 2, 3);
      const std::int8_t e = static_cast<std::int8_t>(record + 7);
      put(header.variable(2).begin + record * layout.record_size, &e, 1, 1);
    }
  }
  void put(std::int64_t offset, const void* values, std::size_t size, std::int64_t elements) {
    formats::copy_ordered(bytes.data() + offset, values, size, elements, formats::ByteOrder::big);
  }
  std::vector<std::byte> bytes;
};

template <class T>
std::vector<T> elements_of(const FilePuts& puts, std::size_t put, const std::vector<std::byte>& data,
                           std::size_t count) {
  std::vector<T> values(count);
  std::memcpy(values.data(), data.data() + puts.puts.at(put).log_offset, count * sizeof(T));
  return values;
}

}  // namespace

TEST_CASE("a CDF file is one put for each variable, in native byte order") {
  for (const auto version : {formats::Version::cdf1, formats::Version::cdf2, formats::Version::cdf5}) {
    const Example example(version);
    std::string trouble;
    const auto puts = runtime::puts_of(example.bytes, "a.nc", trouble);
    REQUIRE_MESSAGE(puts.has_value(), trouble);
    REQUIRE(puts->puts.size() == 3);
    CHECK(puts->pattern.records_end == 2);
    std::vector<std::byte> data(puts->data_bytes);
    runtime::write_data(*puts, example.bytes, data);
    CHECK(elements_of<double>(*puts, 0, data, 3) == std::vector<double>{10, 11, 12});
    CHECK(elements_of<std::int16_t>(*puts, 1, data, 6) == std::vector<std::int16_t>{0, 1, 2, 3, 4, 5});
    CHECK(elements_of<std::int8_t>(*puts, 2, data, 2) == std::vector<std::int8_t>{7, 8});
  }
}

TEST_CASE("the request table has the puts and the place of their data") {
  const Example example(formats::Version::cdf2);
  std::string trouble;
  const auto puts = runtime::puts_of(example.bytes, "a.nc", trouble);
  REQUIRE(puts);
  std::vector<std::byte> table(puts->table_bytes);
  const auto end = runtime::write_table(*puts, 42, table);
  CHECK(end.chunks == 1);
  CHECK(end.bytes == table.size() - sizeof(std::uint64_t));
  matcher::TableReader reader(table, 0);
  matcher::TableEntry entry;
  REQUIRE(reader.next(entry));
  CHECK(entry.kind == matcher::EntryKind::segment);
  CHECK(entry.segment_id == 42);
  for (int varid = 0; varid < 3; ++varid) {
    REQUIRE(reader.next(entry));
    CHECK(entry.varid == varid);
    CHECK(entry.log_offset == puts->puts[static_cast<std::size_t>(varid)].log_offset);
  }
  CHECK_FALSE(reader.next(entry));
  std::vector<std::byte> small(32);
  CHECK_THROWS_AS((void)runtime::write_table(*puts, 42, small), Error);
}

TEST_CASE("what a file is too short for reads as zeros") {
  Example example(formats::Version::cdf1);
  example.bytes.resize(example.bytes.size() - 9);  // within the last record of r
  std::string trouble;
  const auto puts = runtime::puts_of(example.bytes, "a.nc", trouble);
  REQUIRE(puts);
  std::vector<std::byte> data(puts->data_bytes, std::byte{0xff});
  runtime::write_data(*puts, example.bytes, data);
  CHECK(elements_of<std::int8_t>(*puts, 2, data, 2) == std::vector<std::int8_t>{7, 0});
}

TEST_CASE("other files are no puts") {
  std::string trouble;
  for (const std::string& text : {std::string(), std::string("text"), std::string("\x89HDF\r\n\x1a\n")}) {
    const std::span bytes(reinterpret_cast<const std::byte*>(text.data()), text.size());
    CHECK_FALSE(runtime::puts_of(bytes, "a.nc", trouble).has_value());
    CHECK_FALSE(trouble.empty());
  }
}

namespace {

constexpr std::int64_t long_x = 300001;

/// x = long_x; t = UNLIMITED (3 records); int v(x) = 0, 1, 2 and so on; int r(t, x), and short s(t) if it is
/// wanted
std::vector<std::byte> large_example(bool has_two_of_records) {
  formats::Header header;
  header.version = formats::Version::cdf5;
  header.record_count = 3;
  const int x = header.add_dimension({"x", long_x, false});
  const int t = header.add_dimension({"t", 0, true});
  add_variable(header, "v", formats::Type::int32, {x});
  add_variable(header, "r", formats::Type::int32, {t, x});
  if (has_two_of_records) add_variable(header, "s", formats::Type::int16, {t});
  const formats::Layout layout = formats::compute_layout(header, {}, nullptr);
  std::vector<std::byte> bytes = formats::encode_header(header);
  bytes.resize(static_cast<std::size_t>(layout.record_begin + 3 * layout.record_size));
  std::vector<std::int32_t> v(long_x);
  std::iota(v.begin(), v.end(), 0);
  formats::copy_ordered(bytes.data() + header.variable(0).begin, v.data(), 4, long_x,
                        formats::ByteOrder::big);
  return bytes;
}

}  // namespace

TEST_CASE("the log of a large file is the file itself") {
  for (const bool has_two : {false, true}) {
    CAPTURE(has_two);
    const std::vector<std::byte> file = large_example(has_two);
    std::string trouble;
    const auto puts = runtime::puts_of(file, "a.nc", trouble);
    REQUIRE_MESSAGE(puts.has_value(), trouble);
    CHECK(puts->is_log);
    CHECK(puts->data_bytes == file.size());
    // Records of two variables are not side by side.
    REQUIRE(puts->puts.size() == (has_two ? 1U + 3 + 3 : 2U));
    CHECK(puts->pattern.records_end == 3);
    const FilePuts::Put& last = puts->puts.back();
    CHECK(last.start.front() == (has_two ? 2 : 0));
    CHECK(last.count.front() == (has_two ? 1 : 3));
    const auto& v = puts->puts.front();
    CHECK(v.log_offset ==
          matcher::first_offset_of_file + static_cast<std::uint64_t>(puts->header.variable(0).begin));
    std::vector<std::byte> table(puts->table_bytes);
    const auto end = runtime::write_table(*puts, 42, table);
    CHECK(end.bytes == table.size() - sizeof(std::uint64_t));
    const FilePuts ordinary = runtime::with_ordinary_log(*puts);
    CHECK_FALSE(ordinary.is_log);
    CHECK(ordinary.table_bytes <= puts->table_bytes);
    std::vector<std::byte> data(ordinary.data_bytes);
    runtime::write_data(ordinary, file, data);
    CHECK(elements_of<std::int32_t>(ordinary, 0, data, long_x).back() == long_x - 1);
  }
}

TEST_CASE("a large file that is too short for its header, or has very many records, has an ordinary log") {
  std::vector<std::byte> file = large_example(true);
  file.resize(file.size() - 8);
  std::string trouble;
  const auto puts = runtime::puts_of(file, "a.nc", trouble);
  REQUIRE(puts);
  CHECK_FALSE(puts->is_log);

  formats::Header header;
  header.version = formats::Version::cdf5;
  header.record_count = 10000;
  const int t = header.add_dimension({"t", 0, true});
  const int x = header.add_dimension({"x", 100, false});
  add_variable(header, "r", formats::Type::int32, {t, x});
  add_variable(header, "s", formats::Type::float64, {t, x});
  const formats::Layout layout = formats::compute_layout(header, {}, nullptr);
  file = formats::encode_header(header);
  file.resize(static_cast<std::size_t>(layout.record_begin + header.record_count * layout.record_size));
  const auto many = runtime::puts_of(file, "b.nc", trouble);
  REQUIRE(many);
  CHECK_FALSE(many->is_log);
  CHECK(many->puts.size() == 2);
}
