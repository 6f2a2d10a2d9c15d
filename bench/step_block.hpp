#pragma once
// Common parts of the step benchmark's programs: the array, its decompositions, and the reported times.
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::bench {

/// Nanoseconds of CLOCK_MONOTONIC, which all processes of a machine share.
std::int64_t now_ns();

/// A block of the array of rows x columns doubles.
struct Block {
  std::int64_t first_row = 0, rows = 0;
  std::int64_t first_column = 0, columns = 0;
  [[nodiscard]] std::int64_t elements() const { return rows * columns; }
};

/// Part `rank` of `size` in bands of rows (the writers') or of columns (the readers').
Block band_of_rows(std::int64_t rows, std::int64_t columns, int rank, int size);
Block band_of_columns(std::int64_t rows, std::int64_t columns, int rank, int size);

/// One element in this many columns changes from step to step; the others never change.
constexpr std::int64_t stamp_distance = 512;
double element_value(std::int64_t row, std::int64_t column, std::int64_t columns_of_array, int step);
/// Fills the whole block, or only the changing elements.
void fill(std::vector<double>& data, const Block& block, std::int64_t columns_of_array, int step, bool all);
/// Number of elements that differ from fill().
std::int64_t count_wrong(const std::vector<double>& data, const Block& block, std::int64_t columns_of_array,
                         int step, bool all);

/// Begin and end of a step in this process.
struct StepTime {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

/// The command line of the writer and the reader: the array, the number of steps, the number of file names in
/// turn, and the file for the times. The writer may wait for the reader's acknowledgement (a small file in
/// the other direction) before the next step.
struct StepOptions {
  std::int64_t rows = 1024;
  std::int64_t columns = 1024;
  int steps = 1;
  int files = 0;  ///< 0: as many as steps
  bool acknowledge = false;
  std::string times;
  /// the reader makes this file when all its processes have started; the writer waits for it
  std::string ready;

  /// Ends the program with a message when the command line is malformed.
  static StepOptions parse(int argc, char** argv);
  [[nodiscard]] std::string step_path(int step) const;
  [[nodiscard]] std::string acknowledgement_path(int step) const;
};

/// Collective over MPI_COMM_WORLD: all processes of the reader have started. The writer waits for this before
/// its first step, because the start of programs is not part of the measurement. Does nothing without a file.
void tell_ready(const StepOptions& options);
void await_ready(const StepOptions& options);

/// Collective over MPI_COMM_WORLD: rank 0 writes one line per step, with the earliest begin and the latest
/// end of all ranks.
void write_times(const std::string& path, const std::vector<StepTime>& times);

/// Ends all processes with a message unless `status` is NC_NOERR.
void require(int status, const char* what);

}  // namespace sluice::bench
