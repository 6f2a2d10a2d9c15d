#include "step_block.hpp"

#include <mpi.h>
#include <pnetcdf.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace sluice::bench {

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

Block band_of_rows(std::int64_t rows, std::int64_t columns, int rank, int size) {
  const std::int64_t first = rows * rank / size;
  return {first, rows * (rank + 1) / size - first, 0, columns};
}

Block band_of_columns(std::int64_t rows, std::int64_t columns, int rank, int size) {
  const std::int64_t first = columns * rank / size;
  return {0, rows, first, columns * (rank + 1) / size - first};
}

double element_value(std::int64_t row, std::int64_t column, std::int64_t columns_of_array, int step) {
  const auto position = static_cast<double>(row * columns_of_array + column);
  return column % stamp_distance == 0 ? position + 0.5 * step : position;
}

namespace {

/// Calls visit(element of the block, row, column) for all elements, or for the elements that change from step
/// to step.
template <class Visit>
void for_each(const Block& block, bool all, Visit visit) {
  const std::int64_t distance = all ? 1 : stamp_distance;
  const std::int64_t first = (block.first_column + distance - 1) / distance * distance;
  for (std::int64_t i = 0; i < block.rows; ++i) {
    for (std::int64_t column = first; column < block.first_column + block.columns; column += distance) {
      visit(static_cast<std::size_t>(i * block.columns + column - block.first_column), block.first_row + i,
            column);
    }
  }
}

}  // namespace

void fill(std::vector<double>& data, const Block& block, std::int64_t columns_of_array, int step, bool all) {
  for_each(block, all, [&](std::size_t at, std::int64_t row, std::int64_t column) {
    data[at] = element_value(row, column, columns_of_array, step);
  });
}

std::int64_t count_wrong(const std::vector<double>& data, const Block& block, std::int64_t columns_of_array,
                         int step, bool all) {
  std::int64_t wrong = 0;
  for_each(block, all, [&](std::size_t at, std::int64_t row, std::int64_t column) {
    wrong += data[at] != element_value(row, column, columns_of_array, step) ? 1 : 0;
  });
  return wrong;
}

StepOptions StepOptions::parse(int argc, char** argv) {
  StepOptions options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--acknowledge") {
      options.acknowledge = true;
      continue;
    }
    const char* value = i + 1 < argc ? argv[++i] : nullptr;
    if (value != nullptr && name == "--rows") {
      options.rows = std::atoll(value);
    } else if (value != nullptr && name == "--columns") {
      options.columns = std::atoll(value);
    } else if (value != nullptr && name == "--steps") {
      options.steps = std::atoi(value);
    } else if (value != nullptr && name == "--files") {
      options.files = std::atoi(value);
    } else if (value != nullptr && name == "--times") {
      options.times = value;
    } else if (value != nullptr && name == "--ready") {
      options.ready = value;
    } else {
      std::fprintf(stderr,
                   "usage: %s --rows N --columns N --steps N [--files N] [--acknowledge] [--times FILE] "
                   "[--ready FILE]\n",
                   argv[0]);
      std::exit(2);
    }
  }
  return options;
}

namespace {

std::string numbered(const char* name, int number) {
  char path[32];
  std::snprintf(path, sizeof path, "%s_%04d.nc", name, number);
  return path;
}

}  // namespace

std::string StepOptions::step_path(int step) const {
  return numbered("step", files > 0 ? step % files : step);
}
std::string StepOptions::acknowledgement_path(int step) const {
  return numbered("ack", files > 0 ? step % files : step);
}

void tell_ready(const StepOptions& options) {
  if (options.ready.empty()) return;
  MPI_Barrier(MPI_COMM_WORLD);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0) return;
  std::FILE* file = std::fopen(options.ready.c_str(), "w");
  if (file == nullptr) {
    std::perror(options.ready.c_str());
    MPI_Abort(MPI_COMM_WORLD, 1);
    return;
  }
  std::fclose(file);
}

void await_ready(const StepOptions& options) {
  if (options.ready.empty()) return;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::int64_t until = now_ns() + 60'000'000'000;
  while (rank == 0 && access(options.ready.c_str(), F_OK) != 0) {
    if (now_ns() > until) {
      std::fprintf(stderr, "%s did not appear within a minute\n", options.ready.c_str());
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    usleep(500);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

void write_times(const std::string& path, const std::vector<StepTime>& times) {
  std::vector<std::int64_t> begins;
  std::vector<std::int64_t> ends;
  for (const StepTime& time : times) {
    begins.push_back(time.begin_ns);
    ends.push_back(time.end_ns);
  }
  std::vector<std::int64_t> first(begins.size());
  std::vector<std::int64_t> last(ends.size());
  const int count = static_cast<int>(times.size());
  MPI_Reduce(begins.data(), first.data(), count, MPI_INT64_T, MPI_MIN, 0, MPI_COMM_WORLD);
  MPI_Reduce(ends.data(), last.data(), count, MPI_INT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0 || path.empty()) return;
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) {
    std::perror(path.c_str());
    MPI_Abort(MPI_COMM_WORLD, 1);
    return;
  }
  for (int i = 0; i < count; ++i) {
    std::fprintf(file, "%lld %lld\n", static_cast<long long>(first[static_cast<std::size_t>(i)]),
                 static_cast<long long>(last[static_cast<std::size_t>(i)]));
  }
  std::fclose(file);
}

void require(int status, const char* what) {
  if (status == NC_NOERR) return;
  std::fprintf(stderr, "%s: %s\n", what, ncmpi_strerror(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

}  // namespace sluice::bench
