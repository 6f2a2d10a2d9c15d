// replay writer|reader SEED STEPS WRITERS READERS: an ordinary PnetCDF program with many steps. Each step
// repeats the first one, or changes one random thing that a pattern consists of. Both sides know all steps by
// the seed. The exit status is 1 if any element is wrong.
#include <mpi.h>
#include <pnetcdf.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "pattern_io.hpp"

namespace {

using namespace patterns;

struct Arguments {
  std::uint64_t seed = 0;
  int steps = 0;
  int writers = 0;
  int readers = 0;
};

/// The difference between a step and the first one.
enum class Change {
  none,
  order,        // two puts of all ranks are exchanged
  left_out,     // a put of all ranks is left out
  added,        // a put of all ranks is repeated
  one_shorter,  // a put of one rank has fewer elements
  one_moved,    // a put of one rank starts later
  one_strided,  // a put of one rank takes every second element
  one_silent,   // one rank puts nothing
  type,         // another type of a variable
  header,       // a longer dimension
  attribute,    // other fill values, on which plans do not depend
  writers,      // fewer processes write
  readers,      // fewer processes read
  one_reader,   // one process gets something else
  gets,         // all processes get something else
  everything,
  last = everything
};

struct Step {
  Change change = Change::none;
  Dataset dataset;
  int writers = 0;
  int readers = 0;
  std::uint64_t gets_seed = 0;
  int other_reader = -1;  ///< the process that gets something else
};

Operation* pick_put(Random& random, Dataset& dataset, const std::function<bool(const Operation&)>& fits) {
  std::vector<Operation*> fitting;
  for (Phase& phase : dataset.phases) {
    for (auto& puts : phase.puts) {
      for (Operation& put : puts) {
        if (put.shape != Shape::varm && put.slabs.size() == 1 && fits(put)) fitting.push_back(&put);
      }
    }
  }
  if (fitting.empty()) return nullptr;
  return fitting[static_cast<std::size_t>(draw(random, 0, static_cast<std::int64_t>(fitting.size()) - 1))];
}

/// Changes the slab of one put within its old bounds.
void change_one_put(Random& random, Dataset& dataset, Change change) {
  std::size_t dimension = 0;
  Operation* const put = pick_put(random, dataset, [&](const Operation& candidate) {
    const auto& count = candidate.slabs[0].count;
    const auto found = std::find_if(count.begin(), count.end(), [](std::int64_t n) { return n > 2; });
    if (found == count.end() || candidate.elements() == 0) return false;
    if (change == Change::one_strided && candidate.shape != Shape::vars) return false;
    dimension = 0;
    return true;
  });
  if (put == nullptr) return;
  Slab& slab = put->slabs[0];
  while (slab.count[dimension] <= 2) ++dimension;
  if (change == Change::one_shorter) {
    slab.count[dimension] -= 1;
  } else if (change == Change::one_moved) {
    slab.start[dimension] += slab.stride.empty() ? 1 : slab.stride[dimension];
    slab.count[dimension] -= 1;
  } else {
    slab.stride[dimension] *= 2;
    slab.count[dimension] /= 2;
  }
}

void change_calls(Random& random, Dataset& dataset, Change change) {
  Phase& phase = dataset.phases[static_cast<std::size_t>(
      draw(random, 0, static_cast<std::int64_t>(dataset.phases.size()) - 1))];
  const auto calls = static_cast<std::int64_t>(phase.puts[0].size());
  if (calls == 0) return;
  const std::int64_t i = draw(random, 0, calls - 1);
  const std::int64_t j = draw(random, 0, calls - 1);
  for (auto& puts : phase.puts) {
    if (change == Change::order)
      std::swap(puts[static_cast<std::size_t>(i)], puts[static_cast<std::size_t>(j)]);
    if (change == Change::left_out) puts.erase(puts.begin() + i);
    if (change == Change::added) puts.push_back(puts[static_cast<std::size_t>(i)]);
  }
}

void silence_one(Random& random, Dataset& dataset) {
  for (Phase& phase : dataset.phases) {
    const auto last = static_cast<std::int64_t>(phase.puts.size()) - 1;
    for (Operation& put : phase.puts[static_cast<std::size_t>(draw(random, 0, last))]) {
      for (Slab& slab : put.slabs) std::fill(slab.count.begin(), slab.count.end(), 0);
      for (Slab& slab : put.slabs) std::fill(slab.start.begin(), slab.start.end(), 0);
      if (dataset.variables[static_cast<std::size_t>(put.variable)].shape.empty()) put.slabs.clear();
    }
  }
}

void lengthen_a_dimension(Random& random, Dataset& dataset) {
  const auto last = static_cast<std::int64_t>(dataset.dimensions.size()) - 1;
  const auto dimension = static_cast<std::size_t>(draw(random, 1, last));
  dataset.dimensions[dimension] += 1;
  for (Variable& variable : dataset.variables) {
    for (std::size_t d = 0; d < variable.dimids.size(); ++d) {
      if (variable.dimids[d] == static_cast<int>(dimension)) variable.shape[d] += 1;
    }
  }
}

void change_a_variable(Random& random, Dataset& dataset, Change change) {
  Variable& variable = dataset.variables[static_cast<std::size_t>(
      draw(random, 0, static_cast<std::int64_t>(dataset.variables.size()) - 1))];
  if (variable.type == NC_CHAR) return;
  if (change == Change::attribute) {
    variable.has_fill_attribute = !variable.has_fill_attribute;
  } else {
    variable.type = variable.type == NC_DOUBLE ? NC_SHORT : variable.type == NC_SHORT ? NC_INT : NC_DOUBLE;
  }
}

Step make_step(const Arguments& arguments, int number) {
  Random random(arguments.seed * 1000003 + static_cast<std::uint64_t>(number));
  Step step;
  if (number > 0 && draw(random, 0, 1) == 0)
    step.change = static_cast<Change>(draw(random, 0, static_cast<int>(Change::last)));
  step.writers = arguments.writers;
  step.readers = arguments.readers;
  step.gets_seed = arguments.seed * 77;
  if (step.change == Change::writers) step.writers = static_cast<int>(draw(random, 1, arguments.writers));
  if (step.change == Change::readers) step.readers = static_cast<int>(draw(random, 1, arguments.readers));
  if (step.change == Change::gets) step.gets_seed += static_cast<std::uint64_t>(number);
  if (step.change == Change::one_reader)
    step.other_reader = static_cast<int>(draw(random, 0, arguments.readers - 1));
  const bool is_other = step.change == Change::everything;
  const std::uint64_t dataset_seed = arguments.seed + (is_other ? static_cast<std::uint64_t>(number) : 0);
  step.dataset = make_dataset(dataset_seed, step.writers, true);
  switch (step.change) {
    case Change::order:
    case Change::left_out:
    case Change::added:
      change_calls(random, step.dataset, step.change);
      break;
    case Change::one_shorter:
    case Change::one_moved:
    case Change::one_strided:
      change_one_put(random, step.dataset, step.change);
      break;
    case Change::one_silent:
      silence_one(random, step.dataset);
      break;
    case Change::type:
    case Change::attribute:
      change_a_variable(random, step.dataset, step.change);
      break;
    case Change::header:
      lengthen_a_dimension(random, step.dataset);
      break;
    default:
      break;
  }
  for (Phase& phase : step.dataset.phases) {  // the values differ in each step
    for (auto& puts : phase.puts) {
      for (Operation& put : puts) put.serial += number;
    }
  }
  return step;
}

std::string file_name(const char* what, int number) {
  char name[32];
  std::snprintf(name, sizeof name, "%s_%04d.nc", what, number);
  return name;
}

/// The first `size` processes; null for the others.
MPI_Comm first_processes(int size) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank < size ? 0 : MPI_UNDEFINED, rank, &comm);
  return comm;
}

void put_step(MPI_Comm comm, const Step& step, int number) {
  const Dataset& dataset = step.dataset;
  const int flags = dataset.format == 5 ? NC_64BIT_DATA : dataset.format == 2 ? NC_64BIT_OFFSET : 0;
  const std::string name = file_name("step", number);
  int ncid = -1;
  check(ncmpi_create(comm, name.c_str(), NC_CLOBBER | flags, MPI_INFO_NULL, &ncid), "create");
  for (std::size_t p = 0; p < dataset.phases.size(); ++p) {
    if (dataset.phases[p].reopens) {
      check(ncmpi_close(ncid), "close");
      check(ncmpi_open(comm, name.c_str(), NC_WRITE, MPI_INFO_NULL, &ncid), "reopen");
    }
    if (p > 0) check(ncmpi_redef(ncid), "redef");
    define(ncid, dataset, static_cast<int>(p));
    check(ncmpi_put_att_int(ncid, NC_GLOBAL, "step", NC_INT, 1, &number), "put_att");
    check(ncmpi_enddef(ncid), "enddef");
    run_puts(ncid, dataset, dataset.phases[p]);
    check(ncmpi_sync(ncid), "sync");
    MPI_Barrier(comm);  // puts of different phases to the same elements have an order
  }
  check(ncmpi_close(ncid), "close");
  check(ncmpi_create(comm, file_name("done", number).c_str(), NC_CLOBBER, MPI_INFO_NULL, &ncid), "create");
  check(ncmpi_close(ncid), "close");
}

void get_step(MPI_Comm comm, const Step& step, int number) {
  const Dataset& dataset = step.dataset;
  Reference reference(dataset);
  for (const Phase& phase : dataset.phases) reference.apply(phase);
  int ncid = -1;
  check(ncmpi_open(comm, file_name("done", number).c_str(), NC_NOWRITE, MPI_INFO_NULL, &ncid), "open");
  check(ncmpi_close(ncid), "close");
  check(ncmpi_open(comm, file_name("step", number).c_str(), NC_NOWRITE, MPI_INFO_NULL, &ncid), "open");
  int told = -1;
  check(ncmpi_get_att_int(ncid, NC_GLOBAL, "step", &told), "get_att");
  if (told != number) ++failures, std::fprintf(stderr, "the header is that of step %d\n", told);
  const std::uint64_t shift = rank == step.other_reader ? 1000 : 0;
  run_gets(ncid, dataset, reference,
           {step.gets_seed, step.gets_seed * 31 + static_cast<std::uint64_t>(rank) + 1 + shift,
            static_cast<int>(dataset.phases.size()), true});
  check(ncmpi_close(ncid), "close");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc != 6) {
    std::fprintf(stderr, "usage: replay writer|reader SEED STEPS WRITERS READERS\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const bool is_writer = std::string(argv[1]) == "writer";
  const Arguments arguments{std::strtoull(argv[2], nullptr, 10), std::atoi(argv[3]), std::atoi(argv[4]),
                            std::atoi(argv[5])};
  for (int number = 0; number < arguments.steps && failures == 0; ++number) {
    const Step step = make_step(arguments, number);
    MPI_Comm comm = first_processes(is_writer ? step.writers : step.readers);
    if (comm != MPI_COMM_NULL) {
      is_writer ? put_step(comm, step, number) : get_step(comm, step, number);
      MPI_Comm_free(&comm);
    }
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (failures != 0 && rank == 0)
      std::fprintf(stderr, "%s, seed %s, step %d, change %d: %d failures\n", argv[1], argv[2], number,
                   static_cast<int>(step.change), failures);
  }
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
