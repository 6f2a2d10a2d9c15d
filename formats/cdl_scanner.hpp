#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "sluice/formats/error.hpp"
#include "sluice/formats/header.hpp"

namespace sluice::formats {

/// What a CDL text is made of. A word is a name, a keyword or a number: its place tells.
struct CdlToken {
  enum class Kind { word, string, character, punctuation, end };
  Kind kind = Kind::end;
  std::string text;                ///< without quotes, escapes replaced
  std::uint64_t offset_bytes = 0;  ///< in the CDL text

  [[nodiscard]] bool is(char c) const {
    return kind == Kind::punctuation && text.size() == 1 && text[0] == c;
  }
  [[nodiscard]] bool is_word() const { return kind == Kind::word; }
};

/// Splits a CDL text into tokens, one ahead. Comments are skipped, but for the one that tells the format.
class CdlScanner {
 public:
  CdlScanner(std::string_view text, const std::string& path);

  /// The token that comes next.
  [[nodiscard]] const CdlToken& next() const noexcept { return next_; }
  /// Takes it.
  CdlToken take();
  /// Takes it if it is this punctuation.
  bool take_if(char c);
  /// Takes it; a mistake if it is something else.
  void expect(char c);
  CdlToken expect_word(const char* what);
  /// Skips everything up to and including `c`: the dataset's name may be anything.
  void skip_past(char c);

  /// What a comment "file format: CDF-n" said, or 0.
  [[nodiscard]] int version() const noexcept { return version_; }

  /// A mistake at the next token, or at `place`: says the line.
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

}  // namespace sluice::formats
