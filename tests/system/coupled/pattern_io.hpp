#pragma once
// A dataset of pattern.hpp through the PnetCDF interface: what the programs patterns and replay have in
// common.
#include "pattern.hpp"

namespace patterns {

/// Of this process.
inline int rank = 0;
inline int failures = 0;

/// Counts and prints a status that is not NC_NOERR.
void check(int status, const char* what);

/// Defines what belongs to the phase: the dimensions before the first one.
void define(int ncid, const Dataset& dataset, int phase);

/// This rank's puts of the phase.
void run_puts(int ncid, const Dataset& dataset, const Phase& phase);

/// Which gets are made. Same numbers, same gets.
struct Gets {
  std::uint64_t seed = 0;      ///< what all ranks decide alike: mode, variables, blocking or not
  std::uint64_t own_seed = 0;  ///< what this rank selects
  int phase = 0;               ///< variables that are defined up to it
  bool is_coupled = true;      ///< then what nobody wrote reads as fill
};
/// Random gets in both modes, blocking and not, of what is defined by now; compares each element.
void run_gets(int ncid, const Dataset& dataset, const Reference& reference, const Gets& what);

}  // namespace patterns
