#include "ini_text.hpp"

#include <algorithm>

namespace sluice::coordinator {
namespace {

using workflows::Mistake;
using workflows::Position;

constexpr std::string_view blanks = " \t";
constexpr std::string_view comment_signs = "#;!";

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  for (char& c : small) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return small;
}

bool is_control(char c) {
  return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f;
}

/// Where a comment begins, or the end.
std::size_t find_comment(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool may_begin = i == 0 || blanks.find(text[i - 1]) != std::string_view::npos;
    if (may_begin && comment_signs.find(text[i]) != std::string_view::npos) return i;
  }
  return text.size();
}

/// The value without its quotes and what is behind it. Returns why it cannot be read; empty when it can.
std::string take_value(std::string_view text, std::string& value) {
  const char quote = text.empty() ? '\0' : text.front();
  if (quote != '"' && quote != '\'') {
    value = trim(text.substr(0, find_comment(text)));
    return "";
  }
  const std::size_t end = text.find(quote, 1);
  if (end == std::string_view::npos) return std::string("the quote ") + quote + " is not closed";
  value = text.substr(1, end - 1);
  const std::string_view rest = trim(text.substr(end + 1));
  if (!rest.empty() && comment_signs.find(rest.front()) == std::string_view::npos)
    return "there is text behind the closing quote: remove it";
  return "";
}

class IniReader {
 public:
  explicit IniReader(std::vector<Mistake>& mistakes) : mistakes_(mistakes) {}

  void take_line(std::string_view line, int number) {
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    const std::string_view content = trim(line);
    const std::size_t indent = line.find_first_not_of(blanks);
    const Position position{number, indent == std::string_view::npos ? 1 : static_cast<int>(indent) + 1};
    if (content.empty() || find_comment(content) == 0) return;
    if (std::ranges::any_of(content, is_control)) {
      mistakes_.push_back({position, "the line has a control character: the configuration is a text"});
    } else if (content.front() == '[') {
      take_section(content, position);
    } else {
      take_entry(content, position);
    }
  }

  std::vector<IniSection> take_sections() { return std::move(sections_); }

 private:
  void take_section(std::string_view content, Position position) {
    const std::string_view line = trim(content.substr(0, find_comment(content)));
    if (line.back() != ']') {
      mistakes_.push_back({position, "the section has no ']': write [INFO] or [FILE]"});
      return;
    }
    sections_.push_back({position, in_small_letters(trim(line.substr(1, line.size() - 2))), {}});
  }

  void take_entry(std::string_view content, Position position) {
    const std::size_t equals = content.find('=');
    if (equals == std::string_view::npos || equals > find_comment(content) ||
        trim(content.substr(0, equals)).empty()) {
      mistakes_.push_back({position, "the line is neither [SECTION] nor KEY=VALUE"});
      return;
    }
    IniEntry entry{position, in_small_letters(trim(content.substr(0, equals))), {}};
    const std::string problem = take_value(trim(content.substr(equals + 1)), entry.value);
    if (!problem.empty()) {
      mistakes_.push_back({position, "'" + entry.key + "': " + problem});
    } else if (sections_.empty()) {
      mistakes_.push_back(
          {position, "'" + entry.key + "' is in no section: write [INFO] or [FILE] before it"});
    } else {
      sections_.back().entries.push_back(std::move(entry));
    }
  }

  std::vector<Mistake>& mistakes_;
  std::vector<IniSection> sections_;
};

}  // namespace

std::vector<IniSection> read_ini(std::string_view text, std::vector<Mistake>& mistakes) {
  IniReader reader(mistakes);
  int number = 1;
  for (std::size_t start = 0; start < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    reader.take_line(text.substr(start, end - start), number);
    start = end + 1;
  }
  return reader.take_sections();
}

}  // namespace sluice::coordinator
