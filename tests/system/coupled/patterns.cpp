// patterns writer|reader files|coupled SEED WRITERS: an ordinary PnetCDF program that puts a random pattern,
// or gets one and compares every element with a plain reference. Both sides know the pattern by its seed. The
// exit status is 1 if anything differs.
#include <mpi.h>
#include <pnetcdf.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "pattern_io.hpp"

namespace {

using namespace patterns;

Gets gets_of(std::uint64_t seed, int phase, bool is_coupled) {
  return {seed, seed * 31 + static_cast<std::uint64_t>(rank) + 1, phase, is_coupled};
}

void write(const Dataset& dataset, std::uint64_t seed, bool is_coupled) {
  const int flags = dataset.format == 5 ? NC_64BIT_DATA : dataset.format == 2 ? NC_64BIT_OFFSET : 0;
  int ncid = -1;
  check(ncmpi_create(MPI_COMM_WORLD, "pattern.nc", NC_CLOBBER | flags, MPI_INFO_NULL, &ncid), "create");
  Reference reference(dataset);
  for (std::size_t p = 0; p < dataset.phases.size(); ++p) {
    const Phase& phase = dataset.phases[p];
    if (phase.reopens) {
      check(ncmpi_close(ncid), "close");
      check(ncmpi_open(MPI_COMM_WORLD, "pattern.nc", NC_WRITE, MPI_INFO_NULL, &ncid), "reopen");
    }
    if (p > 0) check(ncmpi_redef(ncid), "redef");
    define(ncid, dataset, static_cast<int>(p));
    check(ncmpi_enddef(ncid), "enddef");
    run_puts(ncid, dataset, phase);
    reference.apply(phase);
    check(ncmpi_sync(ncid), "sync");
    MPI_Barrier(MPI_COMM_WORLD);
    check(ncmpi_sync(ncid), "sync");
    run_gets(ncid, dataset, reference, gets_of(seed + 1000 * (p + 1), static_cast<int>(p), is_coupled));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  check(ncmpi_close(ncid), "close");
  // Published after the last step of the other file: a reader that has this file sees that step.
  check(ncmpi_create(MPI_COMM_WORLD, "pattern_done.nc", NC_CLOBBER, MPI_INFO_NULL, &ncid), "create");
  check(ncmpi_close(ncid), "close");
}

void read(const Dataset& dataset, std::uint64_t seed, bool is_coupled) {
  Reference reference(dataset);
  for (const Phase& phase : dataset.phases) reference.apply(phase);
  int ncid = -1;
  check(ncmpi_open(MPI_COMM_WORLD, "pattern_done.nc", NC_NOWRITE, MPI_INFO_NULL, &ncid), "open");
  check(ncmpi_close(ncid), "close");
  for (std::uint64_t round = 0; round < 3; ++round) {
    check(ncmpi_open(MPI_COMM_WORLD, "pattern.nc", NC_NOWRITE, MPI_INFO_NULL, &ncid), "open");
    int format = 0;
    check(ncmpi_inq_format(ncid, &format), "inq_format");
    if (format != dataset.format)
      ++failures, std::fprintf(stderr, "format %d, not %d\n", format, dataset.format);
    run_gets(ncid, dataset, reference,
             gets_of(seed * 77 + round, static_cast<int>(dataset.phases.size()), is_coupled));
    check(ncmpi_close(ncid), "close");
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc != 5) {
    std::fprintf(stderr, "usage: patterns writer|reader files|coupled SEED WRITERS\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const bool is_coupled = std::string(argv[2]) == "coupled";
  const std::uint64_t seed = std::strtoull(argv[3], nullptr, 10);
  // Overlapping requests of one call or wait are undefined in a file. libpnetcdf 1.12 leaves such gets
  // unfilled.
  const Dataset dataset = make_dataset(seed, std::atoi(argv[4]), is_coupled);
  if (std::string(argv[1]) == "writer") {
    write(dataset, seed, is_coupled);
  } else {
    read(dataset, seed, is_coupled);
  }
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (failures != 0 && rank == 0)
    std::fprintf(stderr, "%s, seed %s: %d failures\n", argv[1], argv[3], failures);
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
