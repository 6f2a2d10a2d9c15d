#include "sluice/runtime/name_counts.hpp"

#include <doctest/doctest.h>

#include <string>

using sluice::runtime::NameCounts;

namespace {

TEST_CASE("a process finds the same count until the path leads to another file") {
  NameCounts of_matcher;
  const NameCounts of_process(*of_matcher.page());
  const auto before = of_process.of("/data/a.nc");
  CHECK(before != 0);
  CHECK(before == of_matcher.of("/data/a.nc"));
  CHECK(before == of_process.of("/data/a.nc"));
  of_matcher.change("/data/a.nc");
  CHECK(of_process.of("/data/a.nc") != before);
}

TEST_CASE("a change of one path leaves most others as they are") {
  NameCounts of_matcher;
  const NameCounts of_process(*of_matcher.page());
  const auto path = [](int i) { return "/data/file_" + std::to_string(i) + ".nc"; };
  of_matcher.change("/data/a.nc");
  int changed = 0;
  for (int i = 0; i < 1000; ++i) changed += of_process.of(path(i)) != 1 ? 1 : 0;
  CHECK(changed < 20);
}

TEST_CASE("a directory has files from the first change of one of them on") {
  NameCounts of_matcher;
  const NameCounts of_process(*of_matcher.page());
  CHECK_FALSE(of_process.may_have_files("/data"));
  of_matcher.change_all();
  CHECK_FALSE(of_process.may_have_files("/data"));
  of_matcher.change("/data/a.nc");
  CHECK(of_process.may_have_files("/data"));
  CHECK(of_process.may_have_files("/data/"));
  CHECK_FALSE(of_process.may_have_files("/"));
  of_matcher.change("/a.nc");
  CHECK(of_process.may_have_files("/"));
  of_matcher.stop();
  CHECK(of_process.may_have_files("/other"));
}

TEST_CASE("all paths change at once, and after the end nothing is known") {
  NameCounts of_matcher;
  const NameCounts of_process(*of_matcher.page());
  const auto a = of_process.of("/data/a.nc"), b = of_process.of("/data/b.nc");
  of_matcher.change_all();
  CHECK(of_process.of("/data/a.nc") != a);
  CHECK(of_process.of("/data/b.nc") != b);
  of_matcher.stop();
  for (int i = 0; i < 2; ++i) {
    CHECK(of_process.of("/data/a.nc") == 0);
    CHECK(of_matcher.of("/data/b.nc") == 0);
    of_matcher.change_all();  // it stays so
    of_matcher.change("/data/a.nc");
  }
  CHECK(of_matcher.page() == nullptr);
}

}  // namespace
