#include <doctest/doctest.h>

#include <random>

#include "sluice/workflows/workflow.hpp"
#include "support/seed.hpp"

using namespace sluice::workflows;

namespace {

/// Parses the text. The only accepted outcomes are success and a WorkflowError with a sane list.
void check_survives(const std::string& text) {
  try {
    (void)parse_workflow(text, "flow.yaml");
  } catch (const WorkflowError& error) {
    CHECK_FALSE(error.mistakes().empty());
    for (const Mistake& mistake : error.mistakes()) {
      CHECK(mistake.position.line >= 1);
      CHECK(mistake.position.column >= 1);
      CHECK_FALSE(mistake.text.empty());
    }
  }
}

std::string repeated(const std::string& text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

const std::string sample =
    "version: 1\nname: waves\nstaging: {memory: 1GiB}\ncomponents:\n  model:\n    command: [a, \"b\"]\n    "
    "ranks: 4\n    environment: &e {A: 'x'}\n"
    "  picture: {command: c, environment: *e}\nfiles:\n  - path: \"wave_*.nc\"\n    writer: model\n    "
    "readers: [picture]\n    steps: single\n";

}  // namespace

TEST_CASE("deeply nested text is refused") {
  for (const char* opening : {"[", "{a: ", "- ", "? ", "&a [", "\"", "!x "})
    check_survives(repeated(opening, 100000));
}

TEST_CASE("a text that is too long is refused") {
  check_survives(repeated("a", 3 << 20));
}

TEST_CASE("aliases that refer to themselves or multiply do no harm") {
  check_survives("version: 1\ncomponents: &c {model: {command: a, environment: *c}}\n");
  std::string text = "version: 1\na0: &a0 [x, x]\n";
  for (int i = 1; i < 60; ++i)
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" +
            repeated("*a" + std::to_string(i - 1) + ", ", 9) + "x]\n";
  check_survives(text + "components: *a59\nfiles: *a59\n");
}

TEST_CASE("text that fits nowhere after the document, or instead of one, is refused") {
  for (const char* text :
       {",", ",\n", "- a\n,", "[a], b", "{a: 1}, 2", "version: 1\n...\n,\n", "--- a\n--- b\n"})
    CHECK_THROWS_AS((void)parse_workflow(text, "flow.yaml"), WorkflowError);
  std::string text = sample;
  for (std::size_t at = 0; at <= sample.size(); ++at) {
    text.insert(at, ",");
    check_survives(text);
    text.erase(at, 1);
  }
}

TEST_CASE("many keys and rules are read in reasonable time") {
  std::string text = "version: 1\ncomponents:\n";
  for (int i = 0; i < 5000; ++i) text += "  c" + std::to_string(i) + ": {command: a}\n";
  text += "files:\n";
  for (int i = 0; i < 2000; ++i)
    text += "  - {path: \"*a" + std::to_string(i) + "*[a-f]?*b*\", writer: c0, readers: [c1]}\n";
  check_survives(text);
}

TEST_CASE("random bytes and random damage are refused or read, never more") {
  std::mt19937 random(sluice::test::test_seed());
  for (int round = 0; round < 600; ++round) {
    std::string text = sample;
    const int changes = 1 + static_cast<int>(random() % 4);
    for (int change = 0; change < changes; ++change) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random() % 256);
          break;
        case 1:
          text.erase(at, 1 + random() % 5);
          break;
        case 2:
          text.insert(at, 1, "{}[]&*!|>'\"%@`,:?-# \n\t"[random() % 23]);
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 20));
      }
    }
    check_survives(text);
  }
  for (int round = 0; round < 500; ++round) {
    std::string text(random() % 200, '\0');
    for (char& c : text) c = static_cast<char>(random() % 256);
    check_survives(text);
  }
}
