// Files of a divided dataset that are shorter than their data.
#include "sluice/formats/file_end.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "sluice/formats/error.hpp"

namespace sluice::formats {
namespace {

/// a(x), b(x), r(t, x), s(t, x): x = 4, in int32; two records.
FileDescription example() {
  FileDescription file;
  file.header.version = Version::cdf5;
  file.header.record_count = 2;
  const int time = file.header.add_dimension({"t", 0, true});
  const int x = file.header.add_dimension({"x", 4, false});
  for (const char* name : {"a", "b"}) file.header.add_variable({name, Type::int32, {x}, {}});
  for (const char* name : {"r", "s"}) file.header.add_variable({name, Type::int32, {time, x}, {}});
  file.layout = compute_layout(file.header, {}, nullptr);
  return file;
}

constexpr std::int64_t bytes = 16;  // the size of a variable, or of one of its records
constexpr std::int64_t pieces = 6;
const std::vector<Share> all(4, Share::in_all);

FileEnd cut_to(std::int64_t file_bytes) {
  return find_end(example(), 2, all, file_bytes);
}

bool is_refused(const std::vector<FileEnd>& ends) {
  const std::vector<std::string> paths{"0", "1", "2"};
  try {
    check_ends(ends, std::span(paths).first(ends.size()));
    return false;
  } catch (const FormatError& error) {
    CHECK(error.status() == NC_ETRUNC);
    return true;
  }
}

}  // namespace

TEST_CASE("wherever a file ends, its first missing piece is reported, and whether it ends within one") {
  const auto file = example();
  const std::int64_t begin = file.header.variable(0).begin;
  CHECK(end_of_data(file, 2, all) == begin + pieces * bytes);
  for (std::int64_t at = 0; at <= pieces * bytes; ++at) {
    CAPTURE(at);
    const auto end = cut_to(begin + at);
    const bool is_whole = at == pieces * bytes;
    CHECK(end.is_complete() == is_whole);
    CHECK(end.first_missing == (is_whole ? FileEnd::nothing : at / bytes));
    CHECK(end.is_within == (at % bytes != 0));
    CHECK(is_refused({end}) == end.is_within);
  }
  CHECK_FALSE(is_refused({cut_to(begin + pieces * bytes + 100)}));
}

TEST_CASE("data that all files lack was never put; data that one file lacks was cut off") {
  const std::int64_t begin = example().header.variable(0).begin;
  const auto whole = cut_to(begin + pieces * bytes);
  const FileEnd master;
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    const auto cut = cut_to(begin + piece * bytes);
    CHECK_FALSE(is_refused({master, cut, cut}));
    CHECK(is_refused({master, whole, cut}));
    CHECK(is_refused({master, cut, cut_to(begin + piece * bytes + 1)}));
  }
}

TEST_CASE("definitions without data need no bytes, and data of one file says nothing about others") {
  const auto file = example();
  const std::int64_t begin = file.header.variable(0).begin;
  const std::vector<Share> shares{Share::in_all, Share::in_nobody, Share::in_nobody, Share::in_nobody};
  CHECK(end_of_data(file, 2, shares) == begin + bytes);
  const std::vector<Share> alone{Share::in_all, Share::in_this, Share::in_all, Share::in_nobody};
  const auto end = find_end(file, 1, alone, begin + bytes);
  CHECK(end.data_bytes == begin + 3 * bytes);
  CHECK(end.first_missing == 1);
  CHECK_FALSE(end.is_within);
}

TEST_CASE("records that a damaged header makes up are missing, or beyond 63 bits") {
  const auto end = find_end(example(), std::int64_t{1} << 50, all, 1000);
  CHECK_FALSE(end.is_complete());
  CHECK_THROWS_AS((void)find_end(example(), std::int64_t{1} << 62, all, 1000), Error);
}

}  // namespace sluice::formats
