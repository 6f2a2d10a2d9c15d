// Transfers the same pieces by MPI itself. In one job of M + N ranks, the first M have the array in bands of
// rows, and the others receive it in bands of columns. Every piece is a derived datatype on both sides,
// nonblocking. Rank 0 prints one line per repetition, in nanoseconds: from the first rank's start to the last
// rank's end.
//
//     mpirun -n M+N raw_mpi ROWS COLUMNS WRITERS REPETITIONS
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "step_block.hpp"

using namespace sluice::bench;

namespace {

/// The common part of a writer's and a reader's block, as a part of `whole`'s memory.
MPI_Datatype common_part(const Block& whole, const Block& rows, const Block& columns) {
  const int sizes[2] = {static_cast<int>(whole.rows), static_cast<int>(whole.columns)};
  const int part[2] = {static_cast<int>(rows.rows), static_cast<int>(columns.columns)};
  const int first[2] = {static_cast<int>(rows.first_row - whole.first_row),
                        static_cast<int>(columns.first_column - whole.first_column)};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_subarray(2, sizes, part, first, MPI_ORDER_C, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  return type;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 5) {
    std::fprintf(stderr, "usage: raw_mpi ROWS COLUMNS WRITERS REPETITIONS\n");
    return 2;
  }
  const std::int64_t rows = std::atoll(argv[1]);
  const std::int64_t columns = std::atoll(argv[2]);
  const int writers = std::atoi(argv[3]);
  const int repetitions = std::atoi(argv[4]);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int readers = size - writers;
  const bool is_writer = rank < writers;
  const Block own = is_writer ? band_of_rows(rows, columns, rank, writers)
                              : band_of_columns(rows, columns, rank - writers, readers);
  std::vector<double> data(static_cast<std::size_t>(own.elements()));
  if (is_writer) fill(data, own, columns, 0, true);

  std::vector<int> partners;
  std::vector<MPI_Datatype> types;
  for (int partner = is_writer ? writers : 0; partner < (is_writer ? size : writers); ++partner) {
    const Block other = is_writer ? band_of_columns(rows, columns, partner - writers, readers)
                                  : band_of_rows(rows, columns, partner, writers);
    partners.push_back(partner);
    types.push_back(is_writer ? common_part(own, own, other) : common_part(own, other, own));
  }

  std::vector<StepTime> times;
  std::vector<MPI_Request> requests(partners.size());
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    MPI_Barrier(MPI_COMM_WORLD);
    const std::int64_t begin = now_ns();
    for (std::size_t i = 0; i < partners.size(); ++i) {
      if (is_writer) {
        MPI_Isend(data.data(), 1, types[i], partners[i], 0, MPI_COMM_WORLD, &requests[i]);
      } else {
        MPI_Irecv(data.data(), 1, types[i], partners[i], 0, MPI_COMM_WORLD, &requests[i]);
      }
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    times.push_back({begin, now_ns()});
  }
  for (MPI_Datatype& type : types) MPI_Type_free(&type);
  if (!is_writer && count_wrong(data, own, columns, 0, true) > 0) {
    std::fprintf(stderr, "raw_mpi: rank %d received wrong data\n", rank);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  for (const StepTime& time : times) {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    MPI_Reduce(&time.begin_ns, &begin, 1, MPI_INT64_T, MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Reduce(&time.end_ns, &end, 1, MPI_INT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) std::printf("%lld\n", static_cast<long long>(end - begin));
  }
  MPI_Finalize();
  return 0;
}
