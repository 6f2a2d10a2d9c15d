#include "sluice/formats/status.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <string>

#include "sluice/formats/error.hpp"
#include "sluice/formats/types.hpp"

using namespace sluice;
using namespace sluice::formats;

TEST_CASE("statuses have names and texts") {
  CHECK(std::string(status_name(NC_ENOTNC)) == "NC_ENOTNC");
  CHECK(std::string(status_text(0)) == "No error");
  CHECK(status_name(1) == nullptr);
  CHECK(status_text(-1) == nullptr);
}

TEST_CASE("errors have a text, a place and a status") {
  const FormatError format(NC_EBADDIM, "a.nc", 17, "bad");
  CHECK(std::string(format.what()) == "a.nc: at byte 17: bad");
  CHECK(format.status() == NC_EBADDIM);
  CHECK(format.offset_bytes() == 17);
  const IoError io(NC_ENOENT, 2, "b.nc", "open");
  CHECK(std::string(io.what()) == "cannot open b.nc: No such file or directory");
  CHECK(io.error_number() == 2);
}

TEST_CASE("types have the sizes, names and default fill values of netCDF") {
  CHECK(size_of(Type::text) == 1);
  CHECK(size_of(Type::uint64) == 8);
  CHECK(size_of(Type::nat) == 0);
  CHECK(size_of(static_cast<Type>(12)) == 0);
  CHECK(size_of(static_cast<Type>(-1)) == 0);
  CHECK(std::string(type_name(Type::text)) == "char");
  CHECK(std::string(type_name(Type::uint16)) == "ushort");
  const auto fill = [](Type type, auto value) {
    default_fill(type, &value);
    return value;
  };
  CHECK(fill(Type::int8, std::int8_t{}) == -127);
  CHECK(fill(Type::text, 'x') == '\0');
  CHECK(fill(Type::int16, std::int16_t{}) == -32767);
  CHECK(fill(Type::int32, std::int32_t{}) == -2147483647);
  CHECK(fill(Type::float32, 0.F) == 9.9692099683868690e+36F);
  CHECK(fill(Type::float64, 0.) == 9.9692099683868690e+36);
  CHECK(fill(Type::uint8, std::uint8_t{}) == 255);
  CHECK(fill(Type::uint16, std::uint16_t{}) == 65535);
  CHECK(fill(Type::uint32, std::uint32_t{}) == 4294967295U);
  CHECK(fill(Type::int64, std::int64_t{}) == -9223372036854775806);
  CHECK(fill(Type::uint64, std::uint64_t{}) == 18446744073709551614U);
}
