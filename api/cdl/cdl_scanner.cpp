#include "cdl_scanner.hpp"

#include <algorithm>
#include <utility>

namespace sluice::api::cdl {

using namespace formats;

namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

bool is_digit(char c, int base) {
  if (base == 16) return is_digit(c, 10) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  return c >= '0' && c < '0' + base;
}

int digit_value(char c) {
  return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

bool is_word_character(char c) {
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return is_letter || is_digit(c, 10) || static_cast<unsigned char>(c) >= 0x80 ||
         std::string_view("_.+-@").find(c) != std::string_view::npos;
}

}  // namespace

CdlScanner::CdlScanner(std::string_view text, const std::string& path) : text_(text), path_(path) {
  next_ = scan();
}

CdlToken CdlScanner::take() {
  CdlToken token = std::move(next_);
  next_ = scan();
  return token;
}

bool CdlScanner::take_if(char c) {
  if (!next_.is(c)) return false;
  next_ = scan();
  return true;
}

void CdlScanner::expect(char c) {
  if (!take_if(c)) fail(NC_ENOTNC, std::string("'") + c + "' is missing");
}

CdlToken CdlScanner::expect_word(const char* what) {
  if (!next_.is_word()) fail(NC_ENOTNC, std::string(what) + " is missing");
  return take();
}

void CdlScanner::skip_past(char c) {
  const auto found = text_.find(c, static_cast<std::size_t>(next_.offset_bytes));
  if (found == std::string_view::npos) fail(NC_ENOTNC, std::string("'") + c + "' is missing");
  position_ = found + 1;
  next_ = scan();
}

void CdlScanner::fail(Status status, const std::string& what) const {
  fail(status, what, next_);
}

void CdlScanner::fail(Status status, const std::string& what, const CdlToken& place) const {
  fail_at(status, what, static_cast<std::size_t>(place.offset_bytes));
}

void CdlScanner::fail_at(Status status, const std::string& what, std::size_t position) const {
  const auto line = 1 + std::ranges::count(text_.substr(0, position), '\n');
  throw FormatError(status, path_, position, "line " + std::to_string(line) + ": " + what);
}

void CdlScanner::skip_blanks_and_comments() {
  for (;;) {
    while (position_ < text_.size() && is_blank(text_[position_])) ++position_;
    if (at(position_) != '/' || at(position_ + 1) != '/') return;
    const auto end = std::min(text_.find('\n', position_), text_.size());
    note_version(text_.substr(position_, end - position_));
    position_ = end;
  }
}

void CdlScanner::note_version(std::string_view comment) noexcept {
  constexpr std::string_view mark = "file format: CDF-";
  const auto found = comment.find(mark);
  if (found == std::string_view::npos || found + mark.size() >= comment.size()) return;
  const char digit = comment[found + mark.size()];
  if (digit == '1' || digit == '2' || digit == '5') version_ = digit - '0';
}

CdlToken CdlScanner::scan() {
  skip_blanks_and_comments();
  CdlToken token;
  token.offset_bytes = position_;
  if (position_ >= text_.size()) return token;
  const char c = text_[position_];
  if (c == '"' || c == '\'') {
    token.kind = c == '"' ? CdlToken::Kind::string : CdlToken::Kind::character;
    token.text = scan_quoted(c);
    if (c == '\'' && token.text.size() != 1) fail_at(NC_ENOTNC, "not one character", position_ - 1);
  } else if (is_word_character(c) || c == '\\') {
    token.kind = CdlToken::Kind::word;
    token.text = scan_word();
  } else if (std::string_view("{};:,=()").find(c) != std::string_view::npos) {
    token.kind = CdlToken::Kind::punctuation;
    token.text = c;
    ++position_;
  } else {
    fail_at(NC_ENOTNC, "a character that CDL does not have here", position_);
  }
  return token;
}

/// Scans a word. A backslash removes the special meaning of the next character.
std::string CdlScanner::scan_word() {
  std::string word;
  while (position_ < text_.size()) {
    if (text_[position_] == '\\' && position_ + 1 < text_.size()) {
      ++position_;
    } else if (!is_word_character(text_[position_])) {
      break;
    }
    word += text_[position_++];
  }
  if (word.empty()) fail_at(NC_ENOTNC, "a backslash with nothing behind it", position_);
  return word;
}

std::string CdlScanner::scan_quoted(char quote) {
  const auto start = position_++;
  std::string content;
  for (;;) {
    if (position_ >= text_.size()) fail_at(NC_ENOTNC, "the closing quote is missing", start);
    const char c = text_[position_++];
    if (c == quote) return content;
    content += c == '\\' ? scan_escape() : c;
  }
}

/// Scans an escape after the backslash: one letter, up to three octal digits, or x and up to two hexadecimal
/// digits.
char CdlScanner::scan_escape() {
  constexpr std::string_view letters = "abfnrtv";
  constexpr std::string_view meanings = "\a\b\f\n\r\t\v";
  const char c = at(position_);
  const bool is_hexadecimal = c == 'x' && is_digit(at(position_ + 1), 16);
  if (!is_hexadecimal && !is_digit(c, 8)) {
    if (position_ < text_.size()) ++position_;
    const auto letter = letters.find(c);
    return letter == std::string_view::npos ? c : meanings[letter];
  }
  if (is_hexadecimal) ++position_;
  const int base = is_hexadecimal ? 16 : 8;
  const int digits = is_hexadecimal ? 2 : 3;
  int value = 0;
  for (int i = 0; i < digits && is_digit(at(position_), base); ++i) {
    value = value * base + digit_value(text_[position_++]);
  }
  return static_cast<char>(value);
}

}  // namespace sluice::api::cdl
