#pragma once
// Writes and reads a dataset of pattern.hpp through the PnetCDF interface, for the programs patterns and
// replay.
#include "pattern.hpp"

namespace patterns {

/// Of this process.
inline int rank = 0;
inline int failures = 0;

/// Counts and prints a status that is not NC_NOERR.
void check(int status, const char* what);

/// Makes the definitions of the phase; the dimensions come before the first one.
void define(int ncid, const Dataset& dataset, int phase);

/// This rank's puts of the phase.
void run_puts(int ncid, const Dataset& dataset, const Phase& phase);

/// Selects the gets. Equal numbers give equal gets.
struct Gets {
  std::uint64_t seed = 0;      ///< for the common decisions of all ranks: mode, variables, blocking or not
  std::uint64_t own_seed = 0;  ///< for the selections of this rank
  int phase = 0;               ///< variables that are defined up to this phase
  bool is_coupled = true;      ///< then unwritten elements read as fill values
};
/// Makes random gets in both modes, blocking and not, of what is defined by now. Compares each element.
void run_gets(int ncid, const Dataset& dataset, const Reference& reference, const Gets& what);

}  // namespace patterns
