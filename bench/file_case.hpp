#pragma once
// What the benchmark programs for ordinary files share. bench/files runs them and reads what they print.
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

/// The command line: directory, repetitions, and what may be left out (empty then).
struct Arguments {
  std::string path;     ///< of the file to write, in the directory
  int repetitions = 1;  ///< the best one counts
  std::string map;      ///< E3SM's map_f_case_16p.nc
  std::string only;     ///< the only case to run
};

/// One pattern of access. The functions are called by all processes with the id of the open file.
struct Case {
  std::string name;
  std::int64_t bytes = 0;  ///< of all processes
  std::function<void(int)> define;
  std::function<void(int)> write;
  std::function<void(int)> read;
  std::function<void()> check;  ///< not timed: whether what was read is what was written; may be empty
};

/// Initialises MPI; ends the process with a message when arguments are missing.
Arguments begin_program(int argc, char** argv);

/// Ends all processes with a message unless `status` is NC_NOERR.
void check(int status, const char* what);

/// ncmpi_wait_all; every request has to succeed.
void wait_for_all(int file, std::vector<int>& requests);

/// Times create to close and open to close. Rank 0 prints, separated by tabs: name, MiB, seconds of writing
/// and of reading, the MiB of memory that all processes together took while doing so, and a checksum of the
/// file.
void run(const Case& test, const Arguments& arguments);

}  // namespace sluice::bench
