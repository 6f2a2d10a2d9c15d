#include "status_text.hpp"

#include <algorithm>
#include <sstream>
#include <vector>

#include "format.hpp"
#include "wait_sentences.hpp"

namespace sluice::coordinator {
namespace {

using matcher::ComponentView;
using matcher::FileUser;
using matcher::FileView;
using runtime::RunView;
using Rows = std::vector<std::vector<std::string>>;

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

/// The first lines of a block, where it has more than `most`; the last of them counts the others.
std::string shortened(const std::string& block, std::size_t most, const std::string& what) {
  const std::size_t count = lines_in(block);
  if (count <= most) return block;
  const std::size_t kept = most > 0 ? most - 1 : 0;
  std::size_t end = 0;
  for (std::size_t i = 0; i < kept; ++i) end = block.find('\n', end) + 1;
  return block.substr(0, end) + "and " + format_count(count - kept, what) + " more: --files shows all\n";
}

std::string seconds_text(std::uint64_t milliseconds) {
  return std::to_string(milliseconds / 1000) + " s";
}

std::string rate_text(double rate) {
  return format_bytes(static_cast<std::uint64_t>(rate)) + "/s";
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string describe_memory(const RunView& view) {
  std::string text;
  for (std::size_t node = 0; node < view.nodes.size(); ++node) {
    const matcher::NodeView& figures = view.nodes[node];
    text += view.nodes.size() > 1 ? "memory of node " + std::to_string(node) + ": " : "memory: ";
    text += format_bytes(figures.used_bytes) + " of " + format_bytes(figures.limit_bytes) + ", at most " +
            format_bytes(figures.peak_bytes) + " so far";
    if (figures.spilled_bytes > 0) text += "; " + format_bytes(figures.spilled_bytes) + " spilled";
    text += "\n";
  }
  return text;
}

/// Bytes are counted when a process closes a file.
std::string describe_traffic(const Traffic& traffic) {
  return "closed files: put " + format_bytes(traffic.put_bytes) + " (" + rate_text(traffic.put_rate) +
         "), got " + format_bytes(traffic.get_bytes) + " (" + rate_text(traffic.get_rate) + ")" +
         (traffic.opened_bytes > 0 ? ", opened " + format_bytes(traffic.opened_bytes) : "") + "\n";
}

/// What the processes of a component do that use coupled files now.
struct Doings {
  std::uint32_t computing = 0, in_mpi = 0, copying = 0, waiting = 0, sleeping = 0, on_disk = 0, stopped = 0;
};

Doings doings_of(const ComponentView& component, const RunView& view, const ProcessStates& states) {
  Doings doings;
  std::uint32_t left = component.connected;
  const auto take = [&left](std::uint32_t wanted) {
    const std::uint32_t taken = std::min(left, wanted);
    left -= taken;
    return taken;
  };
  doings.waiting = take(component.waiting);
  for (const runtime::GatheringStatus& gathering : view.gatherings)
    if (gathering.component == component.name) doings.in_mpi += take(gathering.present);
  for (const matcher::CopyStatus& copy : view.copies)
    if (copy.component == component.name) doings.copying += take(copy.processes);
  const auto take_own = [&](const RankSets& sets) {
    const auto own = sets.find(component.name);
    return own == sets.end() ? 0 : take(static_cast<std::uint32_t>(own->second.size()));
  };
  doings.in_mpi += take_own(states.in_mpi);
  doings.stopped = take_own(states.stopped);
  doings.on_disk = take_own(states.on_disk);
  doings.sleeping = take_own(states.sleeping);
  doings.computing = left;
  return doings;
}

/// "2 compute, 1 is in MPI"; of one kind alone "computes" and "all compute".
std::string describe_doings(const Doings& doings) {
  struct Kind {
    std::uint32_t processes;
    const char *one, *several;
  };
  std::vector<Kind> kinds{{doings.computing, "computes", "compute"},
                          {doings.in_mpi, "is in MPI", "are in MPI"},
                          {doings.copying, "copies", "copy"},
                          {doings.waiting, "waits", "wait"},
                          {doings.on_disk, "waits for a disk", "wait for a disk"},
                          {doings.sleeping, "sleeps", "sleep"},
                          {doings.stopped, "is stopped", "are stopped"}};
  std::erase_if(kinds, [](const Kind& kind) { return kind.processes == 0; });
  if (kinds.size() == 1) {
    const Kind& only = kinds.front();
    return only.processes == 1 ? only.one : std::string("all ") + only.several;
  }
  std::string text;
  for (const Kind& kind : kinds) {
    text += (text.empty() ? "" : ", ") + std::to_string(kind.processes) + " " +
            (kind.processes == 1 ? kind.one : kind.several);
  }
  return text;
}

std::string state_of(const ComponentView& component, const RunView& view, const ProcessStates& states) {
  if (component.has_exited) return component.how;
  if (!component.has_connected) return "has not used a coupled file yet";
  if (component.connected == 0) return "has no process now that uses coupled files";
  return describe_doings(doings_of(component, view, states));
}

std::string describe_components(const RunView& view, const ProcessStates& states) {
  Rows rows{{"component", "processes", "state"}};
  for (const ComponentView& component : view.components) {
    const std::string there = std::to_string(component.connected);
    rows.push_back({component.name,
                    component.processes == 0 ? there : there + " of " + std::to_string(component.processes),
                    state_of(component, view, states)});
  }
  return format_table(rows, {false, true, false});
}

/// `status`: a WaitStatus or a CopyStatus.
std::string ranks_text(const auto& status) {
  if (status.ranks.empty() || status.processes == 1) {
    return status.ranks.empty() ? "" : ", rank " + std::to_string(status.ranks.front());
  }
  std::string text;
  for (const std::uint32_t rank : status.ranks)
    text += (text.empty() ? ", ranks " : " ") + std::to_string(rank);
  return text + (status.ranks.size() < status.processes ? " …" : "");
}

/// "ranks 1 2 of model are in calls of MPI"
std::string describe_own_calls(const RankSets& in_mpi) {
  constexpr std::size_t most_ranks = 8;
  std::string text;
  for (const auto& [component, ranks] : in_mpi) {
    text += ranks.size() == 1 ? "rank" : "ranks";
    std::size_t shown = 0;
    for (const std::uint32_t rank : ranks)
      if (shown++ < most_ranks) text += " " + std::to_string(rank);
    text += (ranks.size() > most_ranks ? " … of " : " of ") + component +
            (ranks.size() == 1 ? " is in a call of MPI\n" : " are in calls of MPI\n");
  }
  return text;
}

std::string describe_waits(const RunView& view) {
  std::string text;
  for (const runtime::WaitStatus& wait : view.waits) text += describe_wait(wait) + ranks_text(wait) + "\n";
  for (const runtime::GatheringStatus& gathering : view.gatherings)
    text += describe_gathering(gathering) + "\n";
  if (text.empty()) text = "nobody waits\n";
  for (const matcher::CopyStatus& copy : view.copies) text += describe_copy(copy) + ranks_text(copy) + "\n";
  return text;
}

std::string describe_rules(const RunView& view) {
  Rows rows{{"files", "published", "steps", "put", "got", "replayed", "opened"}};
  for (std::size_t i = 0; i < view.rules.size(); ++i) {
    matcher::AccessCounters sum;
    for (const matcher::RuleUse& use : view.uses)
      if (use.rule == i) sum += use.counters;
    const matcher::RuleTotals& totals = view.rules[i].totals;
    rows.push_back({view.rules[i].pattern, std::to_string(totals.files), std::to_string(totals.steps),
                    format_bytes(sum.put_bytes), format_bytes(sum.get_bytes),
                    std::to_string(sum.replayed_gets) + " of " + std::to_string(sum.gets),
                    format_bytes(sum.opened_bytes)});
  }
  return view.rules.empty() ? "" : format_table(rows, {false, true, true, true, true, true, true});
}

std::string describe_user(const FileUser& user) {
  return std::string(user.is_writing ? "written" : "read") + " by " + user.component +
         (user.processes > 1 ? " (" + std::to_string(user.processes) + ")" : "") + " for " +
         seconds_text(user.since_ms);
}

std::string describe_file(const FileView& file) {
  std::vector<std::string> parts;
  for (const FileUser& user : file.users) parts.push_back(describe_user(user));
  if (file.is_published && !file.read_by.empty()) parts.push_back("was read by " + joined(file.read_by));
  std::vector<std::string> unread = file.unread_by;
  std::erase_if(unread, [&](const std::string& reader) {
    return std::ranges::any_of(file.users, [&](const FileUser& user) { return user.component == reader; }) ||
           std::ranges::find(file.read_by, reader) != file.read_by.end();
  });
  if (file.is_published && !unread.empty()) parts.push_back("not yet read by " + joined(unread));
  return joined(parts);
}

std::string describe_files(const RunView& view, std::size_t most_lines) {
  Rows rows;
  for (const FileView& file : view.files)
    rows.push_back({file.name, format_bytes(file.bytes), describe_file(file)});
  std::string text = shortened(format_table(rows, {false, true, false}), most_lines, "file");
  if (view.more_files > 0)
    text += "and " + format_count(view.more_files, "step") + " more that readers have not finished\n";
  for (const runtime::DrainStatus& drain : view.drains) {
    text += drain.name + " is being written to disk: " + format_bytes(drain.done_bytes) + " of " +
            format_bytes(drain.total_bytes);
    if (view.waiting_drains > 0)
      text += "; " + format_count(view.waiting_drains, "more file") + " will follow";
    text += "\n";
  }
  return text.empty() ? "no file is open or unread\n" : text;
}

}  // namespace

Traffic traffic_of(const RunView& view, const std::optional<RunView>& earlier) {
  const auto sum_of = [](const RunView& of) {
    matcher::AccessCounters sum;
    for (const matcher::RuleUse& use : of.uses) sum += use.counters;
    return sum;
  };
  const matcher::AccessCounters now = sum_of(view);
  const matcher::AccessCounters before = earlier ? sum_of(*earlier) : matcher::AccessCounters{};
  const std::uint64_t before_ms = earlier ? earlier->now_ms : 0;
  constexpr double ms_in_a_second = 1000;
  const double seconds =
      static_cast<double>(std::max<std::uint64_t>(view.now_ms - std::min(view.now_ms, before_ms), 1)) /
      ms_in_a_second;
  return {now.put_bytes, now.get_bytes, now.opened_bytes,
          static_cast<double>(now.put_bytes - before.put_bytes) / seconds,
          static_cast<double>(now.get_bytes - before.get_bytes) / seconds};
}

std::string describe_status(const RunView& view, const std::optional<RunView>& earlier,
                            const ProcessStates& states, std::size_t most_lines) {
  const std::string traffic = describe_traffic(traffic_of(view, earlier));
  // Each block may have a part of what is left, and the files may have the rest.
  std::size_t left = std::max(most_lines, std::size_t{1}) - 1;
  const auto take = [&](const std::string& block, std::size_t parts, const std::string& what) {
    std::string text = shortened(block, std::max(left / parts, std::size_t{3}), what);
    left -= std::min(left, lines_in(text) + 1);
    return text;
  };
  const std::string waits = take(describe_waits(view) + describe_own_calls(states.in_mpi), 3, "wait or copy");
  const std::string components = take(describe_components(view, states), 2, "component");
  const std::string memory = take(describe_memory(view), 3, "node");
  const std::string rules = take(describe_rules(view), 2, "rule");
  return components + "\n" + waits + "\n" + memory + traffic + "\n" + rules + "\n" +
         describe_files(view, left);
}

std::string fit_to_screen(const std::string& text, std::size_t columns, std::size_t lines) {
  std::istringstream stream(text);
  std::string fitted;
  std::string line;
  for (std::size_t number = 0; number < lines && std::getline(stream, line); ++number) {
    std::size_t characters = 0;
    std::size_t end = 0;
    for (; end < line.size(); ++end) {  // a byte 10xxxxxx continues a character
      const bool begins_character = (static_cast<unsigned char>(line[end]) & 0xc0) != 0x80;
      if (begins_character && characters++ == columns) break;
    }
    fitted += line.substr(0, end) + "\n";
  }
  return fitted;
}

}  // namespace sluice::coordinator
