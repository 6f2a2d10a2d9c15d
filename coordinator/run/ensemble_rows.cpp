#include "ensemble_rows.hpp"

#include <algorithm>

#include "format.hpp"

namespace sluice::coordinator {
namespace {

using Row = std::vector<std::string>;

constexpr std::size_t most_members_named = 5;

bool has_failed(const ComponentOutcome& component) {
  return !component.problem.empty() || (component.end && component.end->failed());
}

std::string counts(std::span<const ComponentOutcome> members) {
  const auto count = [&](const auto& condition) {
    return static_cast<std::size_t>(std::ranges::count_if(members, condition));
  };
  const std::size_t failed = count(has_failed);
  const std::size_t not_started =
      count([](const ComponentOutcome& member) { return !member.end && member.problem.empty(); });
  std::string text = std::to_string(members.size() - failed - not_started) + " finished";
  if (failed > 0) text += ", " + std::to_string(failed) + " failed";
  if (not_started > 0) text += ", " + std::to_string(not_started) + " not started";
  return text;
}

Row member_row(const ComponentOutcome& member, const std::string& first_failed) {
  return {"  " + member.name, "", format_duration(member.duration), end_text(member, first_failed)};
}

}  // namespace

std::vector<Row> ensemble_rows(std::span<const ComponentOutcome> members, const std::string& first_failed) {
  const ComponentOutcome& first = members.front();
  const auto longest = std::ranges::max_element(members, {}, &ComponentOutcome::duration);
  std::vector<Row> rows{{first.ensemble + " (" + format_count(members.size(), "instance") + ")",
                         first.ranks == 0 ? "-" : std::to_string(first.ranks),
                         format_duration(longest->duration), counts(members)}};
  std::size_t more = 0;
  for (const ComponentOutcome& member : members) {
    if (!has_failed(member) && member.starts <= 1) continue;
    if (rows.size() > most_members_named && member.name != first_failed) {
      ++more;
    } else {
      rows.push_back(member_row(member, first_failed));
    }
  }
  if (more > 0)
    rows.push_back({"  and " + std::to_string(more) + " more", "", "", "the event log names them"});
  return rows;
}

std::string end_text(const ComponentOutcome& component, const std::string& first_failed) {
  std::string end = !component.problem.empty() ? component.problem
                    : component.had_ended      ? "had ended before the run was resumed"
                    : component.jobs           ? component.jobs->describe()
                    : component.end            ? component.end->describe()
                                               : "was not started";
  if (component.starts > 1)
    end += " after " + format_count(static_cast<std::uint64_t>(component.starts - 1), "restart");
  if (component.name == first_failed) end += "  <- failed first";
  return end;
}

}  // namespace sluice::coordinator
