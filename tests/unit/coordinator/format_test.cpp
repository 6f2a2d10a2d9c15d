#include "format.hpp"

#include <doctest/doctest.h>

using namespace sluice::coordinator;
using std::chrono::milliseconds;

TEST_CASE("bytes are shown with three digits and a binary unit") {
  CHECK(format_bytes(0) == "0 B");
  CHECK(format_bytes(1023) == "1023 B");
  CHECK(format_bytes(1536) == "1.50 KiB");
  CHECK(format_bytes(20u << 20) == "20.0 MiB");
  CHECK(format_bytes(std::uint64_t{300} << 30) == "300 GiB");
  CHECK(format_bytes(UINT64_MAX) == "16384 PiB");
}

TEST_CASE("bytes that are no text, or that command a terminal, are shown by their codes") {
  CHECK(printable("wave \u00fc\u20ac\n\tb") == "wave \u00fc\u20ac\n\tb");
  CHECK(printable("D1\xff.map\xc3") == "D1\\xff.map\\xc3");
  CHECK(printable(std::string_view("a\0\x1b[2J\x7f", 7)) == "a\\x00\\x1b[2J\\x7f");
}

TEST_CASE("durations are shown in the units that fit") {
  CHECK(format_duration(milliseconds(0)) == "0.0 s");
  CHECK(format_duration(milliseconds(12340)) == "12.3 s");
  CHECK(format_duration(milliseconds(125000)) == "2 min 05 s");
  CHECK(format_duration(milliseconds(3 * 3600 * 1000 + 7 * 60 * 1000)) == "3 h 07 min");
}

TEST_CASE("a table's columns are aligned, whatever characters they hold") {
  CHECK(format_table({{"a", "1"}, {"ää", "100"}, {"bcd"}}, {false, true}) == "a      1\nää   100\nbcd\n");
}

TEST_CASE("short times are in milliseconds, and texts of YAML in quotes") {
  CHECK(format_milliseconds(0) == "0 ms");
  CHECK(format_milliseconds(999) == "999 ms");
  CHECK(format_milliseconds(1000) == "1.0 s");
  CHECK(format_milliseconds(125000) == "2 min 05 s");
  CHECK(in_quotes("a \"b\" \\c") == R"("a \"b\" \\c")");
}
