#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "sluice/formats/error.hpp"
#include "sluice/formats/header.hpp"

namespace sluice::api::cdl {

/// A token of a CDL text. A word is a name, a keyword or a number, depending on its place.
struct CdlToken {
  enum class Kind { word, string, character, punctuation, end };
  Kind kind = Kind::end;
  std::string text;                ///< without quotes, escapes replaced
  std::uint64_t offset_bytes = 0;  ///< offset in the CDL text

  [[nodiscard]] bool is(char c) const {
    return kind == Kind::punctuation && text.size() == 1 && text[0] == c;
  }
  [[nodiscard]] bool is_word() const { return kind == Kind::word; }
};

/// Splits a CDL text into tokens, with one token of look-ahead. Skips comments, except the one that names the
/// format.
class CdlScanner {
 public:
  CdlScanner(std::string_view text, const std::string& path);

  /// The next token.
  [[nodiscard]] const CdlToken& next() const noexcept { return next_; }
  /// Consumes and returns the next token.
  CdlToken take();
  /// Consumes the next token if it is this punctuation.
  bool take_if(char c);
  /// Consumes this punctuation; any other token is a mistake.
  void expect(char c);
  CdlToken expect_word(const char* what);
  /// Skips everything up to and including `c`, because the dataset's name may have any form.
  void skip_past(char c);

  /// The number in a comment "file format: CDF-n", or 0.
  [[nodiscard]] int version() const noexcept { return version_; }

  /// Throws a mistake at the next token, or at `place`, with the line number.
  [[noreturn]] void fail(Status status, const std::string& what) const;
  [[noreturn]] void fail(Status status, const std::string& what, const CdlToken& place) const;

 private:
  [[noreturn]] void fail_at(Status status, const std::string& what, std::size_t position) const;
  [[nodiscard]] char at(std::size_t i) const noexcept { return i < text_.size() ? text_[i] : '\0'; }
  void skip_blanks_and_comments();
  void note_version(std::string_view comment) noexcept;
  CdlToken scan();
  std::string scan_word();
  std::string scan_quoted(char quote);
  char scan_escape();

  std::string_view text_;
  const std::string& path_;
  std::size_t position_ = 0;
  int version_ = 0;
  CdlToken next_;
};

}  // namespace sluice::api::cdl
