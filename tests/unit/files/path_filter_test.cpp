#include "sluice/files/path_filter.hpp"

#include <doctest/doctest.h>

#include <string>

using sluice::files::PathFilter;

namespace {

PathFilter filter_of(const std::string& rules) {
  PathFilter filter;
  filter.read(rules.c_str(), PathFilter::Use::reading);
  return filter;
}

}  // namespace

TEST_CASE("without rules no path may be covered") {
  PathFilter filter;
  filter.read(nullptr, PathFilter::Use::reading);
  CHECK_FALSE(filter.may_cover("a.nc"));
  CHECK_FALSE(filter_of("").may_cover("a.nc"));
}

TEST_CASE("a path passes when it ends as a pattern does behind its last wildcard") {
  const PathFilter filter = filter_of("0\tr\tmemory\twave_*.nc\n3\trdn\tburst-buffer\tout/a b.dat\n");
  CHECK(filter.may_cover("wave_1.nc"));
  CHECK(filter.may_cover("/some/where/wave_1.nc"));
  CHECK(filter.may_cover("other.nc"));  // the rule itself does not cover it
  CHECK(filter.may_cover("out/a b.dat"));
  CHECK_FALSE(filter.may_cover("wave_1.ncx"));
  CHECK_FALSE(filter.may_cover("/usr/lib/libc.so.6"));
  CHECK_FALSE(filter.may_cover(""));
  CHECK_FALSE(filter.may_cover(nullptr));
}

TEST_CASE("rules of writers, and those whose data is in several files, do not count") {
  const PathFilter filter =
      filter_of("0\tw\tmemory\ta.nc\n1\trw\tmemory\tb.nc\n2\tr\tblobs\tc.nc\n4\tr\tsubfiles\td.nc\n");
  for (const char* path : {"a.nc", "b.nc", "c.nc", "d.nc"}) CHECK_FALSE(filter.may_cover(path));
  CHECK(filter_of("0\tr\tfile\tc.nc\n").may_cover("c.nc"));
}

TEST_CASE("in a run through files, rules count as those through memory") {
  CHECK(filter_of("0\tr\tordered-file\tc.nc\n").may_cover("c.nc"));
}

TEST_CASE("a pattern that ends with a wildcard lets all pass") {
  CHECK(filter_of("0\tr\tmemory\tout*\n").may_cover("anything"));
  CHECK(filter_of("0\tr\tmemory\tout[0-9]\n").may_cover("anything"));
}

TEST_CASE("rules that do not fit into the filter let every path pass") {
  std::string rules;
  for (int i = 0; i < 100; ++i) rules += "0\tr\tmemory\tname" + std::to_string(i) + ".nc\n";
  CHECK(filter_of(rules).may_cover("anything"));
  CHECK(filter_of("0\tr\tmemory\t" + std::string(5000, 'a') + "\n").may_cover("anything"));
}

TEST_CASE("what a component writes is a filter of its own") {
  const char* const rules = "0\tr\tmemory\twave_*.nc\n1\twd\tmemory\tout.dat\n2\trw\tmemory\tboth.txt\n";
  PathFilter written;
  CHECK(written.is_empty());
  written.read(rules, PathFilter::Use::writing);
  CHECK_FALSE(written.is_empty());
  CHECK(written.may_cover("out.dat"));
  CHECK(written.may_cover("both.txt"));
  CHECK_FALSE(written.may_cover("wave_1.nc"));
  CHECK_FALSE(filter_of(rules).may_cover("out.dat"));
}
