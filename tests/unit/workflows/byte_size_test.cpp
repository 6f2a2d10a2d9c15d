#include "sluice/workflows/byte_size.hpp"

#include <doctest/doctest.h>

using sluice::workflows::near_byte_size;
using sluice::workflows::parse_byte_size;

TEST_CASE("sizes are understood with and without units") {
  CHECK(parse_byte_size("0") == 0u);
  CHECK(parse_byte_size("4096") == 4096u);
  CHECK(parse_byte_size("2GiB") == 2147483648u);
  CHECK(parse_byte_size("512 MiB") == 536870912u);
  CHECK(parse_byte_size("1.5 kB") == 1500u);
  CHECK(parse_byte_size("1e9") == 1000000000u);
  CHECK(parse_byte_size("9223372036854775807") == 9223372036854775807u);
}

TEST_CASE("an invalid size is refused") {
  for (const char* text : {"", " ", "GiB", "-1", "-1 GiB", "2 gigs", "2g", "0x10", "nan", "inf", "1e300",
                           "9223372036854775808", "1,5GB", "2GiBB", "1 2"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_byte_size(text).has_value());
  }
}

TEST_CASE("a size of another form is near to one that is meant, or to none") {
  CHECK(near_byte_size("8G") == "8GiB");
  CHECK(near_byte_size(" 1.5 gib ") == "1.5GiB");
  CHECK(near_byte_size("2 terabytes") == "2TiB");
  CHECK(near_byte_size("512k") == "512KiB");
  CHECK(near_byte_size("50%").empty());
  CHECK(near_byte_size("lots").empty());
  CHECK(near_byte_size("8 grains").empty());
  CHECK(near_byte_size("").empty());
}
