#include "same_definitions.hpp"

#include <array>
#include <vector>

#include "gather_runs.hpp"

namespace sluice::api {

void check_same_definitions(const Communicator& comm, const formats::Header& header) {
  std::vector<formats::ElementRun> shape;
  for (const auto& dimension : header.dimensions()) shape.push_back({dimension.length, dimension.is_record});
  for (const auto& variable : header.variables()) {
    shape.push_back({static_cast<std::int64_t>(variable.type), variable.no_fill});
    for (const int id : variable.dimids) shape.push_back({id, 0});
  }
  const PatternId mine = id_of_pattern({shape});
  std::array<std::uint64_t, 4> most{mine[0], mine[1], ~mine[0], ~mine[1]};
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, most.data(), 4, MPI_UINT64_T, MPI_MAX, comm.get()),
            "compare what the processes define");
  if (most[0] != ~most[2] || most[1] != ~most[3])
    throw Error(NC_EMULTIDEFINE, "the processes define different dimensions or variables");
}

}  // namespace sluice::api
