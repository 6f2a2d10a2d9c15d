#include "forecast.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "format.hpp"

namespace sluice::coordinator {
namespace {

using workflows::Component;
using workflows::FileRule;
using workflows::Through;
using workflows::Workflow;

/// "a", "a and b", "a, b and c"
std::string enumerated(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return text;
}

/// The sentences on one workflow.
class Forecast {
 public:
  explicit Forecast(const Workflow& workflow) : workflow_(workflow) {
    for (const Component& component : workflow.components)
      shown_[component.name] = component.ensemble.empty() ? component.name : component.ensemble;
  }

  std::vector<std::string> make() {
    tell_starts();
    std::set<std::string> told;  // rules of the members of an ensemble are alike
    for (const FileRule& rule : workflow_.files) {
      const std::string line = std::to_string(rule.position.line);
      if (rule.family.empty() || told.insert(line + ' ' + rule.family).second) tell_rule(rule);
    }
    tell_memory();
    tell_failures();
    sentences_.emplace_back(workflow_.files.empty() ? "All files are ordinary files on disk"
                                                    : "All other files are ordinary files on disk");
    return std::move(sentences_);
  }

 private:
  void add(std::string sentence) { sentences_.push_back(std::move(sentence)); }

  [[nodiscard]] std::string name_of(const std::string& component) const { return shown_.at(component); }
  [[nodiscard]] std::vector<std::string> names_of(const std::vector<std::string>& components) const {
    std::vector<std::string> names;
    for (const std::string& component : components) {
      const std::string name = name_of(component);
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
    return names;
  }

  void tell_starts() {
    std::vector<std::string> at_once;
    std::vector<std::string> later;
    for (const Component& component : workflow_.components) {
      if (component.instance != 0) continue;
      if (component.for_each) {
        later.push_back(job_sentence(component));
      } else if (component.starts_when_done) {
        const std::set<std::string> writers = workflows::writers_for(workflow_, component.name);
        later.push_back(name_of(component.name) + " starts when " +
                        enumerated(names_of({writers.begin(), writers.end()})) +
                        (writers.size() == 1 ? " has ended" : " have ended"));
      } else if (component.ensemble.empty()) {
        at_once.push_back(component.name);
      } else {
        later.push_back("the " + std::to_string(component.instances) + " members of " + component.ensemble +
                        " start" +
                        (component.at_most > 0 ? ", " + std::to_string(component.at_most) + " at a time"
                                               : " with the run"));
      }
    }
    if (!at_once.empty())
      add(enumerated(at_once) + (at_once.size() == 1 ? " starts with the run" : " start together"));
    for (std::string& sentence : later) add(std::move(sentence));
  }

  [[nodiscard]] static std::string job_sentence(const Component& component) {
    const workflows::ForEach& jobs = *component.for_each;
    return component.name + " starts once for " +
           (jobs.is_latest ? "the newest file of '"
            : jobs.every == 1
                ? "each file of '"
                : "the first and each " + std::to_string(jobs.every) + "th file behind it of '") +
           jobs.pattern + "', as soon as it is published, " + std::to_string(jobs.at_most) + " at a time";
  }

  /// The readers that are told with the rule; those with `for-each` start when a file is there.
  [[nodiscard]] std::vector<std::string> waiting_readers(const FileRule& rule) const {
    std::vector<std::string> readers;
    for (const std::string& reader : rule.readers) {
      const auto found = std::ranges::find(workflow_.components, reader, &Component::name);
      if (found != workflow_.components.end() && !workflows::starts_later(*found)) readers.push_back(reader);
    }
    return names_of(readers);
  }

  void tell_rule(const FileRule& rule) {
    const std::string writer = name_of(rule.writer);
    const std::string files = "'" + (rule.family.empty() ? rule.pattern : rule.family) + "'";
    add(writer + " hands files " + files + " to " + enumerated(names_of(rule.readers)) + medium_of(rule));
    if (const auto readers = waiting_readers(rule); !readers.empty()) {
      add("an open of " + files + " in " + enumerated(readers) + " waits until " + writer + " has " +
          published_word(rule));
    }
    tell_modes(rule, files);
    tell_queue(rule, files, writer);
    tell_rest(rule, files);
  }

  [[nodiscard]] static std::string medium_of(const FileRule& rule) {
    switch (rule.through) {
      case Through::memory:
        return " through memory";
      case Through::burst_buffer:
        return " through burst-buffer logs on a local disk";
      case Through::file:
      case Through::ordered_file:
        return " through ordinary files on disk";
      default:
        return " through " + std::string(matcher::word_of(rule.through)) + " on disk";
    }
  }

  [[nodiscard]] static std::string published_word(const FileRule& rule) {
    if (rule.publish_at == workflows::PublishAt::sync) return "synced or closed the file";
    if (rule.publish_at == workflows::PublishAt::write) return "created it; a get waits for its data";
    if (rule.closes == 0) return "ended";
    if (rule.closes > 1) return "closed it " + std::to_string(rule.closes) + " times";
    return "closed it";
  }

  [[nodiscard]] std::string what_passes_by_netcdf(const FileRule& rule, const std::string& files) const {
    const std::string seen =
        rule.publish_at == workflows::PublishAt::sync ? ", at each sync" : ", at each put";
    return "what " + name_of(rule.writer) + " puts into files of " + files +
           " by PnetCDF and netCDF passes as hyperslabs" + seen +
           "; files of other kinds pass when they are closed";
  }

  void tell_modes(const FileRule& rule, const std::string& files) {
    std::set<std::string> told;
    for (const matcher::ReaderMode& mode : rule.modes) {
      const std::string reader = name_of(mode.reader);
      if (!told.insert(reader).second) continue;
      add(mode.mode == matcher::ReadMode::latest
              ? reader + " takes the newest file of " + files + ", and skips those before it"
              : reader + " takes the first and each " + std::to_string(mode.every) + "th file behind it of " +
                    files + ", and skips the others");
    }
    if (rule.is_stream) add("opens of one name go through its steps in order");
    if (rule.has_hyperslabs && rule.publish_at != workflows::PublishAt::close)
      add(what_passes_by_netcdf(rule, files));
  }

  void tell_queue(const FileRule& rule, const std::string& files, const std::string& writer) {
    if (rule.queue == 0) return;
    const std::string full = "when " + format_count(rule.queue, "file") + " of " + files +
                             (rule.queue == 1 ? " is unread, " : " are unread, ");
    add(full + (rule.when_full == matcher::WhenFull::wait ? writer + " waits before it creates another one"
                : rule.when_full == matcher::WhenFull::discard ? "the oldest of them is discarded"
                                                               : "further ones go to disk"));
  }

  /// What is left when all have read a file.
  void tell_rest(const FileRule& rule, const std::string& files) {
    if (rule.through == Through::burst_buffer) {
      add("each file of " + files + " is also written to disk in the background, and stays there");
    } else if (matcher::is_in_files(rule.through)) {
      add("files of " + files + " stay on disk");
    } else if (rule.keep.keeps && !rule.keep.variables.empty()) {
      add("of each file of " + files + " the variables " + enumerated(rule.keep.variables) +
          " are also written to disk in the background");
    } else if (rule.keep.keeps) {
      add("each file of " + files + " is also written to disk in the background, and stays there");
    } else {
      tell_end(rule, files);
    }
    if (rule.exposes)
      add("while the run goes on, published files of " + files + " are linked into their directories");
  }

  /// How long a file is there that memory alone has.
  void tell_end(const FileRule& rule, const std::string& files) {
    std::vector<std::string> unknown;  // nobody knows how many of their processes read a file
    for (const Component& component : workflow_.components) {
      const bool reads = std::ranges::find(rule.readers, component.name) != rule.readers.end();
      if (reads && component.ranks == 0 && !component.for_each) unknown.push_back(component.name);
    }
    if (unknown.empty() || rule.is_stream)
      return add("a file of " + files +
                 " is discarded when all its readers have closed it; nothing of it stays on disk");
    const std::string readers = enumerated(names_of(unknown));
    const bool is_one = names_of(unknown).size() == 1;
    add("a file of " + files + " stays until " + readers + (is_one ? " has" : " have") +
        " ended, because nobody knows how many processes of " + readers + " read it ('ranks: 1' if " +
        (is_one ? "it is" : "each is") +
        " one process, or 'for-each'); where memory is short, what was read goes first; nothing of it stays "
        "on disk");
  }

  void tell_memory() {
    const bool uses_memory = std::ranges::any_of(
        workflow_.files, [](const FileRule& rule) { return rule.through == Through::memory; });
    if (!uses_memory) return;
    const std::string where = !workflow_.spill_directory.empty()
                                  ? "goes to " + workflow_.spill_directory.lexically_normal().string()
                              : workflow_.has_automatic_spill ? "goes to the disk of the workflow file"
                                                              : "waits for readers, and so do its writers";
    add("data beyond " + format_bytes(workflow_.memory_bytes) + " of memory " + where);
  }

  void tell_failures() {
    std::vector<std::string> stopping;
    for (const Component& component : workflow_.components) {
      if (component.instance != 0) continue;
      const std::string name = name_of(component.name);
      if (component.failure.restarts > 0)
        add("when " + name + " fails, it is started again, at most " +
            format_count(static_cast<std::uint64_t>(component.failure.restarts), "time"));
      const bool stops =
          component.failure.stops_run ||
          (component.for_each && component.for_each->on_failure == workflows::ForEach::OnFailure::stop);
      if (stops) stopping.push_back(name);
    }
    if (!stopping.empty())
      add("when " + enumerated(stopping) + (stopping.size() == 1 ? " fails" : " fail") + ", the run stops");
  }

  const Workflow& workflow_;
  std::map<std::string, std::string> shown_;
  std::vector<std::string> sentences_;
};

}  // namespace

std::vector<std::string> foretell(const Workflow& workflow) {
  std::vector<std::string> sentences = Forecast(workflow).make();
  for (std::string& sentence : sentences) sentence += '.';
  return sentences;
}

}  // namespace sluice::coordinator
