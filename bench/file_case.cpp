#include "file_case.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string_view>

namespace sluice::bench {

int rank_of_process = 0;
int process_count = 1;

namespace {

/// The longest time of any process.
template <class Work>
double seconds(const Work& work) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  work();
  double elapsed = MPI_Wtime() - begin;
  MPI_Allreduce(MPI_IN_PLACE, &elapsed, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return elapsed;
}

void write_file(const Case& test, const std::string& path) {
  int file = 0;
  check(ncmpi_create(MPI_COMM_WORLD, path.c_str(), NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file),
        "create");
  test.define(file);
  check(ncmpi_enddef(file), "enddef");
  test.write(file);
  check(ncmpi_close(file), "close");
}

void read_file(const Case& test, const std::string& path) {
  int file = 0;
  check(ncmpi_open(MPI_COMM_WORLD, path.c_str(), NC_NOWRITE, MPI_INFO_NULL, &file), "open");
  test.read(file);
  check(ncmpi_close(file), "close");
}

/// A line of /proc/self/status, in KiB.
std::int64_t kibibytes_of(std::string_view key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key)) return std::atoll(line.c_str() + key.size());
  }
  return 0;
}

/// The peak growth of this process's memory since this object was made.
class PeakMemory {
 public:
  PeakMemory() {
    std::ofstream("/proc/self/clear_refs") << "5";  // resets the high-water mark
    before_ = kibibytes_of("VmRSS:");
  }
  [[nodiscard]] std::int64_t kibibytes() const { return kibibytes_of("VmHWM:") - before_; }

 private:
  std::int64_t before_ = 0;
};

/// FNV-1a over the bytes of the file.
std::uint64_t checksum_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> buffer(1 << 20);
  std::uint64_t sum = 0xcbf29ce484222325U;
  while (file) {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    for (std::streamsize i = 0; i < file.gcount(); ++i)
      sum = (sum ^ static_cast<unsigned char>(buffer[static_cast<std::size_t>(i)])) * 0x100000001b3U;
  }
  return sum;
}

}  // namespace

Arguments begin_program(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_of_process);
  MPI_Comm_size(MPI_COMM_WORLD, &process_count);
  if (argc < 3) {
    if (rank_of_process == 0)
      std::fprintf(stderr, "usage: %s directory repetitions [map_f_case_16p.nc [case]]\n", argv[0]);
    MPI_Finalize();
    std::exit(2);
  }
  Arguments arguments;
  arguments.path = std::string(argv[1]) + "/bench_files.nc";
  arguments.repetitions = std::atoi(argv[2]);
  if (argc > 3) arguments.map = argv[3];
  if (argc > 4) arguments.only = argv[4];
  return arguments;
}

void check(int status, const char* what) {
  if (status == NC_NOERR) return;
  std::fprintf(stderr, "bench: %s: %s\n", what, ncmpi_strerror(status));
  MPI_Abort(MPI_COMM_WORLD, 1);
}

void wait_for_all(int file, std::vector<int>& requests) {
  std::vector<int> statuses(requests.size());
  check(ncmpi_wait_all(file, static_cast<int>(requests.size()), requests.data(), statuses.data()),
        "wait_all");
  for (const int status : statuses) check(status, "request");
}

void run(const Case& test, const Arguments& arguments) {
  double write = 1e9;
  double read = 1e9;
  const PeakMemory memory;
  for (int i = 0; i < arguments.repetitions; ++i) {
    write = std::min(write, seconds([&] { write_file(test, arguments.path); }));
    read = std::min(read, seconds([&] { read_file(test, arguments.path); }));
  }
  std::int64_t kibibytes = memory.kibibytes();
  MPI_Allreduce(MPI_IN_PLACE, &kibibytes, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (test.check) test.check();
  if (rank_of_process == 0) {
    std::printf("%s\t%.1f\t%.6f\t%.6f\t%.1f\t%016llx\n", test.name.c_str(),
                static_cast<double>(test.bytes) / (1 << 20), write, read,
                static_cast<double>(kibibytes) / 1024,
                static_cast<unsigned long long>(checksum_of(arguments.path)));
    std::fflush(stdout);
    ncmpi_delete(arguments.path.c_str(), MPI_INFO_NULL);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace sluice::bench
