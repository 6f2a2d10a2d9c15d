#pragma once
#include <boost/program_options.hpp>
#include <functional>
#include <string>

namespace tsunami {

/// A parallel program with a command line. `description` holds its options, including "help". All ranks call
/// `run` after the options have been stored. A std::invalid_argument that `run` throws is a mistake in the
/// command line.
struct Program {
  std::string name;
  boost::program_options::options_description description;
  boost::program_options::positional_options_description positional;
  std::function<void()> run;
};

/// Initialises MPI, parses the command line, runs the program and finalises MPI. Returns the exit status: 0,
/// or 2 for a mistake in the command line, which rank 0 explains. Any other exception is printed with its
/// rank, and aborts all ranks with status 1.
int run_program(const Program& program, int argc, char** argv);

}  // namespace tsunami
