#pragma once
// What the programs of the step benchmark share: the array, its decompositions, and the times that they
// report.
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

/// Every so many columns an element changes from step to step; the others never do.
constexpr std::int64_t stamp_distance = 512;
double element_value(std::int64_t row, std::int64_t column, std::int64_t columns_of_array, int step);
/// Fills the whole block, or only what changes.
void fill(std::vector<double>& data, const Block& block, std::int64_t columns_of_array, int step, bool all);
/// Number of elements that are not as fill() left them.
std::int64_t count_wrong(const std::vector<double>& data, const Block& block, std::int64_t columns_of_array,
                         int step, bool all);

/// From when to when a step took this process.
struct StepTime {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

/// The command line of the writer and the reader: array, number of steps, how many file names they go
/// through, whether the writer waits for the reader's acknowledgement (a small file the other way) before the
/// next step, and where to write the times.
struct StepOptions {
  std::int64_t rows = 1024;
  std::int64_t columns = 1024;
  int steps = 1;
  int files = 0;  ///< 0: as many as steps
  bool acknowledge = false;
  std::string times;
  std::string ready;  ///< a file that the reader makes when all of it has started, and the writer waits for

  /// Ends the program with a message when it cannot be understood.
  static StepOptions parse(int argc, char** argv);
  [[nodiscard]] std::string step_path(int step) const;
  [[nodiscard]] std::string acknowledgement_path(int step) const;
};

/// Collective over MPI_COMM_WORLD: the reader's processes have all started, which the writer waits for before
/// its first step: how long programs take to start is not what is measured. Without a file nothing is done.
void tell_ready(const StepOptions& options);
void await_ready(const StepOptions& options);

/// Collective over MPI_COMM_WORLD: rank 0 writes one line per step, the earliest begin and the latest end of
/// all ranks.
void write_times(const std::string& path, const std::vector<StepTime>& times);

/// Ends all processes with a message unless `status` is NC_NOERR.
void require(int status, const char* what);

}  // namespace sluice::bench
