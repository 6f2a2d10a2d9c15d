#include "sluice/workflows/shell_words.hpp"

#include <doctest/doctest.h>

using sluice::workflows::split_shell_words;
using Words = std::vector<std::string>;

namespace {
Words words(std::string_view command) {
  const auto split = split_shell_words(command);
  CHECK(split.problems.empty());
  return split.words;
}
}  // namespace

TEST_CASE("a command is split at blanks as a shell does") {
  CHECK(words("").empty());
  CHECK(words("  a \t b\nc ") == Words{"a", "b", "c"});
  CHECK(words("a *.nc {x} ~ #b") == Words{"a", "*.nc", "{x}", "~", "#b"});
}

TEST_CASE("quotes and backslashes protect blanks and each other") {
  CHECK(words(R"(a 'b c' "d e" f\ g)") == Words{"a", "b c", "d e", "f g"});
  CHECK(words(R"(a'b'"c"d)") == Words{"abcd"});
  CHECK(words(R"('' "")") == Words{"", ""});
  CHECK(words(R"('a\b' "a\b" "a\"b\\" \')") == Words{"a\\b", "a\\b", "a\"b\\", "'"});
  CHECK(words("'$HOME | x' \"\\$HOME\"") == Words{"$HOME | x", "$HOME"});
  CHECK(words("a\\\nb") == Words{"ab"});
}

TEST_CASE("shell syntax and unclosed quotes are problems") {
  for (const char* command : {"a | b", "a > b", "a && b", "a; b", "a $HOME", "a \"$HOME\"", "a `b`", "(a)",
                              "a 'b", "a \"b", "a \\"}) {
    CAPTURE(command);
    CHECK(split_shell_words(command).problems.size() == 1);
  }
}
