#include "gather_runs.hpp"

#include <climits>

namespace sluice::api {
namespace {

std::uint64_t mixed(std::uint64_t value) noexcept {
  // Source: the finaliser of SplitMix64.
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

/// This process's share of the id; the id is the sum of all shares.
PatternId share_of(int rank, const std::vector<formats::ElementRun>& runs) noexcept {
  PatternId share{mixed(static_cast<std::uint64_t>(rank) + 1),
                  mixed(static_cast<std::uint64_t>(rank) + (1ULL << 40))};
  for (const auto& run : runs) {
    for (auto& word : share) {
      word = mixed(word ^ static_cast<std::uint64_t>(run.offset));
      word = mixed(word + static_cast<std::uint64_t>(run.length));
    }
  }
  return share;
}

}  // namespace

std::vector<AgreedPattern> agree_on_patterns(const Communicator& comm, std::span<const PutPattern> patterns) {
  constexpr std::size_t words = 4;
  std::vector<std::uint64_t> sums(patterns.size() * words);
  for (std::size_t i = 0; i < patterns.size(); ++i) {
    const auto share = share_of(comm.rank(), patterns[i].runs());
    sums[i * words] = share[0];
    sums[i * words + 1] = share[1];
    sums[i * words + 2] = patterns[i].is_put() ? 1 : 0;
    sums[i * words + 3] = patterns[i].is_regular() ? 0 : 1;
  }
  if (sums.size() > INT_MAX) throw Error(NC_EINTOVERFLOW, "too many variables for the layout in blobs");
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, sums.data(), static_cast<int>(sums.size()), MPI_UINT64_T, MPI_SUM,
                          comm.get()),
            "compare what the processes put");
  std::vector<AgreedPattern> agreed(patterns.size());
  for (std::size_t i = 0; i < patterns.size(); ++i)
    agreed[i] = {static_cast<int>(sums[i * words + 2]),
                 sums[i * words + 3] == 0,
                 {sums[i * words], sums[i * words + 1]}};
  return agreed;
}

PatternId id_of_pattern(const std::vector<std::vector<formats::ElementRun>>& runs_of_processes) {
  PatternId id{};
  for (std::size_t rank = 0; rank < runs_of_processes.size(); ++rank) {
    const auto share = share_of(static_cast<int>(rank), runs_of_processes[rank]);
    id[0] += share[0];
    id[1] += share[1];
  }
  return id;
}

std::vector<std::vector<std::int64_t>> gather_numbers(const Communicator& comm,
                                                      const std::vector<std::int64_t>& mine) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  std::vector<std::int64_t> sizes(ranks);
  const auto size = static_cast<std::int64_t>(mine.size());
  check_mpi(MPI_Allgather(&size, 1, MPI_INT64_T, sizes.data(), 1, MPI_INT64_T, comm.get()), "count requests");
  std::vector<int> counts;
  std::vector<int> begins;
  std::int64_t total = 0;
  for (const std::int64_t each : sizes) {
    begins.push_back(static_cast<int>(total));
    counts.push_back(static_cast<int>(each));
    total += each;
    if (total > INT_MAX) throw Error(NC_EINTOVERFLOW, "too many requests for one decomposition map");
  }
  std::vector<std::int64_t> all(static_cast<std::size_t>(total));
  check_mpi(MPI_Allgatherv(mine.data(), static_cast<int>(size), MPI_INT64_T, all.data(), counts.data(),
                           begins.data(), MPI_INT64_T, comm.get()),
            "gather requests");
  std::vector<std::vector<std::int64_t>> result;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto first = all.begin() + begins[rank];
    result.emplace_back(first, first + counts[rank]);
  }
  return result;
}

std::vector<std::vector<formats::ElementRun>> gather_runs(const Communicator& comm,
                                                          const std::vector<formats::ElementRun>& mine) {
  std::vector<std::int64_t> numbers;
  for (const auto& run : mine) numbers.insert(numbers.end(), {run.offset, run.length});
  std::vector<std::vector<formats::ElementRun>> result;
  for (const auto& each : gather_numbers(comm, numbers)) {
    auto& runs = result.emplace_back();
    for (std::size_t i = 0; i + 1 < each.size(); i += 2) runs.push_back({each[i], each[i + 1]});
  }
  return result;
}

}  // namespace sluice::api
