#include "sluice/storage/file_mark.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>
#include <tuple>
#include <vector>

namespace sluice::storage {
namespace {

constexpr std::string_view begin_of_mark = "sluice1";
constexpr std::int64_t sample_bytes = 4096;
constexpr std::int64_t samples = 16;
constexpr std::int64_t most_ranks = 1 << 20;

template <class Number>
bool parse(std::string_view text, Number& number) {
  const auto end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  return parsed.ec == std::errc{} && parsed.ptr == end;
}

bool parse_ranks(const std::string& text, std::set<std::int64_t>& ranks) {
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const auto dash = part.find('-');
    std::int64_t first = 0;
    std::int64_t last = 0;
    if (!parse(part.substr(0, dash), first)) return false;
    if (dash == std::string::npos)
      last = first;
    else if (!parse(part.substr(dash + 1), last))
      return false;
    if (first < 0 || last < first || last - first > most_ranks) return false;
    for (; first <= last; ++first) ranks.insert(first);
  }
  return true;
}

/// FNV-1a
void add(std::span<const std::byte> bytes, std::uint64_t& hash) noexcept {
  for (const std::byte byte : bytes) hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
}

}  // namespace

bool FileMark::is_before(const FileMark& other) const noexcept {
  return std::tie(created_ns, run, origin, group) <
         std::tie(other.created_ns, other.run, other.origin, other.group);
}

std::string content_of(const File& file) {
  const std::int64_t size = file.size_bytes();
  std::vector<std::byte> sample(static_cast<std::size_t>(sample_bytes));
  std::uint64_t hash = 0xcbf29ce484222325;
  const bool is_small = size <= samples * sample_bytes;
  const std::int64_t pitch = is_small ? sample_bytes : (size - sample_bytes) / (samples - 1);
  for (std::int64_t i = 0; i < samples && i * pitch < size; ++i)
    add(std::span(sample).first(file.read(i * pitch, sample)), hash);
  return std::to_string(size) + "-" + std::to_string(hash);
}

std::string describe_ranks(const std::set<std::int64_t>& ranks) {
  std::string text;
  for (auto first = ranks.begin(); first != ranks.end();) {
    auto last = first;
    for (auto next = std::next(last); next != ranks.end() && *next == *last + 1; ++next) last = next;
    text += (text.empty() ? "" : ",") + std::to_string(*first);
    if (last != first) text += "-" + std::to_string(*last);
    first = std::next(last);
  }
  return text;
}

std::string encode_mark(const FileMark& mark) {
  std::string text(begin_of_mark);
  const auto add_field = [&](const char* name, const std::string& value) {
    text += std::string(" ") + name + "=" + value;
  };
  add_field("run", std::to_string(mark.run));
  add_field("created", std::to_string(mark.created_ns));
  add_field("group", std::to_string(mark.group));
  add_field("origin", std::to_string(mark.origin));
  add_field("step", std::to_string(mark.step));
  add_field("complete", std::to_string(mark.complete));
  add_field("ranks", describe_ranks(mark.ranks));
  if (mark.processes > 0) add_field("of", std::to_string(mark.processes));
  add_field("lacks", mark.lacks_puts ? "1" : "0");
  add_field("content", mark.content);
  return text;
}

std::optional<FileMark> decode_mark(const std::string& line) {
  std::istringstream words(line);
  std::string word;
  if (!(words >> word) || word != begin_of_mark) return std::nullopt;
  std::map<std::string, std::string> fields;
  while (words >> word) {
    const auto equals = word.find('=');
    if (equals == std::string::npos) return std::nullopt;
    fields[word.substr(0, equals)] = word.substr(equals + 1);
  }
  FileMark mark;
  mark.content = fields["content"];
  mark.lacks_puts = fields["lacks"] != "0";
  const bool is_sound = parse(fields["run"], mark.run) && parse(fields["created"], mark.created_ns) &&
                        parse(fields["group"], mark.group) && parse(fields["origin"], mark.origin) &&
                        parse(fields["step"], mark.step) && parse(fields["complete"], mark.complete) &&
                        parse_ranks(fields["ranks"], mark.ranks);
  if (!is_sound) return std::nullopt;
  (void)parse(fields["of"], mark.processes);
  return mark;
}

std::optional<FileMark> mark_of(const File& file) {
  return decode_mark(file.mark());
}

bool set_mark(File& file, const FileMark& mark) {
  if (file.set_mark(encode_mark(mark))) return true;
  // The ranks do not fit into the mark. A mark without ranks only causes the same puts to be replayed again.
  FileMark shorter = mark;
  shorter.ranks.clear();
  return file.set_mark(encode_mark(shorter));
}

}  // namespace sluice::storage
