// append writer|reader SEED STEPS: reopens one file for each new record. The reader gets the newest record
// before the writer goes on. At random steps the writer adds two records, or overwrites an old one, or the
// reader gets more than the newest. The exit status is 1 if anything differs.
#include <mpi.h>
#include <pnetcdf.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "pattern_io.hpp"

namespace {

using namespace patterns;

constexpr MPI_Offset rows = 12;
constexpr MPI_Offset columns = 7;

int size = 1;

/// The actions of one step; both sides know them.
struct Step {
  MPI_Offset first = 0;    ///< the first added record
  MPI_Offset records = 1;  ///< the number of added records
  MPI_Offset again = -1;   ///< an old record that is overwritten; -1: none
  bool reads_all = false;
};

std::vector<Step> make_steps(std::uint64_t seed, int number) {
  Random random(seed);
  std::vector<Step> steps(static_cast<std::size_t>(number));
  MPI_Offset next = 0;
  for (Step& step : steps) {
    step.first = next;
    if (draw(random, 0, 9) == 0) step.records = 2;
    if (next > 0 && draw(random, 0, 9) == 0) step.again = draw(random, 0, next - 1);
    step.reads_all = draw(random, 0, 7) == 0;
    next += step.records;
  }
  return steps;
}

float value_at(MPI_Offset record, MPI_Offset element, int version) {
  return static_cast<float>(record * 1000 + element) + static_cast<float>(version) / 8;
}

/// This rank's rows.
MPI_Offset first_row(int process) {
  return rows * process / size;
}

void put_records(int ncid, MPI_Offset first, MPI_Offset records, int version) {
  const MPI_Offset begin = first_row(rank);
  const MPI_Offset start[] = {first, begin, 0};
  const MPI_Offset count[] = {records, first_row(rank + 1) - begin, columns};
  std::vector<float> values;
  for (MPI_Offset t = 0; t < records; ++t) {
    for (MPI_Offset i = 0; i < count[1] * columns; ++i)
      values.push_back(value_at(first + t, begin * columns + i, version));
  }
  int varid = -1;
  check(ncmpi_inq_varid(ncid, "field", &varid), "inq_varid");
  check(ncmpi_put_vara_float_all(ncid, varid, start, count, values.data()), "put");
}

void announce(const char* what, int number) {
  int ncid = -1;
  const std::string name = std::string(what) + std::to_string(number) + ".nc";
  check(ncmpi_create(MPI_COMM_WORLD, name.c_str(), NC_CLOBBER, MPI_INFO_NULL, &ncid), "create");
  check(ncmpi_close(ncid), "close");
}

void wait_for(const char* what, int number) {
  int ncid = -1;
  const std::string name = std::string(what) + std::to_string(number) + ".nc";
  check(ncmpi_open(MPI_COMM_WORLD, name.c_str(), NC_NOWRITE, MPI_INFO_NULL, &ncid), "open");
  check(ncmpi_close(ncid), "close");
}

void write(const std::vector<Step>& steps) {
  for (std::size_t s = 0; s < steps.size() && failures == 0; ++s) {
    int ncid = -1;
    if (s == 0) {
      int dimids[3];
      int varid = -1;
      check(ncmpi_create(MPI_COMM_WORLD, "history.nc", NC_CLOBBER, MPI_INFO_NULL, &ncid), "create");
      check(ncmpi_def_dim(ncid, "time", NC_UNLIMITED, &dimids[0]), "def_dim");
      check(ncmpi_def_dim(ncid, "row", rows, &dimids[1]), "def_dim");
      check(ncmpi_def_dim(ncid, "column", columns, &dimids[2]), "def_dim");
      check(ncmpi_def_var(ncid, "field", NC_FLOAT, 3, dimids, &varid), "def_var");
      check(ncmpi_enddef(ncid), "enddef");
    } else {
      check(ncmpi_open(MPI_COMM_WORLD, "history.nc", NC_WRITE, MPI_INFO_NULL, &ncid), "open");
    }
    put_records(ncid, steps[s].first, steps[s].records, 0);
    if (steps[s].again >= 0) put_records(ncid, steps[s].again, 1, static_cast<int>(s));
    check(ncmpi_close(ncid), "close");
    announce("done", static_cast<int>(s));
    wait_for("seen", static_cast<int>(s));
  }
}

void compare(int ncid, const std::vector<int>& versions, MPI_Offset first, MPI_Offset records) {
  const MPI_Offset begin = first_row(rank);
  const MPI_Offset start[] = {first, begin, 0};
  const MPI_Offset count[] = {records, first_row(rank + 1) - begin, columns};
  std::vector<float> values(static_cast<std::size_t>(records * count[1] * columns), -1);
  int varid = -1;
  check(ncmpi_inq_varid(ncid, "field", &varid), "inq_varid");
  check(ncmpi_get_vara_float_all(ncid, varid, start, count, values.data()), "get");
  for (std::size_t i = 0; i < values.size(); ++i) {
    const MPI_Offset record = first + static_cast<MPI_Offset>(i) / (count[1] * columns);
    const MPI_Offset element = begin * columns + static_cast<MPI_Offset>(i) % (count[1] * columns);
    const float expected = value_at(record, element, versions[static_cast<std::size_t>(record)]);
    if (values[i] == expected) continue;
    std::fprintf(stderr, "rank %d: record %lld, element %lld: %g, not %g\n", rank,
                 static_cast<long long>(record), static_cast<long long>(element), values[i], expected);
    ++failures;
    return;
  }
}

void read(const std::vector<Step>& steps) {
  std::vector<int> versions;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const Step& step = steps[s];
    versions.resize(static_cast<std::size_t>(step.first + step.records), 0);
    if (step.again >= 0) versions[static_cast<std::size_t>(step.again)] = static_cast<int>(s);
    wait_for("done", static_cast<int>(s));
    int ncid = -1;
    MPI_Offset records = -1;
    check(ncmpi_open(MPI_COMM_WORLD, "history.nc", NC_NOWRITE, MPI_INFO_NULL, &ncid), "open");
    check(ncmpi_inq_dimlen(ncid, 0, &records), "inq_dimlen");
    if (records != static_cast<MPI_Offset>(versions.size()))
      ++failures, std::fprintf(stderr, "step %zu: %lld records\n", s, static_cast<long long>(records));
    compare(ncid, versions, step.first, 1);
    if (step.records > 1) compare(ncid, versions, step.first + 1, 1);
    if (step.again >= 0) compare(ncid, versions, step.again, 1);
    if (step.reads_all) compare(ncid, versions, 0, static_cast<MPI_Offset>(versions.size()));
    check(ncmpi_close(ncid), "close");
    announce("seen", static_cast<int>(s));
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc != 4) {
    std::fprintf(stderr, "usage: append writer|reader SEED STEPS\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const auto steps = make_steps(std::strtoull(argv[2], nullptr, 10), std::atoi(argv[3]));
  if (std::string(argv[1]) == "writer") {
    write(steps);
  } else {
    read(steps);
  }
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (failures != 0 && rank == 0)
    std::fprintf(stderr, "%s, seed %s: %d failures\n", argv[1], argv[2], failures);
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
