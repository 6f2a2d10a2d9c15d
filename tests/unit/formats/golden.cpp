#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "sluice/formats/cdf.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/formats/layout.hpp"

using namespace sluice;
using namespace sluice::formats;

namespace {

const std::filesystem::path folder = GOLDEN_FOLDER;

std::vector<std::byte> contents(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto* first = reinterpret_cast<const std::byte*>(text.data());
  return {first, first + text.size()};
}

/// The status for a header of which only the first `n` bytes are known; "more" when the decoder needs more.
std::string outcome(const std::vector<std::byte>& bytes, std::size_t n) {
  try {
    const auto decoded = decode_header(std::span(bytes).first(n), n == bytes.size(),
                                       static_cast<std::int64_t>(bytes.size()), "golden");
    return decoded ? "OK" : "more";
  } catch (const FormatError& error) {
    CHECK(error.offset_bytes() <= bytes.size());
    return status_name(error.status());
  }
}

Header decode(const std::string& name) {
  return decode_header(contents(folder / name), true, -1, name)->header;
}

}  // namespace

TEST_CASE("damaged files are refused with their statuses") {
  std::ifstream list(folder / "expected.txt");
  std::set<std::string> listed;
  std::string line;
  while (std::getline(list, line)) {
    std::istringstream words(line);
    std::string name, expected;
    words >> name >> expected;
    listed.insert(name);
    CAPTURE(name);
    CHECK(outcome(contents(folder / name), contents(folder / name).size()) == expected);
  }
  CHECK(listed.size() > 50);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto name = entry.path().filename().string();
    if (name.starts_with("bad_")) CHECK(listed.contains(name));
  }
}

TEST_CASE("a damaged file is refused the same way when it is read piece by piece") {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto name = entry.path().filename().string();
    if (entry.path().extension() != ".nc") continue;
    CAPTURE(name);
    const auto bytes = contents(entry.path());
    const auto whole = outcome(bytes, bytes.size());
    std::size_t n = 0;
    while (n < bytes.size() && outcome(bytes, n) == "more") ++n;
    CHECK(outcome(bytes, n) == whole);
  }
}

TEST_CASE("files of Debian's ncgen are read, and encoded to the same bytes") {
  for (const char* name : {"ok_cdf1.nc", "ok_cdf2.nc", "ok_cdf5.nc"}) {
    CAPTURE(name);
    const auto bytes = contents(folder / name);
    const auto decoded = decode_header(bytes, true, -1, name);
    REQUIRE(decoded.has_value());
    const auto again = encode_header(decoded->header);
    REQUIRE(static_cast<std::int64_t>(again.size()) == decoded->size_bytes);
    CHECK(std::memcmp(again.data(), bytes.data(), again.size()) == 0);
    const auto layout = layout_of(decoded->header, decoded->size_bytes);
    CHECK(layout.record_begin + 2 * layout.record_size == static_cast<std::int64_t>(bytes.size()));
  }
}

TEST_CASE("metadata is as in the CDL") {
  const auto header = decode("ok_cdf5.nc");
  CHECK(header.version == Version::cdf5);
  CHECK(header.record_count == 2);
  CHECK(header.find_dimension("größe") == 3);
  const auto& height = header.variable(header.find_variable("height"));
  CHECK(height.type == Type::float32);
  CHECK(height.dimids == std::vector<int>{0, 1, 2});
  const auto& range = height.attributes[height.attributes.find("valid_range")];
  float limits[2];
  std::memcpy(limits, range.values.data(), sizeof limits);
  CHECK(limits[0] == -30.F);
  CHECK(limits[1] == 30.F);
  float fill = 0;
  header.fill_value(header.find_variable("height"), &fill);
  CHECK(fill == -999.F);
  CHECK(header.attributes[header.attributes.find("empty")].count == 1);  // ncgen writes one zero byte
  CHECK(header.variable(header.find_variable("big")).type == Type::uint64);
}

TEST_CASE("the records of a file that was being streamed are counted from its size") {
  CHECK(decode("ok_streaming.nc").record_count == 2);
}

TEST_CASE("a file without data is a file") {
  CHECK(decode("ok_no_data.nc").record_count == 2);
}

TEST_CASE("names that cannot be defined are read as they are") {
  CHECK(decode("ok_name_not_utf8.nc").variable(0).name == "\xff\xfe");
  CHECK(decode("ok_name_ends_inside_character.nc").variable(0).name == "a\xc3");
  CHECK(decode("ok_slash_in_name.nc").variable(0).name == "a/b");
  CHECK(decode("ok_zero_byte_in_name.nc").variable(0).name == "a");
  CHECK(decode("ok_control_character_in_name.nc").attributes[0].name == "a\nb");
  CHECK(decode("ok_empty_name.nc").dimension(1).name.empty());
}
