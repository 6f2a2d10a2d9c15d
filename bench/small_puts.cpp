// Times many small puts to one file through the PnetCDF interface, the use case of burst buffers. bench/files
// --burst-buffer runs it.
#include <cstdio>
#include <numeric>

#include "file_case.hpp"

namespace {

using namespace sluice::bench;

constexpr MPI_Offset steps = 200;
constexpr MPI_Offset rows = 64;
constexpr MPI_Offset columns = 16;  // of a process

MPI_Offset width() {
  return columns * process_count;
}

/// Defines double v(time, row, column). Its columns are distributed over the processes, so contiguous parts
/// of the file have data of all processes.
void define(int file) {
  int dimids[3];
  int varid = 0;
  check(ncmpi_def_dim(file, "time", NC_UNLIMITED, &dimids[0]), "time");
  check(ncmpi_def_dim(file, "row", rows, &dimids[1]), "row");
  check(ncmpi_def_dim(file, "column", width(), &dimids[2]), "column");
  check(ncmpi_def_var(file, "v", NC_DOUBLE, 3, dimids, &varid), "v");
}

std::vector<double> row_values(MPI_Offset step, MPI_Offset row) {
  std::vector<double> values(columns);
  std::iota(values.begin(), values.end(),
            static_cast<double>((step * rows + row) * width() + rank_of_process * columns));
  return values;
}

/// One put per row: 128 bytes.
void write_rows(int file) {
  check(ncmpi_begin_indep_data(file), "begin independent mode");
  for (MPI_Offset step = 0; step < steps; ++step) {
    for (MPI_Offset row = 0; row < rows; ++row) {
      const MPI_Offset start[] = {step, row, rank_of_process * columns};
      const MPI_Offset count[] = {1, 1, columns};
      check(ncmpi_put_vara_double(file, 0, start, count, row_values(step, row).data()), "put a row");
    }
  }
  check(ncmpi_end_indep_data(file), "end independent mode");
}

/// The same, all processes at the same time.
void write_rows_together(int file) {
  for (MPI_Offset step = 0; step < steps; ++step) {
    for (MPI_Offset row = 0; row < rows; ++row) {
      const MPI_Offset start[] = {step, row, rank_of_process * columns};
      const MPI_Offset count[] = {1, 1, columns};
      check(ncmpi_put_vara_double_all(file, 0, start, count, row_values(step, row).data()), "put a row");
    }
  }
}

/// One put per element, in the last step only.
void write_elements(int file) {
  check(ncmpi_begin_indep_data(file), "begin independent mode");
  for (MPI_Offset step = 0; step < 20; ++step) {
    for (MPI_Offset row = 0; row < rows; ++row) {
      const auto values = row_values(step, row);
      for (MPI_Offset column = 0; column < columns; ++column) {
        const MPI_Offset index[] = {step, row, rank_of_process * columns + column};
        check(ncmpi_put_var1_double(file, 0, index, &values[static_cast<std::size_t>(column)]),
              "put an element");
      }
    }
  }
  check(ncmpi_end_indep_data(file), "end independent mode");
}

void read_all(int file) {
  MPI_Offset records = 0;
  check(ncmpi_inq_dimlen(file, 0, &records), "the number of records");
  const MPI_Offset start[] = {0, 0, rank_of_process * columns};
  const MPI_Offset count[] = {records, rows, columns};
  std::vector<double> values(static_cast<std::size_t>(records * rows * columns));
  check(ncmpi_get_vara_double_all(file, 0, start, count, values.data()), "read");
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = begin_program(argc, argv);
  const std::int64_t step_bytes = rows * width() * 8;
  const Case cases[] = {
      {"rows of 128 bytes", steps * step_bytes, define, write_rows, read_all, {}},
      {"the same, collective", steps * step_bytes, define, write_rows_together, read_all, {}},
      {"elements of 8 bytes", 20 * step_bytes, define, write_elements, read_all, {}}};
  for (const auto& test : cases) {
    if (arguments.only.empty() || arguments.only == test.name) run(test, arguments);
  }
  MPI_Finalize();
  return 0;
}
