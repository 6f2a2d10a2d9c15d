#pragma once
// Common parts of the benchmark programs for ordinary files. bench/files runs them and reads their output.
#include <mpi.h>
#include <pnetcdf.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace sluice::bench {

/// In MPI_COMM_WORLD; set by begin_program.
extern int rank_of_process;
extern int process_count;

/// The command line: directory, repetitions, and optional arguments (empty when missing).
struct Arguments {
  std::string path;     ///< path of the file to write, in the directory
  int repetitions = 1;  ///< the best one counts
  std::string map;      ///< E3SM's map_f_case_16p.nc
  std::string only;     ///< the only case to run; empty: all
};

/// One pattern of access. All processes call the functions, with the id of the open file.
struct Case {
  std::string name;
  std::int64_t bytes = 0;  ///< of all processes
  std::function<void(int)> define;
  std::function<void(int)> write;
  std::function<void(int)> read;
  /// not timed: checks that the data read equals the data written; may be empty
  std::function<void()> check;
};

/// Initialises MPI; ends the process with a message when arguments are missing.
Arguments begin_program(int argc, char** argv);

/// Ends all processes with a message unless `status` is NC_NOERR.
void check(int status, const char* what);

/// Calls ncmpi_wait_all; every request has to succeed.
void wait_for_all(int file, std::vector<int>& requests);

/// Times create to close, and open to close. Rank 0 prints, separated by tabs: name, MiB, seconds of writing
/// and of reading, MiB of memory that all processes together took, and a checksum of the file.
void run(const Case& test, const Arguments& arguments);

}  // namespace sluice::bench
