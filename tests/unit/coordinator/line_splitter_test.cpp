#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "output_forwarder.hpp"
#include "support/seed.hpp"

using sluice::coordinator::LineSplitter;
using Lines = std::vector<std::string>;

namespace {
struct Collector {
  Lines lines;
  LineSplitter splitter{[this](std::string_view line) { lines.emplace_back(line); }};
};
}  // namespace

TEST_CASE("lines end at line feeds, returns, and both together") {
  Collector collector;
  collector.splitter.add("a\nb\r\nc\rd\n\n\re");
  CHECK(collector.lines == Lines{"a", "b", "c", "d", "", ""});
  collector.splitter.finish();
  CHECK(collector.lines.back() == "e");
}

TEST_CASE("a line end that is cut in two is one line end") {
  Collector collector;
  collector.splitter.add("a\r");
  collector.splitter.add("\nb\n");
  CHECK(collector.lines == Lines{"a", "b"});
}

TEST_CASE("a line that is too long is handed on in parts") {
  Collector collector;
  const std::size_t limit = LineSplitter::longest_line_bytes;
  collector.splitter.add(std::string(2 * limit + 5, 'x') + "\n" + std::string(limit, 'y') + "\n");
  REQUIRE(collector.lines.size() == 4);
  CHECK(collector.lines[0].size() == limit);
  CHECK(collector.lines[1].size() == limit);
  CHECK(collector.lines[2].size() == 5);
  CHECK(collector.lines[3] == std::string(limit, 'y'));
}

TEST_CASE("lines do not depend on how the stream is cut") {
  std::mt19937 random(sluice::test::test_seed());
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "ab\n\r"[random() % 4];
  Collector whole;
  whole.splitter.add(text);
  whole.splitter.finish();
  Collector parts;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t count = random() % 7;
    parts.splitter.add(std::string_view(text).substr(at, count));
    at += count;
  }
  parts.splitter.finish();
  CHECK(whole.lines == parts.lines);
}
