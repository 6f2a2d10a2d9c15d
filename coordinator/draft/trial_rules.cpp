#include "trial_rules.hpp"

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "format.hpp"
#include "sluice/runtime/rules.hpp"
#include "trial_order.hpp"

namespace sluice::coordinator {
namespace {

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

/// The name in parts: text and numbers in turn, beginning with text.
std::vector<std::string> parts_of(const std::string& name) {
  std::vector<std::string> parts{""};
  bool is_number = false;
  for (const char c : name) {
    if (is_digit(c) != is_number) {
      is_number = !is_number;
      parts.emplace_back();
    }
    parts.back() += c;
  }
  return parts;
}

/// Characters that mean something in a pattern stand for themselves in brackets, or are any one character.
std::string literal(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = utf8_character_bytes(text);
    const char c = text.front();
    const bool is_blank_at_end = c == ' ' && (result.empty() || text.size() == 1);
    if (is_blank_at_end || std::string_view("*?[%{").find(c) != std::string_view::npos) {
      result += std::string{'[', c, ']'};
    } else {
      const bool is_unusual = length == 0 || c == ']' || c == '\\' || (c >= 0 && c < ' ') || c == '\x7f';
      result += is_unusual ? "?" : text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return result;
}

/// How a pattern stands for numbers that differ, from wide to narrow.
enum class Numbers { any_text, begin_with_digit, same_width };

std::string wildcard(const std::vector<std::vector<std::string>>& names, std::size_t part, Numbers numbers) {
  constexpr const char* digit = "[0-9]";
  if (numbers == Numbers::any_text) return "*";
  const std::size_t width = names.front()[part].size();
  const auto has_width = [&](const auto& name) { return name[part].size() == width; };
  std::string digits = digit;
  if (numbers == Numbers::begin_with_digit || !std::ranges::all_of(names, has_width)) return digits + "*";
  for (std::size_t i = 1; i < width; ++i) digits += digit;
  return digits;
}

/// One pattern for names whose texts are the same.
std::string pattern_of(const std::vector<std::vector<std::string>>& names, Numbers numbers) {
  std::string pattern;
  for (std::size_t i = 0; i < names.front().size(); ++i) {
    const auto is_same = [&](const auto& name) { return name[i] == names.front()[i]; };
    pattern += std::ranges::all_of(names, is_same) ? literal(names.front()[i]) : wildcard(names, i, numbers);
  }
  return pattern;
}

using Paths = std::vector<std::filesystem::path>;

/// Files with one key go by one rule: the same writer, the same use, directory, and texts of the name.
struct Key {
  std::size_t writer = 0;
  bool is_changed = false;  ///< by programs after the writer
  bool goes_on = false;     ///< the writer begins with what is on the disk
  std::filesystem::path directory;
  std::vector<std::string> texts;
  auto operator<=>(const Key&) const = default;
};

bool has_changed(const TriedProgram& program, const std::filesystem::path& file, const TriedProgram& writer) {
  const auto after = program.modified_ns.find(file), before = writer.modified_ns.find(file);
  return after != program.modified_ns.end() && before != writer.modified_ns.end() &&
         after->second != before->second;
}

/// Whether a later program has changed what the writer had left, or has put another file in its place.
bool is_changed_by(const TriedProgram& program, const std::filesystem::path& file,
                   const TriedProgram& writer) {
  return has_changed(program, file, writer) || program.gone.contains(file);
}

bool asks_for(const TriedProgram& program, const std::filesystem::path& file) {
  return std::ranges::any_of(program.calls, [&](const TrialCall& call) {
    return call.name == file && (call.letter == 's' || call.letter == 'r');
  });
}

/// Those that come after the writer. What one opens, others may wait for by asking for it.
std::vector<std::size_t> readers_of(const std::filesystem::path& file, std::size_t writer,
                                    const std::vector<TriedProgram>& tried) {
  std::vector<std::size_t> readers, asking;
  for (std::size_t i = writer + 1; i < tried.size(); ++i) {
    const auto is_read = [&](const TrialCall& call) { return call.letter == 'r' && call.name == file; };
    if (tried[i].read.contains(file) || is_changed_by(tried[i], file, tried[writer]) ||
        std::ranges::any_of(tried[i].calls, is_read)) {
      readers.push_back(i);
    } else if (asks_for(tried[i], file)) {
      asking.push_back(i);
    }
  }
  if (!readers.empty()) readers.insert(readers.end(), asking.begin(), asking.end());
  std::ranges::sort(readers);
  return readers;
}

/// Nothing for files that are not exchanged.
std::optional<Key> key_of(const std::filesystem::path& file, const std::vector<TriedProgram>& tried) {
  const auto writes = [&](const TriedProgram& program) { return program.written.contains(file); };
  const auto writer = std::ranges::find_if(tried, writes);
  if (writer == tried.end()) return std::nullopt;
  Key key{static_cast<std::size_t>(writer - tried.begin()), false, writer->begun_with.contains(file),
          file.parent_path(), parts_of(file.filename().string())};
  if (readers_of(file, key.writer, tried).empty()) return std::nullopt;
  key.is_changed = std::any_of(writer + 1, tried.end(), [&](const TriedProgram& program) {
    return is_changed_by(program, file, *writer);
  });
  for (std::size_t i = 1; i < key.texts.size(); i += 2) key.texts[i].clear();
  return key;
}

int closes_of(const std::vector<std::filesystem::path>& files, const TriedProgram& writer) {
  const auto closes = [&](const std::filesystem::path& file) {
    const auto known = writer.closes.find(file);
    return known == writer.closes.end() ? 1 : known->second;
  };
  const int first = closes(files.front());
  const auto is_same = [&](const std::filesystem::path& file) { return closes(file) == first; };
  return std::ranges::all_of(files, is_same) ? first : 0;
}

/// The last `parts` parts of a directory, as the beginning of a pattern.
std::string last_parts(const std::filesystem::path& directory, std::size_t parts) {
  const std::vector<std::filesystem::path> all(directory.begin(), directory.end());
  std::string text;
  for (std::size_t i = all.size() - std::min(parts, all.size()); i < all.size(); ++i)
    if (all[i] != "/") text += literal(all[i].string()) + "/";
  return text;
}

/// What is above the workflow's directory is left out.
std::size_t parts_below(const std::filesystem::path& directory, const std::filesystem::path& workflow) {
  const std::filesystem::path below = directory.lexically_relative(workflow);
  return static_cast<std::size_t>(
      std::ranges::count_if(below, [](const auto& part) { return part != "." && part != ".."; }));
}

/// Makes the rules of a trial. A rule covers what its writer has written, and nothing that another program
/// writes or that is from elsewhere: a reader may change no file that a rule covers.
class RuleFinder {
 public:
  RuleFinder(const std::vector<TriedProgram>& tried, std::filesystem::path directory)
      : tried_(tried), directory_(std::move(directory)) {
    for (const TriedProgram& program : tried_) {
      all_.insert(program.written.begin(), program.written.end());
      all_.insert(program.read.begin(), program.read.end());
      all_.insert(program.gone.begin(), program.gone.end());
    }
  }

  TrialFindings find(const std::vector<std::string>& names) {
    std::map<Key, Paths> groups;
    for (const std::filesystem::path& file : all_)
      if (const auto key = key_of(file, tried_)) groups[*key].push_back(file);
    std::set<std::filesystem::path> passed;
    for (const auto& [key, files] : groups) {
      add(key, files);
      if (!key.is_changed) passed.insert(files.begin(), files.end());
    }
    for (const TrialOrder& order : find_order(tried_, passed, directory_, names)) put_in_order(order, names);
    return std::move(findings_);
  }

 private:
  void add(const Key& key, const Paths& files) {
    std::vector<std::vector<std::string>> names;
    for (const std::filesystem::path& file : files) names.push_back(parts_of(file.filename().string()));
    const std::size_t least = parts_below(key.directory, directory_);
    const auto most = static_cast<std::size_t>(std::distance(key.directory.begin(), key.directory.end()));
    for (std::size_t parts = least; parts <= std::max(least, most); ++parts) {
      for (const Numbers numbers : {Numbers::any_text, Numbers::begin_with_digit, Numbers::same_width}) {
        const std::string pattern = last_parts(key.directory, parts) + pattern_of(names, numbers);
        if (!covers_others(pattern, key.writer, files)) return add(key, files, pattern);
      }
    }
    if (files.size() == 1) return;  // the whole path of one file covers no other
    for (const std::filesystem::path& file : files) add(key, Paths{file});
  }

  void add(const Key& key, const Paths& files, const std::string& pattern) {
    const TriedProgram& writer = tried_[key.writer];
    DraftRule rule{pattern, key.writer, {}, {}, closes_of(files, writer), {}};
    rule.is_on_disk = key.is_changed;
    rule.keeps = key.goes_on && !key.is_changed;
    rule.is_rewritten =
        std::ranges::any_of(files, [&](const auto& file) { return writer.rewritten.contains(file); });
    std::set<std::size_t> readers;
    for (const std::filesystem::path& file : files) {
      rule.files.push_back(shown(file));
      for (const std::size_t reader : readers_of(file, key.writer, tried_)) readers.insert(reader);
    }
    rule.readers.assign(readers.begin(), readers.end());
    for (const std::filesystem::path& file : writer.written)
      if (runtime::match_tail(pattern, file.string()) && std::ranges::find(files, file) == files.end())
        rule.unread.push_back(shown(file));
    findings_.rules.push_back(std::move(rule));
  }

  /// A component begins when the writers of its files have ended, so it needs a rule with that writer.
  void put_in_order(const TrialOrder& order, const std::vector<std::string>& names) {
    const auto is_rule_of_both = [&](const DraftRule& rule) {
      return rule.writer == order.first &&
             std::ranges::find(rule.readers, order.second) != rule.readers.end();
    };
    if (std::ranges::none_of(findings_.rules, is_rule_of_both) && !add_for_order(order)) {
      findings_.problems.push_back("'" + names[order.second] + "' depends on '" + names[order.first] + "' (" +
                                   order.reason +
                                   "), and no rule can say so: make one component of them, by a script");
      return;
    }
    findings_.later.try_emplace(order.second, order.reason);
  }

  /// A rule for some file of the first program that no rule covers yet.
  bool add_for_order(const TrialOrder& order) {
    const TriedProgram& first = tried_[order.first];
    std::vector<std::filesystem::path> files(first.written.begin(), first.written.end());
    files.insert(files.end(), first.gone.begin(), first.gone.end());
    const auto is_free = [&](const std::filesystem::path& file) {
      return std::ranges::none_of(findings_.rules, [&](const DraftRule& rule) {
        return runtime::match_tail(rule.pattern, file.string()).has_value();
      });
    };
    const auto file = std::ranges::find_if(files, is_free);
    if (file == files.end()) return false;
    const std::size_t before = findings_.rules.size();
    add(Key{order.first, true, false, file->parent_path(), {}}, Paths{*file});
    if (findings_.rules.size() == before) return false;
    findings_.rules.back().readers = {order.second};
    return true;
  }

  /// What its writer alone has used is no other file.
  [[nodiscard]] bool covers_others(const std::string& pattern, std::size_t writer, const Paths& files) const {
    return std::ranges::any_of(all_, [&](const std::filesystem::path& file) {
      if (std::ranges::find(files, file) != files.end() || !runtime::match_tail(pattern, file.string()))
        return false;
      for (std::size_t i = 0; i < tried_.size(); ++i)
        if (i != writer && (tried_[i].read.contains(file) || tried_[i].written.contains(file) ||
                            tried_[i].gone.contains(file)))
          return true;
      return !tried_[writer].written.contains(file) && !tried_[writer].gone.contains(file);
    });
  }

  [[nodiscard]] std::string shown(const std::filesystem::path& file) const {
    return file.lexically_relative(directory_).string();
  }

  const std::vector<TriedProgram>& tried_;
  std::filesystem::path directory_;
  std::set<std::filesystem::path> all_;
  TrialFindings findings_;
};

}  // namespace

TrialFindings find_rules(const std::vector<TriedProgram>& tried, const std::filesystem::path& directory,
                         const std::vector<std::string>& names) {
  return RuleFinder(tried, directory).find(names);
}

}  // namespace sluice::coordinator
