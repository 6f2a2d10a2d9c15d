#include "timeline.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>

#include "sluice/formats/error.hpp"
#include "sluice/storage/tab_line.hpp"

namespace sluice::coordinator {
namespace {

constexpr std::array<std::string_view, 8> kind_words{"write", "read", "wait-open", "wait-memory",
                                                     "drain", "put",  "get",       "open"};

/// One line of the file. Cells that are missing, or are no numbers, make the whole line wrong.
class Line {
 public:
  explicit Line(std::string_view text) : rest_(text) {}

  [[nodiscard]] std::string text() {
    if (is_at_end_) is_wrong_ = true;
    const std::size_t tab = rest_.find('\t');
    const std::string_view cell = rest_.substr(0, tab);
    is_at_end_ = tab == std::string_view::npos;
    rest_ = is_at_end_ ? std::string_view() : rest_.substr(tab + 1);
    return storage::decode_cell(cell);
  }

  template <class Number = std::uint64_t>
  [[nodiscard]] Number number() {
    const std::string digits = text();
    Number value{};
    const auto [rest, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (problem != std::errc() || rest != digits.data() + digits.size()) is_wrong_ = true;
    return value;
  }

  [[nodiscard]] bool is_wrong() const noexcept { return is_wrong_; }
  [[nodiscard]] bool is_at_end() const noexcept { return is_at_end_; }

 private:
  std::string_view rest_;
  bool is_at_end_ = false;
  bool is_wrong_ = false;
};

/// Fills a Timeline, line by line.
class Reader {
 public:
  void take(std::string_view text) {
    Line line(text);
    const std::string kind = line.text();
    if (kind == "do") return take_activity(line);
    if (kind == "memory") return take_memory(line);
    if (kind == "use") return take_use(line);
    if (kind == "published") return take_published(line);
    if (kind == "start" || kind == "exit") return take_component(line, kind == "exit");
    if (kind == "component") {
      Timeline::Component component{line.text(), line.number<int>()};
      if (!line.is_wrong()) timeline_.components.push_back(std::move(component));
    } else if (kind == "rule" || kind == "reader") {
      take_rule(line, kind == "reader");
    } else if (kind == "run") {
      timeline_.name = line.text();
      timeline_.began = line.number<std::time_t>();
    } else if (kind == "about") {
      timeline_.place = {line.text(), line.text(), line.text(), line.number()};
    } else if (kind == "command") {
      take_command(line);
    } else if (kind == "lost") {
      const auto lost = line.number();
      if (!line.is_wrong()) timeline_.lost_activities += lost;
    } else if (kind == "warning") {
      timeline_.warnings.push_back(line.text());
    } else if (kind == "end") {
      note_time(line.number());
      timeline_.verdict = line.text();
    }
  }

  [[nodiscard]] Timeline finish() {
    for (const auto& [place, use] : uses_) timeline_.uses.push_back(use);
    for (Timeline::Component& component : timeline_.components)
      if (component.end.empty()) component.end_ms = timeline_.end_ms;
    return std::move(timeline_);
  }

 private:
  void note_time(std::uint64_t time_ms) { timeline_.end_ms = std::max(timeline_.end_ms, time_ms); }

  void take_activity(Line& line) {
    runtime::Activity activity;
    const std::string word = line.text();
    const auto kind = std::ranges::find(kind_words, word);
    activity.component = line.text();
    activity.rank = line.number<std::int32_t>();
    activity.begin_ms = line.number();
    activity.end_ms = line.number();
    activity.bytes = line.number();
    activity.rule = line.number<std::uint32_t>();
    activity.file = line.text();
    if (word == "put" || word == "get") activity.busy_us = line.number();
    if (line.is_wrong() || kind == kind_words.end() || activity.end_ms < activity.begin_ms) return;
    activity.kind = static_cast<runtime::Activity::Kind>(kind - kind_words.begin());
    note_time(activity.end_ms);
    timeline_.activities.push_back(std::move(activity));
  }

  void take_memory(Line& line) {
    Timeline::Memory memory{line.number()};
    const auto node = line.number<std::uint32_t>();
    memory.used_bytes = line.number();
    memory.limit_bytes = line.number();
    memory.spilled_bytes = line.number();
    constexpr std::uint32_t most_nodes = 1 << 16;
    if (line.is_wrong() || node >= most_nodes) return;
    note_time(memory.time_ms);
    if (timeline_.memory.size() <= node) timeline_.memory.resize(node + 1);
    timeline_.memory[node].push_back(memory);
  }

  void take_use(Line& line) {
    const auto time_ms = line.number();
    const std::string place = line.text();
    matcher::AccessCounters counters;
    for (std::uint64_t* const figure : {&counters.puts, &counters.put_bytes, &counters.gets,
                                        &counters.get_bytes, &counters.replayed_gets, &counters.open_wait_us})
      *figure = line.number();
    if (!line.is_at_end()) {  // records of version 0.2 count these as gets
      counters.opens = line.number();
      counters.opened_bytes = line.number();
    }
    const std::size_t blank = place.find(' ');
    if (line.is_wrong() || blank == std::string::npos) return;
    Line rule(std::string_view(place).substr(0, blank));
    const auto number = rule.number<std::uint32_t>();
    if (rule.is_wrong()) return;
    note_time(time_ms);
    uses_[place] = {number, place.substr(blank + 1), counters};
    add_traffic(time_ms);
  }

  void add_traffic(std::uint64_t time_ms) {
    Timeline::Traffic sum{time_ms};
    for (const auto& [place, use] : uses_) {
      sum.put_bytes += use.counters.put_bytes;
      sum.get_bytes += use.counters.get_bytes;
      sum.opened_bytes += use.counters.opened_bytes;
    }
    auto& traffic = timeline_.traffic;
    if (!traffic.empty() && traffic.back().time_ms == time_ms) traffic.pop_back();
    traffic.push_back(sum);
  }

  void take_published(Line& line) {
    note_time(line.number());
    const auto rule = line.number<std::size_t>();
    const matcher::RuleTotals totals{line.number(), line.number(), line.number()};
    if (!line.is_wrong() && rule < timeline_.rules.size()) timeline_.rules[rule].totals = totals;
  }

  void take_component(Line& line, bool has_ended) {
    const auto time_ms = line.number();
    const std::string name = line.text();
    const std::string how = has_ended ? line.text() : "";
    const auto processor_ms = has_ended && !line.is_at_end() ? line.number() : 0;  // records of 0.2 have none
    const auto component = std::ranges::find(timeline_.components, name, &Timeline::Component::name);
    if (line.is_wrong() || component == timeline_.components.end()) return;
    note_time(time_ms);
    (has_ended ? component->end_ms : component->begin_ms) = time_ms;
    if (has_ended) component->end = how;
    component->processor_ms += processor_ms;
  }

  void take_command(Line& line) {
    const std::string name = line.text();
    const auto component = std::ranges::find(timeline_.components, name, &Timeline::Component::name);
    if (component != timeline_.components.end()) component->command = line.text();
  }

  void take_rule(Line& line, bool is_reader) {
    const auto number = line.number<std::size_t>();
    if (is_reader) {
      const std::string reader = line.text();
      if (!line.is_wrong() && number < timeline_.rules.size())
        timeline_.rules[number].readers.push_back(reader);
      return;
    }
    Timeline::Rule rule{line.text(), line.text(), line.text(), {}, {}};
    rule.is_stream = !line.is_at_end() && line.text() == "stream";
    if (!line.is_wrong() && number == timeline_.rules.size()) timeline_.rules.push_back(std::move(rule));
  }

  Timeline timeline_;
  std::map<std::string, matcher::RuleUse> uses_;  ///< by rule and component
};

}  // namespace

std::string mode_of(const workflows::FileRule& rule) {
  std::string mode(matcher::word_of(rule.through));
  if (rule.keep.keeps) mode += ", keep";
  if (rule.publish_at == workflows::PublishAt::sync) mode += ", publish: sync";
  if (rule.publish_at == workflows::PublishAt::write) mode += ", publish: write";
  return mode;
}

std::string_view word_of(runtime::Activity::Kind kind) noexcept {
  return kind_words[static_cast<std::size_t>(kind)];
}

Timeline read_timeline(const std::filesystem::path& log_directory) {
  const std::filesystem::path path = log_directory / timeline_file;
  std::ifstream stream(path);
  if (!stream) throw IoError(NC_ENOENT, errno, path.string(), "open");
  std::string text;
  if (!std::getline(stream, text) || text != "sluice-timeline\t1")
    throw FormatError(NC_EINVAL, path.string(), 0, "it is no timeline of this version of Sluice");
  Reader reader;
  while (std::getline(stream, text)) {
    if (!stream.eof()) reader.take(text);  // a last line without its end is incomplete
  }
  return reader.finish();
}

}  // namespace sluice::coordinator
