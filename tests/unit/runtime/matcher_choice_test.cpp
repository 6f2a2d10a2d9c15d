#include "sluice/runtime/matcher_choice.hpp"

#include <doctest/doctest.h>

#include <map>
#include <vector>

using namespace sluice::runtime;

namespace {

WorldPlace place_with(const std::map<std::string, std::string>& variables) {
  return world_place([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::vector<std::uint32_t> indexes(std::uint32_t size, MatcherShares shares) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t rank = 0; rank < size; ++rank) all.push_back(matcher_index({rank, size, rank}, shares));
  return all;
}

using Indexes = std::vector<std::uint32_t>;

}  // namespace

TEST_SUITE("matcher choice") {
  TEST_CASE("the launcher's environment tells the rank") {
    const WorldPlace open_mpi = place_with(
        {{"OMPI_COMM_WORLD_RANK", "5"}, {"OMPI_COMM_WORLD_SIZE", "8"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}});
    CHECK(open_mpi.rank == 5);
    CHECK(open_mpi.size == 8);
    CHECK(open_mpi.local_rank == 1);
    CHECK(place_with({{"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "4"}, {"SLURM_LOCALID", "0"}}).rank == 2);
    CHECK(place_with({{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}}).local_rank == 3);
  }

  TEST_CASE("a rank of MPICH in a batch job is not taken for a task of Slurm") {
    std::map<std::string, std::string> variables{{"SLURM_PROCID", "0"},  {"SLURM_NTASKS", "4"},
                                                 {"SLURM_LOCALID", "0"}, {"PMI_RANK", "3"},
                                                 {"PMI_SIZE", "4"},      {"MPI_LOCALRANKID", "1"}};
    CHECK(place_with(variables).rank == 3);
    CHECK(place_with(variables).local_rank == 1);
    variables = {{"SLURM_PROCID", "3"},
                 {"SLURM_NTASKS", "4"},
                 {"SLURM_LOCALID", "1"},
                 {"PMI_RANK", "3"},
                 {"PMI_SIZE", "4"}};
    CHECK(place_with(variables).local_rank == 1);  // srun --mpi=pmi2
  }

  TEST_CASE("the launcher's environment tells whether other machines have ranks") {
    std::map<std::string, std::string> variables{
        {"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}};
    CHECK_FALSE(place_with(variables).spans_nodes);
    variables["OMPI_COMM_WORLD_LOCAL_SIZE"] = "4";
    variables["SLURM_STEP_NUM_NODES"] = "2";  // of the batch script
    CHECK_FALSE(place_with(variables).spans_nodes);
    variables["OMPI_COMM_WORLD_LOCAL_SIZE"] = "2";
    CHECK(place_with(variables).spans_nodes);
    variables = {{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "2"}};
    CHECK(place_with(variables).spans_nodes);
    variables = {{"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "4"}, {"SLURM_LOCALID", "0"}};
    CHECK_FALSE(place_with(variables).spans_nodes);
    variables["SLURM_STEP_NUM_NODES"] = "2";
    CHECK(place_with(variables).spans_nodes);
  }

  TEST_CASE("without a launcher, or with nonsense, it is a serial process") {
    CHECK(place_with({}).size == 1);
    CHECK(place_with({{"PMI_RANK", "7"}, {"PMI_SIZE", "4"}}).rank == 0);
    CHECK(place_with({{"PMI_RANK", "x"}, {"PMI_SIZE", "4"}}).size == 1);
  }

  TEST_CASE("processes are in blocks among virtual nodes, and in turn among a node's matchers") {
    CHECK(indexes(6, {1, 2}) == Indexes{0, 0, 0, 1, 1, 1});
    CHECK(indexes(5, {1, 2}) == Indexes{0, 0, 0, 1, 1});
    CHECK(indexes(6, {2, 2}) == Indexes{0, 1, 0, 2, 3, 2});
    CHECK(indexes(2, {2, 4}) == Indexes{0, 4});
    CHECK(indexes(1, {3, 2}) == Indexes{0});
    CHECK(indexes(4, {3, 1}) == Indexes{0, 1, 2, 0});
  }

  TEST_CASE("every process has a matcher, and blocks are as even as can be") {
    for (std::uint32_t size = 1; size <= 40; ++size) {
      for (std::uint32_t nodes = 2; nodes <= 7; ++nodes) {
        std::vector<std::uint32_t> count(nodes, 0);
        for (const std::uint32_t index : indexes(size, {1, nodes})) ++count.at(index);
        for (const std::uint32_t n : count) CHECK((n == size / nodes || n == (size + nodes - 1) / nodes));
      }
    }
  }
}
