// The parts of a small step: an ordinary PnetCDF program, once as the writer and once as the reader of files
// of new names. `small_steps write|read STEPS BYTES PACE`. With a pace file, the writer's next step begins
// when the reader has closed the last one; "-" lets the writer go ahead. The data is filled once. The reader
// checks a number in each file. bench/small_steps runs it.
#include <fcntl.h>
#include <linux/futex.h>
#include <mpi.h>
#include <pnetcdf.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "step_block.hpp"

using namespace sluice::bench;

namespace {

struct Process {
  int rank = 0;
  int size = 1;
  std::int64_t columns = 0;
};

std::string path_of(int step) {
  return "small_" + std::to_string(step) + ".nc";
}

/// The number of steps that were read, in a file that both programs map. Not a part of what is measured.
class Pace {
 public:
  explicit Pace(const std::string& path) {
    if (path == "-") return;
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT, 0600);
    if (file < 0 || ::ftruncate(file, 4096) != 0) std::exit(2);
    word_ =
        static_cast<std::atomic<int>*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  }
  void await(int steps) const {
    if (word_ == nullptr) return;
    for (int seen = *word_; seen < steps; seen = *word_)
      ::syscall(SYS_futex, word_, FUTEX_WAIT, seen, nullptr, nullptr, 0);
  }
  void tell(int steps) const {
    if (word_ == nullptr) return;
    *word_ = steps;
    ::syscall(SYS_futex, word_, FUTEX_WAKE, 100, nullptr, nullptr, 0);
  }

 private:
  std::atomic<int>* word_ = nullptr;
};

/// Begins and ends of the parts of a step.
using Times = std::vector<std::int64_t>;

void write_step(const Process& process, const std::vector<double>& data, int step, Times& times) {
  int ncid = -1;
  int dimension = -1;
  int varid = -1;
  times.push_back(now_ns());
  require(
      ncmpi_create(MPI_COMM_WORLD, path_of(step).c_str(), NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &ncid),
      "create");
  times.push_back(now_ns());
  require(ncmpi_def_dim(ncid, "x", process.columns, &dimension), "def_dim");
  require(ncmpi_def_var(ncid, "field", NC_DOUBLE, 1, &dimension, &varid), "def_var");
  require(ncmpi_put_att_int(ncid, NC_GLOBAL, "step", NC_INT, 1, &step), "put_att");
  require(ncmpi_enddef(ncid), "enddef");
  times.push_back(now_ns());
  const MPI_Offset count = static_cast<MPI_Offset>(data.size());
  const MPI_Offset start = process.rank * count;
  require(ncmpi_put_vara_double_all(ncid, varid, &start, &count, data.data()), "put_vara");
  times.push_back(now_ns());
  require(ncmpi_close(ncid), "close");
  times.push_back(now_ns());
}

/// The readers read it in another order: reader i reads the block of the last writer but i.
int read_step(const Process& process, std::vector<double>& data, int step, Times& times) {
  int ncid = -1;
  int varid = -1;
  int number = -1;
  times.push_back(now_ns());
  require(ncmpi_open(MPI_COMM_WORLD, path_of(step).c_str(), NC_NOWRITE, MPI_INFO_NULL, &ncid), "open");
  times.push_back(now_ns());
  require(ncmpi_inq_varid(ncid, "field", &varid), "inq_varid");
  require(ncmpi_get_att_int(ncid, NC_GLOBAL, "step", &number), "get_att");
  const MPI_Offset count = static_cast<MPI_Offset>(data.size());
  const MPI_Offset start = (process.size - 1 - process.rank) * count;
  require(ncmpi_get_vara_double_all(ncid, varid, &start, &count, data.data()), "get_vara");
  times.push_back(now_ns());
  require(ncmpi_close(ncid), "close");
  times.push_back(now_ns());
  return number;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 5) {
    std::fprintf(stderr, "small_steps write|read STEPS BYTES PACE\n");
    return 2;
  }
  const bool writes = std::string(argv[1]) == "write";
  const int steps = std::atoi(argv[2]);
  const Pace pace(argv[4]);
  Process process;
  MPI_Comm_rank(MPI_COMM_WORLD, &process.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &process.size);
  process.columns = std::atoll(argv[3]) / 8;
  std::vector<double> data(static_cast<std::size_t>(process.columns / process.size));
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = process.rank * 1e6 + static_cast<double>(i);
  Times times;
  times.reserve(static_cast<std::size_t>(steps) * 5);
  int wrong = 0;
  if (!writes) std::fill(data.begin(), data.end(), -1.0);
  if (!writes) pace.tell(1);
  for (int step = 0; step < steps; ++step) {
    if (writes) {
      if (process.rank == 0) pace.await(step + 1);
      MPI_Barrier(MPI_COMM_WORLD);
      data.front() = step;
      write_step(process, data, step, times);
    } else {
      const int number = read_step(process, data, step, times);
      if (number != step || data.front() != step || data.back() < 0) ++wrong;
      MPI_Barrier(MPI_COMM_WORLD);
      if (process.rank == 0) pace.tell(step + 2);
    }
  }
  std::FILE* const out =
      std::fopen((std::string(argv[1]) + "." + std::to_string(process.rank) + ".times").c_str(), "w");
  const std::size_t width = times.size() / static_cast<std::size_t>(steps);
  for (std::size_t i = 0; i < times.size(); ++i)
    std::fprintf(out, "%lld%c", static_cast<long long>(times[i]), (i + 1) % width == 0 ? '\n' : ' ');
  std::fclose(out);
  if (wrong > 0) std::fprintf(stderr, "small_steps: %d steps are wrong\n", wrong);
  MPI_Finalize();
  return wrong > 0 ? 3 : 0;
}
