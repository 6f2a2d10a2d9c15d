#include "program.hpp"

#include <mpi.h>

#include <iostream>
#include <stdexcept>

namespace po = boost::program_options;

namespace tsunami {

namespace {

/// Reads the command line. Returns false if the user only asked for help, which rank 0 prints.
bool read_command_line(const Program& program, int argc, char** argv, int rank) {
  po::variables_map values;
  po::store(
      po::command_line_parser(argc, argv).options(program.description).positional(program.positional).run(),
      values);
  if (values.count("help") != 0) {
    if (rank == 0) std::cout << program.description;
    return false;
  }
  po::notify(values);
  return true;
}

}  // namespace

int run_program(const Program& program, int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, status = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    if (read_command_line(program, argc, argv, rank)) program.run();
  } catch (const po::error& e) {
    if (rank == 0)
      std::cerr << program.name << ": " << e.what() << "; " << program.name << " --help lists the options\n";
    status = 2;
  } catch (const std::invalid_argument& e) {
    if (rank == 0) std::cerr << program.name << ": " << e.what() << '\n';
    status = 2;
  } catch (const std::exception& e) {
    std::cerr << program.name << ": rank " << rank << ": " << e.what() << '\n';
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return status;
}

}  // namespace tsunami
