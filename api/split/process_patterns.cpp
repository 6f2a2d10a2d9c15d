#include "process_patterns.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "gather_runs.hpp"

namespace sluice::api {
namespace {

using formats::Blobs;
using formats::ElementRun;
using Runs = std::vector<ElementRun>;
using RunsOfProcesses = std::vector<Runs>;

/// Sorts the runs, removes overlaps and joins neighbours.
Runs united(Runs runs) {
  std::sort(runs.begin(), runs.end(),
            [](const ElementRun& a, const ElementRun& b) { return a.offset < b.offset; });
  Runs result;
  for (const auto& run : runs) {
    const std::int64_t end = run.offset + run.length;
    if (!result.empty() && run.offset <= result.back().offset + result.back().length)
      result.back().length = std::max(result.back().length, end - result.back().offset);
    else
      result.push_back(run);
  }
  return result;
}

bool are_disjoint(const RunsOfProcesses& all) {
  Runs sorted;
  for (const auto& runs : all) sorted.insert(sorted.end(), runs.begin(), runs.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const ElementRun& a, const ElementRun& b) { return a.offset < b.offset; });
  const auto overlap = std::adjacent_find(
      sorted.begin(), sorted.end(),
      [](const ElementRun& a, const ElementRun& b) { return a.offset + a.length > b.offset; });
  return overlap == sorted.end();
}

/// A run that a process has put in a collective call.
struct RankedRun {
  ElementRun run;
  std::int64_t call = 0;
  int rank = 0;
};

/// Assigns each element to one process: the later call wins, then the lower rank.
RunsOfProcesses winners_of(std::vector<RankedRun> runs, int ranks) {
  std::stable_sort(runs.begin(), runs.end(), [](const RankedRun& a, const RankedRun& b) {
    return std::tuple(-a.call, a.rank) < std::tuple(-b.call, b.rank);
  });
  std::map<std::int64_t, std::int64_t> taken;  // begin to end, disjoint
  RunsOfProcesses result(static_cast<std::size_t>(ranks));
  for (const auto& [run, call, rank] : runs) {
    auto& mine = result[static_cast<std::size_t>(rank)];
    const std::int64_t end = run.offset + run.length;
    std::int64_t at = run.offset;
    auto next = taken.upper_bound(at);
    if (next != taken.begin() && std::prev(next)->second > at) at = std::prev(next)->second;
    while (at < end) {
      const std::int64_t free_end = next == taken.end() ? end : std::min(end, next->first);
      if (at < free_end) {
        mine.push_back({at, free_end - at});
        taken.emplace(at, free_end);
      }
      if (next == taken.end()) break;
      at = std::max(at, next->second);
      ++next;
    }
  }
  for (auto& each : result) each = united(std::move(each));
  return result;
}

/// The runs of one record, if a process has the same runs in all records or none in any record.
std::optional<Runs> in_each_record(const Runs& runs, std::int64_t record_elements, std::int64_t records) {
  std::vector<Runs> parts(static_cast<std::size_t>(records));
  for (auto run : runs) {
    while (run.length > 0) {
      const std::int64_t record = run.offset / record_elements;
      const std::int64_t offset = run.offset % record_elements;
      const std::int64_t length = std::min(run.length, record_elements - offset);
      parts[static_cast<std::size_t>(record)].push_back({offset, length});
      run.offset += length;
      run.length -= length;
    }
  }
  const bool is_same =
      std::all_of(parts.begin(), parts.end(), [&](const Runs& part) { return part == parts.front(); });
  if (!is_same) return std::nullopt;
  return parts.empty() ? Runs{} : parts.front();
}

/// Decides how to store the variables; all ranks make the same decision.
class Decision {
 public:
  Decision(const Communicator& comm, const formats::Header& header, const PutParts& parts)
      : comm_(comm), header_(header), parts_(parts) {}

  Blobs decide(int files) {
    blobs_.are_of_processes = true;
    blobs_.processes = comm_.size();
    blobs_.files = files;
    const int variables = header_.variable_count();
    blobs_.kept.assign(static_cast<std::size_t>(variables), Blobs::undecided);
    std::vector<PutPattern> patterns;
    patterns.reserve(static_cast<std::size_t>(variables));
    for (int id = 0; id < variables; ++id) patterns.push_back(pattern_by_record(id));
    auto agreed = agree_on_patterns(comm_, patterns);
    const auto irregular = replace_irregular(patterns, agreed);
    for (int id = 0; id < variables; ++id) {
      const auto i = static_cast<std::size_t>(id);
      if (agreed[i].putters > 0) blobs_.kept[i] = kept_as(id, patterns[i], agreed[i].id, irregular[i]);
    }
    for (int map = 1; map <= static_cast<int>(blobs_.maps.size()); ++map) blobs_.order.push_back(-map);
    for (int id = 0; id < variables; ++id) {
      if (blobs_.kept[static_cast<std::size_t>(id)] != Blobs::undecided) blobs_.order.push_back(id);
    }
    return std::move(blobs_);
  }

 private:
  static constexpr int contested = -2;  ///< several processes have put the same elements

  /// This process's runs in each record of the variable.
  [[nodiscard]] std::map<std::int64_t, Runs> records_of(int varid) const {
    std::map<std::int64_t, Runs> records;
    auto part = parts_.lower_bound({varid, 0, 0});
    for (; part != parts_.end() && part->first.varid == varid; ++part) {
      auto& runs = records[part->first.record];
      runs.insert(runs.end(), part->second.runs.begin(), part->second.runs.end());
    }
    for (auto& [record, runs] : records) runs = united(std::move(runs));
    return records;
  }

  [[nodiscard]] PutPattern pattern_by_record(int varid) const {
    PutPattern pattern;
    const auto records = records_of(varid);
    for (const auto& [record, runs] : records) pattern.add(runs);
    const auto count = static_cast<std::int64_t>(records.size());
    if (header_.is_record_variable(varid) && count != 0 && count != header_.record_count)
      pattern.set_irregular();
    return pattern;
  }

  [[nodiscard]] ElementRun in_all_records(int varid, std::int64_t record, const ElementRun& run) const {
    std::int64_t offset = 0;
    if (__builtin_mul_overflow(header_.elements_per_record(varid), record, &offset) ||
        __builtin_add_overflow(offset, run.offset, &offset))
      throw Error(NC_EINTOVERFLOW, "a variable has more than 2^63 - 1 elements");
    return {offset, run.length};
  }

  [[nodiscard]] PutPattern pattern_of_all(int varid) const {
    Runs all;
    for (const auto& [record, runs] : records_of(varid)) {
      for (const auto& run : runs) all.push_back(in_all_records(varid, record, run));
    }
    PutPattern pattern;
    if (!all.empty()) pattern.add(united(std::move(all)));
    return pattern;
  }

  /// Collective: for variables whose records differ, replaces the pattern of a record by one of all records.
  /// Returns which variables these are.
  std::vector<bool> replace_irregular(std::vector<PutPattern>& patterns, std::vector<AgreedPattern>& agreed) {
    std::vector<bool> irregular(patterns.size());
    std::vector<std::size_t> ids;
    std::vector<PutPattern> replaced;
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      if (agreed[i].is_regular) continue;
      irregular[i] = true;
      ids.push_back(i);
      replaced.push_back(pattern_of_all(static_cast<int>(i)));
    }
    const auto again = agree_on_patterns(comm_, replaced);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      patterns[ids[i]] = std::move(replaced[i]);
      agreed[ids[i]] = again[i];
    }
    return irregular;
  }

  [[nodiscard]] std::vector<int> dimensions_of(int varid, bool with_records) const {
    auto dimids = header_.variable(varid).dimids;
    if (header_.is_record_variable(varid) && !with_records) dimids.erase(dimids.begin());
    return dimids;
  }

  int kept_as(int varid, const PutPattern& mine, const PatternId& id, bool with_records) {
    const auto dimids = dimensions_of(varid, with_records);
    const auto key = std::pair(id, formats::lengths_of(header_, dimids));
    auto found = kept_of_pattern_.find(key);
    if (found == kept_of_pattern_.end()) {
      auto runs = gather_runs(comm_, mine.runs());
      const int kept = are_disjoint(runs) ? add_map(dimids, std::move(runs)) : contested;
      found = kept_of_pattern_.emplace(key, kept).first;
    }
    return found->second == contested ? settle(varid) : found->second;
  }

  /// Adds a map. If the first process has all elements, the variable is stored whole.
  int add_map(const std::vector<int>& dimids, RunsOfProcesses runs) {
    formats::DecompositionMap map{dimids, std::move(runs)};
    const bool is_of_first =
        std::all_of(map.runs.begin() + 1, map.runs.end(), [](const Runs& each) { return each.empty(); });
    if (is_of_first && !formats::has_records(header_, map) &&
        formats::coverage_of(map, formats::elements_of_map(header_, map)) == formats::Coverage::each_once)
      return Blobs::whole;
    blobs_.maps.push_back(std::move(map));
    return static_cast<int>(blobs_.maps.size());
  }

  /// Collective: assigns the elements of a variable that several processes have put.
  int settle(int varid) {
    std::vector<std::int64_t> numbers;
    auto part = parts_.lower_bound({varid, 0, 0});
    for (; part != parts_.end() && part->first.varid == varid; ++part) {
      for (const auto& each : part->second.runs) {
        const auto run = in_all_records(varid, part->first.record, each);
        numbers.insert(numbers.end(), {run.offset, run.length, part->first.call});
      }
    }
    std::vector<RankedRun> ranked;
    const auto all = gather_numbers(comm_, numbers);
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      for (std::size_t i = 0; i + 2 < all[rank].size(); i += 3)
        ranked.push_back({{all[rank][i], all[rank][i + 1]}, all[rank][i + 2], static_cast<int>(rank)});
    }
    auto runs = winners_of(std::move(ranked), comm_.size());
    bool with_records = header_.is_record_variable(varid);
    if (with_records) {
      RunsOfProcesses by_record;
      for (const auto& each : runs) {
        auto same = in_each_record(each, header_.elements_per_record(varid), header_.record_count);
        if (same) by_record.push_back(std::move(*same));
      }
      with_records = by_record.size() != runs.size();
      if (!with_records) runs = std::move(by_record);
    }
    const auto dimids = dimensions_of(varid, with_records);
    const auto key = std::pair(id_of_pattern(runs), formats::lengths_of(header_, dimids));
    const auto found = kept_of_pattern_.find(key);
    if (found != kept_of_pattern_.end()) return found->second;
    const int kept = add_map(dimids, std::move(runs));
    kept_of_pattern_.emplace(key, kept);
    return kept;
  }

  const Communicator& comm_;
  const formats::Header& header_;
  const PutParts& parts_;
  Blobs blobs_;
  /// The decision for a pattern of puts and the lengths of the dimensions.
  std::map<std::pair<PatternId, std::vector<std::int64_t>>, int> kept_of_pattern_;
};

}  // namespace

formats::Blobs decide_process_blobs(const Communicator& comm, const formats::Header& header,
                                    const PutParts& parts, int files) {
  return Decision(comm, header, parts).decide(files);
}

}  // namespace sluice::api
