#include "sequence_keys.hpp"

#include <algorithm>
#include <array>

namespace sluice::workflows {

using matcher::ReaderMode;
using matcher::ReadMode;
using matcher::WhenFull;

namespace {

constexpr std::uint32_t default_queue = 2;

/// The key by which the rule has a sequence that its other keys forbid; null: there is none.
const Value* sequence_key(const Section& section, const FileRule& rule) {
  if (rule.is_stream) return section.find("steps");
  if (!rule.modes.empty()) return section.find("readers");
  if (const Value* queue = section.find("queue")) return queue;
  return section.find("when-full");
}

void refuse_with_other_keys(ValueReader& reader, const Section& section, FileRule& rule) {
  const Value* key = sequence_key(section, rule);
  if (key == nullptr) return;
  const auto refuse = [&](const std::string& why) {
    reader.findings().mistake(key->position, key->what + " is " + describe_found(key->node) + ": " + why);
  };
  const bool takes_some = rule.is_stream || !rule.modes.empty();
  if (is_in_files(rule.through) && takes_some) {
    refuse("readers of files on disk find what is there; take 'through: memory' or 'through: burst-buffer'");
  } else if (is_in_files(rule.through) && rule.when_full != WhenFull::wait) {
    refuse("files on disk stay there, so a full queue can only make the writer wait; take 'when-full: wait'");
  } else if (rule.publish_at != PublishAt::close) {
    refuse("steps are counted when their writer has closed them; leave 'publish' out");
  } else if (rule.is_stream && rule.exposes) {
    refuse("a link shows the newest step only; leave 'expose' out, or take 'steps: single'");
  } else if (rule.is_stream && std::ranges::find(rule.readers, rule.writer) != rule.readers.end()) {
    refuse("a writer cannot read its own stream; remove '" + rule.writer +
           "' from 'readers', or take 'steps: single'");
  }
}

}  // namespace

std::optional<ReaderMode> read_mode(ValueReader& reader, const NamedValue& value) {
  const auto mode = reader.text(value.value, "all, latest, or a number of steps");
  if (!mode || *mode == "all") return std::nullopt;
  if (*mode == "latest") return ReaderMode{value.name, ReadMode::latest, 1};
  constexpr std::size_t most_digits = 9;
  const bool is_number = !mode->empty() && mode->size() <= most_digits &&
                         mode->find_first_not_of("0123456789") == std::string::npos && mode->front() != '0';
  if (is_number)
    return ReaderMode{value.name, ReadMode::every, static_cast<std::uint32_t>(std::stoul(*mode))};
  reader.expected(value.value, "all, latest, or a number of steps");
  return std::nullopt;
}

void check_sequence_keys(ValueReader& reader, const Section& section, FileRule& rule) {
  if (rule.when_full != WhenFull::spill && rule.queue == 0) rule.queue = default_queue;
  refuse_with_other_keys(reader, section, rule);
}

}  // namespace sluice::workflows
