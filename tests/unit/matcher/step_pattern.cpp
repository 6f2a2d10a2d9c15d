#include "sluice/matcher/step_pattern.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "sluice/matcher/step.hpp"

using namespace sluice;
using formats::Hyperslab;
using matcher::Fingerprint;
using matcher::LogPattern;
using matcher::LogPatternBuilder;

namespace {

struct Put {
  int varid = 0;
  bool has_records = false;
  bool is_fill = false;
  std::uint64_t log_offset = 0;
  Hyperslab box;
};

LogPattern pattern_of(std::int64_t base_record, const std::vector<Put>& puts) {
  LogPatternBuilder builder(base_record);
  for (const Put& put : puts) {
    const formats::HyperslabView box = put.box.view();
    builder.add({put.varid, put.has_records, put.is_fill, put.log_offset, {}},
                matcher::summarize(std::span(&box, 1), put.has_records));
  }
  return builder.pattern();
}

}  // namespace

TEST_CASE("every byte changes the fingerprint, and so does the number of bytes") {
  std::set<Fingerprint> seen;
  const auto is_new = [&](const std::vector<std::byte>& bytes) {
    matcher::FingerprintBuilder builder;
    builder.add_bytes(bytes);
    return seen.insert(builder.value()).second;
  };
  for (std::size_t size = 0; size < 40; ++size) {
    std::vector<std::byte> bytes(size);
    CHECK(is_new(bytes));
    for (std::size_t i = 0; i < size; ++i) {
      bytes[i] = std::byte{1};
      CHECK(is_new(bytes));
      bytes[i] = std::byte{0};
    }
  }
}

TEST_CASE("every number of a request changes the fingerprint, and so does their order") {
  const Put put{1, false, false, 64, {{2, 3}, {4, 5}, {}}};
  std::vector<std::vector<Put>> lists{{}, {put}, {put, put}};
  const auto with = [&](auto change) {
    Put changed = put;
    change(changed);
    lists.push_back({changed});
    lists.push_back({put, changed});
    lists.push_back({changed, put});
  };
  with([](Put& p) { p.varid = 2; });
  with([](Put& p) { p.has_records = true; });
  with([](Put& p) { p.is_fill = true; });
  with([](Put& p) { p.log_offset = 72; });
  with([](Put& p) { p.box.start[0] = 3; });
  with([](Put& p) { p.box.start[1] = 2; });
  with([](Put& p) { p.box.count[1] = 4; });
  with([](Put& p) { p.box.stride = {1, 1}; });
  with([](Put& p) { p.box.stride = {1, 2}; });
  with([](Put& p) { p.box = {{2}, {4}, {}}; });
  std::set<Fingerprint> seen;
  for (const auto& list : lists) CHECK(seen.insert(pattern_of(0, list).requests).second);
}

TEST_CASE("records count from the base") {
  const auto record = [](std::int64_t first, std::int64_t count) {
    return Put{0, true, false, 0, {{first, 0}, {count, 6}, {}}};
  };
  const LogPattern third = pattern_of(3, {record(3, 2)});
  const LogPattern eighth = pattern_of(8, {record(8, 2)});
  CHECK(third.requests == eighth.requests);
  CHECK(third.records_end == 5);
  CHECK(eighth.records_end == 10);
  CHECK_FALSE(eighth.reaches_below_base);
  CHECK(pattern_of(8, {record(7, 1), record(8, 2)}).reaches_below_base);
  CHECK_FALSE(pattern_of(8, {record(7, 0)}).reaches_below_base);
  CHECK(pattern_of(8, {record(9, 2)}).requests != eighth.requests);
  const Put strided{0, true, false, 0, {{1}, {3}, {4}}};
  CHECK(pattern_of(0, {strided}).records_end == 10);
}

TEST_CASE("the structure is types and shapes, not names, attributes or the number of records") {
  const auto header_with = [](formats::Type type, std::int64_t length, std::int64_t records) {
    formats::Header header;
    header.record_count = records;
    header.add_dimension({"t", 0, true});
    header.add_dimension({"x", length, false});
    header.add_variable({"v", type, {0, 1}, {}});
    return header;
  };
  const Fingerprint structure = matcher::structure_of(header_with(formats::Type::float32, 7, 1));
  CHECK(structure == matcher::structure_of(header_with(formats::Type::float32, 7, 2)));
  CHECK(structure != matcher::structure_of(header_with(formats::Type::float64, 7, 1)));
  CHECK(structure != matcher::structure_of(header_with(formats::Type::float32, 8, 1)));
  formats::Header renamed = header_with(formats::Type::float32, 7, 1);
  renamed.variable(0).attributes.put({"units", formats::Type::text, 0, {}});
  CHECK(structure == matcher::structure_of(renamed));
  formats::Header fixed;
  fixed.add_dimension({"x", 7, false});
  fixed.add_variable({"v", formats::Type::float32, {0}, {}});
  CHECK(structure != matcher::structure_of(fixed));
}

TEST_CASE("lists that differ in any number, in order or length, have different summaries") {
  const auto summary_of = [](const std::vector<Hyperslab>& boxes, bool has_records) {
    std::vector<formats::HyperslabView> views;
    for (const Hyperslab& box : boxes) views.push_back(box.view());
    return matcher::summarize(views, has_records);
  };
  const Hyperslab a{{4, 1}, {1, 2}, {}};
  const Hyperslab b{{6, 1}, {2, 2}, {}};
  std::set<Fingerprint> seen;
  for (const auto& list : std::vector<std::vector<Hyperslab>>{
           {}, {a}, {b}, {a, b}, {b, a}, {a, a}, {a, a, b}, {{{4, 1, 1, 2}, {6, 1, 2, 2}, {}}}}) {
    CHECK(seen.insert(summary_of(list, false).boxes).second);
  }
  const auto records = summary_of({a, b}, true);
  CHECK(records.lowest_record == 4);
  CHECK(records.records_end == 8);
  CHECK(records.boxes == summary_of({{{14, 1}, {1, 2}, {}}, {{16, 1}, {2, 2}, {}}}, true).boxes);
  CHECK(records.boxes != summary_of({{{14, 1}, {1, 2}, {}}, {{17, 1}, {2, 2}, {}}}, true).boxes);
}

TEST_CASE("long lists that differ in any number, in the order of any two boxes or in length, differ, too") {
  const auto fingerprint_of = [](const std::vector<Hyperslab>& boxes) {
    std::vector<formats::HyperslabView> views;
    for (const Hyperslab& box : boxes) views.push_back(box.view());
    return matcher::summarize(views, true).boxes;
  };
  std::vector<Hyperslab> boxes;
  for (std::int64_t i = 0; i < 23; ++i) boxes.push_back({{i % 3, 100 + i}, {1, 1 + i}, {}});
  std::set<Fingerprint> seen{fingerprint_of(boxes)};
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    std::vector<Hyperslab> changed = boxes;
    changed[i].start[1] = 99;
    CHECK(seen.insert(fingerprint_of(changed)).second);
    changed = boxes;
    changed[i].count[0] = 2;
    CHECK(seen.insert(fingerprint_of(changed)).second);
    changed = boxes;
    changed[i].stride = {1, 2};
    CHECK(seen.insert(fingerprint_of(changed)).second);
    changed = boxes;
    changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(i));
    CHECK(seen.insert(fingerprint_of(changed)).second);
    changed = boxes;
    changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(i), boxes[i]);
    CHECK(seen.insert(fingerprint_of(changed)).second);
    for (std::size_t k = 0; k < i; ++k) {
      changed = boxes;
      std::swap(changed[i], changed[k]);
      CHECK(seen.insert(fingerprint_of(changed)).second);
    }
  }
  std::vector<Hyperslab> later = boxes;
  for (Hyperslab& box : later) box.start[0] += 5;
  CHECK(seen.contains(fingerprint_of(later)));  // records are counted from the first
}

TEST_CASE("the same logs are another pattern where other ones of them are the step's own") {
  const std::vector<Put> first{{0, false, false, 0, {{0}, {4}, {}}}};
  const std::vector<Put> second{{0, false, false, 0, {{4}, {4}, {}}}};
  std::set<Fingerprint> seen;
  for (const std::size_t first_own_log :
       {0U, 1U}) {  // both variables are put at once, or the second one after reopening the file
    matcher::Step step;
    step.first_own_log = first_own_log;
    for (const auto& puts : {first, second}) {
      step.logs.push_back(std::make_shared<matcher::WriteLog>());
      step.logs.back()->contents.change().pattern = pattern_of(0, puts);
    }
    matcher::set_pattern(step);
    CHECK(seen.insert(step.pattern.whole).second);
  }
}
