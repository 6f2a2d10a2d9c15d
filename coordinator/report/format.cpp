#include "format.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>

namespace sluice::coordinator {
namespace {

/// The number of characters of a UTF-8 text.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80; }));
}

}  // namespace

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array units{"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  char text[40];
  std::snprintf(text, sizeof text,
                value < 10    ? "%.2f %s"
                : value < 100 ? "%.1f %s"
                              : "%.0f %s",
                value, units[unit]);
  return text;
}

std::string format_duration(std::chrono::milliseconds duration) {
  const auto milliseconds = duration.count();
  const auto seconds = milliseconds / 1000;
  char text[60];
  if (seconds < 60) {
    std::snprintf(text, sizeof text, "%.1f s", static_cast<double>(milliseconds) / 1000);
  } else if (seconds < 3600) {
    std::snprintf(text, sizeof text, "%lld min %02lld s", static_cast<long long>(seconds / 60),
                  static_cast<long long>(seconds % 60));
  } else {
    std::snprintf(text, sizeof text, "%lld h %02lld min", static_cast<long long>(seconds / 3600),
                  static_cast<long long>(seconds / 60 % 60));
  }
  return text;
}

std::string format_milliseconds(std::uint64_t milliseconds) {
  constexpr std::uint64_t ms_in_a_second = 1000;
  return milliseconds < ms_in_a_second ? std::to_string(milliseconds) + " ms"
                                       : format_duration(std::chrono::milliseconds(milliseconds));
}

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

std::string host_name() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::string as_shell_command(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    const bool is_plain =
        !word.empty() &&
        word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,%@") ==
            std::string::npos;
    if (is_plain) {
      text += word;
      continue;
    }
    text += "$'";
    for (const char c : word)
      text += c == '\n'                ? "\\n"
              : c == '\t'              ? "\\t"
              : c == '\'' || c == '\\' ? std::string("\\") + c
                                       : std::string(1, c);
    text += '\'';
  }
  return text;
}

std::size_t utf8_character_bytes(std::string_view text) noexcept {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xc2 ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  if (length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  return length;
}

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = utf8_character_bytes(text);
    const auto first = static_cast<unsigned char>(text.front());
    const bool is_command = (first < 0x20 && first != '\n' && first != '\t') || first == 0x7f;
    if (length == 0 || is_command) {
      std::array<char, 8> code{};
      std::snprintf(code.data(), code.size(), "\\x%02x", static_cast<unsigned>(first));
      result += code.data();
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

std::string printable_in_line(std::string_view text) {
  std::string result;
  for (const char c : printable(text)) result += c == '\n' ? "\\n" : c == '\t' ? "\\t" : std::string(1, c);
  return result;
}

std::string format_count(std::uint64_t count, const std::string& singular) {
  return std::to_string(count) + ' ' + singular + (count == 1 ? "" : "s");
}

std::string format_table(std::vector<std::vector<std::string>> rows, const std::vector<bool>& right) {
  for (auto& row : rows)
    for (std::string& cell : row) cell = printable_in_line(cell);
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - width_of(row[i]), ' ');
      if (i > 0) line += "  ";
      line += i < right.size() && right[i] ? padding + row[i] : row[i] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

}  // namespace sluice::coordinator
