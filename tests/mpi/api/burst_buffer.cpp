// Files with a burst buffer: which data is in the log and which in the file, and when.
#include <doctest/doctest.h>
#include <mpi.h>
#include <pnetcdf.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "support/file_size_limit.hpp"

extern "C" const char* sluice_last_error(void);

namespace {

constexpr int columns = 4;

int rank_of_world() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int size_of_world() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

void barrier() {
  MPI_Barrier(MPI_COMM_WORLD);
}

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class Hints {
 public:
  explicit Hints(std::initializer_list<std::pair<const char*, std::string>> hints) {
    MPI_Info_create(&info_);
    for (const auto& [key, value] : hints) MPI_Info_set(info_, key, value.c_str());
  }
  ~Hints() { MPI_Info_free(&info_); }
  Hints(const Hints&) = delete;
  Hints& operator=(const Hints&) = delete;
  MPI_Info get() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

/// A directory for logs that all ranks see. It is empty at first, and is removed at the end.
class LogDirectory {
 public:
  LogDirectory() {
    if (rank_of_world() == 0) {
      std::filesystem::remove_all(path);
      std::filesystem::create_directory(path);
    }
    barrier();
  }
  ~LogDirectory() {
    barrier();
    if (rank_of_world() == 0) std::filesystem::remove_all(path);
    barrier();
  }
  static std::string metadata(const std::string& file) {
    return path + "/" + file + "_0_" + std::to_string(rank_of_world()) + ".meta";
  }
  static std::string data(const std::string& file) {
    return path + "/" + file + "_0_" + std::to_string(rank_of_world()) + ".data";
  }
  static inline const std::string path = "burst_logs";
};

/// num_entries of this rank's log; -1 if there is no log.
std::int64_t entries_of(const std::string& file) {
  const auto bytes = contents(LogDirectory::metadata(file));
  std::int64_t count = -1;
  if (bytes.size() >= 56) std::memcpy(&count, bytes.data() + 48, sizeof count);
  return count;
}

/// int a(records, ranks * columns), int b(ranks * columns), with these hints.
class File {
 public:
  File(const std::string& name, MPI_Info info) : name(name) {
    REQUIRE(ncmpi_create(MPI_COMM_WORLD, name.c_str(), NC_CLOBBER | NC_64BIT_DATA, info, &id) == NC_NOERR);
    std::array<int, 2> dimids{};
    ncmpi_def_dim(id, "time", NC_UNLIMITED, &dimids[0]);
    ncmpi_def_dim(id, "x", static_cast<MPI_Offset>(size_of_world()) * columns, &dimids[1]);
    ncmpi_def_var(id, "a", NC_INT, 2, dimids.data(), &a);
    ncmpi_def_var(id, "b", NC_SHORT, 1, &dimids[1], &b);
    REQUIRE(ncmpi_enddef(id) == NC_NOERR);
  }

  [[nodiscard]] std::array<MPI_Offset, 2> start(MPI_Offset record) const {
    return {record, static_cast<MPI_Offset>(rank_of_world()) * columns};
  }
  static constexpr std::array<MPI_Offset, 2> count{1, columns};

  /// Puts this rank's part of a record.
  void put(MPI_Offset record, int value) const {
    const std::array<int, columns> values{value, value + 1, value + 2, value + 3};
    CHECK(ncmpi_put_vara_int_all(id, a, start(record).data(), count.data(), values.data()) == NC_NOERR);
  }
  void put_b(int value) const {
    const std::array<int, columns> values{value, value, value, value};
    CHECK(ncmpi_put_vara_int_all(id, b, start(0).data() + 1, count.data() + 1, values.data()) == NC_NOERR);
  }
  void close() const { CHECK(ncmpi_close(id) == NC_NOERR); }

  std::string name;
  int id = -1;
  int a = -1;
  int b = -1;
};

/// This rank's part of a record in the file itself, without the burst buffer; empty if the record does not
/// exist.
std::vector<int> stored(const std::string& name, MPI_Offset record) {
  int id = -1;
  MPI_Offset records = 0;
  std::vector<int> values;
  REQUIRE(ncmpi_open(MPI_COMM_SELF, name.c_str(), NC_NOWRITE, MPI_INFO_NULL, &id) == NC_NOERR);
  ncmpi_inq_dimlen(id, 0, &records);
  if (record < records) {
    values.resize(columns);
    const std::array<MPI_Offset, 2> start{record, static_cast<MPI_Offset>(rank_of_world()) * columns};
    ncmpi_begin_indep_data(id);
    CHECK(ncmpi_get_vara_int(id, 0, start.data(), File::count.data(), values.data()) == NC_NOERR);
  }
  ncmpi_close(id);
  return values;
}

std::vector<int> from(int value) {
  std::vector<int> values(columns);
  std::iota(values.begin(), values.end(), value);
  return values;
}

Hints enabled() {
  return Hints{{"nc_burst_buf", "enable"}, {"nc_burst_buf_dirname", LogDirectory::path}};
}

}  // namespace

TEST_CASE(
    "what is put is in the log and not in the file until it is flushed, and the log is gone at the end") {
  const LogDirectory logs;
  const auto hints = enabled();
  const File file("flush_rules.nc", hints.get());
  CHECK(entries_of(file.name) == 0);
  const auto expect_logged_then_flushed = [&](MPI_Offset record, const auto& flush) {
    CAPTURE(record);
    file.put(record, 100);
    CHECK(entries_of(file.name) == 1);
    barrier();
    CHECK(stored(file.name, record).empty());
    barrier();
    flush();
    CHECK(entries_of(file.name) == 0);
    barrier();
    CHECK(stored(file.name, record) == from(100));
  };
  expect_logged_then_flushed(0, [&] { CHECK(ncmpi_flush(file.id) == NC_NOERR); });
  expect_logged_then_flushed(1, [&] { CHECK(ncmpi_sync(file.id) == NC_NOERR); });
  expect_logged_then_flushed(2, [&] { CHECK(ncmpi_wait_all(file.id, 0, nullptr, nullptr) == NC_NOERR); });
  expect_logged_then_flushed(
      3, [&] { CHECK(ncmpi_wait_all(file.id, NC_REQ_ALL, nullptr, nullptr) == NC_NOERR); });
  expect_logged_then_flushed(4, [&] {
    CHECK(ncmpi_redef(file.id) == NC_NOERR);
    CHECK(ncmpi_enddef(file.id) == NC_NOERR);
  });
  expect_logged_then_flushed(5, [&] {
    std::array<int, columns> values{};
    CHECK(ncmpi_get_vara_int_all(file.id, file.a, file.start(5).data(), File::count.data(), values.data()) ==
          NC_NOERR);
    CHECK(values[0] == 100);
  });
  expect_logged_then_flushed(6, [&] {
    CHECK(ncmpi_begin_indep_data(file.id) == NC_NOERR);
    CHECK(ncmpi_end_indep_data(file.id) == NC_NOERR);
  });
  file.put(7, 200);
  file.close();
  barrier();
  CHECK(entries_of(file.name) == -1);
  CHECK(contents(LogDirectory::data(file.name)).empty());
  CHECK(stored(file.name, 7) == from(200));
}

TEST_CASE("a read of an unwritten variable flushes nothing") {
  const LogDirectory logs;
  const auto hints = enabled();
  const File file("other_variable.nc", hints.get());
  file.put(0, 1);
  std::array<int, columns> values{};
  CHECK(ncmpi_get_vara_int_all(file.id, file.b, file.start(0).data() + 1, File::count.data() + 1,
                               values.data()) == NC_NOERR);
  CHECK(entries_of(file.name) == 1);
  file.close();
}

TEST_CASE("a read of another process's puts flushes on all processes") {
  const LogDirectory logs;
  const auto hints = enabled();
  const File file("others.nc", hints.get());
  const int last = size_of_world() - 1;
  const std::array<int, columns> mine{5, 6, 7, 8};
  const auto puts = rank_of_world() == 0 ? File::count : std::array<MPI_Offset, 2>{0, 0};
  CHECK(ncmpi_put_vara_int_all(file.id, file.a, file.start(0).data(), puts.data(), mine.data()) == NC_NOERR);
  // The last process reads everything, the others nothing.
  const auto gets = rank_of_world() == last ? File::count : std::array<MPI_Offset, 2>{0, 0};
  std::array<int, columns> values{};
  const std::array<MPI_Offset, 2> start{0, 0};
  CHECK(ncmpi_get_vara_int_all(file.id, file.a, start.data(), gets.data(), values.data()) == NC_NOERR);
  if (rank_of_world() == last) CHECK(values == mine);
  file.close();
}

TEST_CASE("in independent mode a process flushes for itself") {
  const LogDirectory logs;
  const auto hints = enabled();
  const File file("independent.nc", hints.get());
  CHECK(ncmpi_begin_indep_data(file.id) == NC_NOERR);
  const std::array<int, columns> mine{1, 2, 3, 4};
  CHECK(ncmpi_put_vara_int(file.id, file.b, file.start(0).data() + 1, File::count.data() + 1, mine.data()) ==
        NC_NOERR);
  CHECK(entries_of(file.name) == 1);
  if (rank_of_world() == 0) {
    CHECK(ncmpi_flush(file.id) == NC_NOERR);
    CHECK(entries_of(file.name) == 0);
  } else if (rank_of_world() == 1) {
    std::array<int, columns> values{};
    CHECK(ncmpi_get_vara_int(file.id, file.b, file.start(0).data() + 1, File::count.data() + 1,
                             values.data()) == NC_NOERR);
    CHECK(values == mine);
    CHECK(entries_of(file.name) == 0);
  } else {
    CHECK(entries_of(file.name) == 1);
    CHECK(ncmpi_wait(file.id, 0, nullptr, nullptr) == NC_NOERR);
    CHECK(entries_of(file.name) == 0);
  }
  CHECK(ncmpi_end_indep_data(file.id) == NC_NOERR);
  file.close();
}

TEST_CASE("the later of a process's own puts wins, with whatever buffer they are flushed") {
  for (const char* const buffer : {"0", "1", "20", "100000"}) {
    CAPTURE(buffer);
    const LogDirectory logs;
    const Hints hints{{"nc_burst_buf", "enable"},
                      {"nc_burst_buf_dirname", LogDirectory::path},
                      {"nc_burst_buf_flush_buffer_size", buffer}};
    const File file("order.nc", hints.get());
    // The ranks put different numbers of times, so they need different numbers of rounds.
    CHECK(ncmpi_begin_indep_data(file.id) == NC_NOERR);
    const int times = 20 + 30 * rank_of_world();
    for (int i = 0; i < times; ++i) {
      const auto values = from(i);
      CHECK(ncmpi_put_vara_int(file.id, file.a, file.start(i % 3).data(), File::count.data(),
                               values.data()) == NC_NOERR);
    }
    CHECK(ncmpi_end_indep_data(file.id) == NC_NOERR);
    file.close();
    barrier();
    for (int i = times - 3; i < times; ++i) CHECK(stored(file.name, i % 3) == from(i));
    barrier();
  }
}

TEST_CASE("nonblocking puts can be cancelled until they are flushed") {
  const LogDirectory logs;
  const auto hints = enabled();
  const File file("cancel.nc", hints.get());
  file.put(0, 10);
  file.put(1, 20);
  CHECK(ncmpi_flush(file.id) == NC_NOERR);
  std::array<int, 2> requests{};
  std::array<int, 2> statuses{};
  const auto first = from(70);
  const auto second = from(80);
  CHECK(ncmpi_iput_vara_int(file.id, file.a, file.start(0).data(), File::count.data(), first.data(),
                            &requests[0]) == NC_NOERR);
  CHECK(entries_of(file.name) == 1);
  CHECK(ncmpi_cancel(file.id, 1, requests.data(), statuses.data()) == NC_NOERR);
  CHECK(statuses[0] == NC_NOERR);
  CHECK(ncmpi_flush(file.id) == NC_NOERR);
  CHECK(ncmpi_iput_vara_int(file.id, file.a, file.start(1).data(), File::count.data(), second.data(),
                            &requests[1]) == NC_NOERR);
  CHECK(ncmpi_flush(file.id) == NC_NOERR);
  CHECK(ncmpi_cancel(file.id, 1, &requests[1], &statuses[1]) == NC_NOERR);
  CHECK(statuses[1] == NC_EFLUSHED);
  CHECK(requests[1] == NC_REQ_NULL);
  file.close();
  barrier();
  CHECK(stored(file.name, 0) == from(10));
  CHECK(stored(file.name, 1) == from(80));
}

TEST_CASE("bput needs no attached buffer, and uses none") {
  const LogDirectory logs;
  const auto hints = enabled();
  const File file("bput.nc", hints.get());
  int request = NC_REQ_NULL;
  MPI_Offset bytes = -1;
  auto values = from(10);
  const auto bput = [&](MPI_Offset record) {
    return ncmpi_bput_vara_int(file.id, file.a, file.start(record).data(), File::count.data(), values.data(),
                               &request);
  };
  const auto wait = [&] { return ncmpi_wait_all(file.id, 1, &request, nullptr); };
  CHECK(ncmpi_inq_buffer_usage(file.id, &bytes) == NC_ENULLABUF);
  CHECK(bput(0) == NC_NOERR);
  CHECK(entries_of(file.name) == 1);
  values = from(0);
  CHECK(wait() == NC_NOERR);
  // Other mistakes are found without a buffer, too.
  CHECK(ncmpi_bput_varn_int(file.id, file.a, 1, nullptr, nullptr, values.data(), &request) == NC_ENULLSTART);

  values = from(20);
  CHECK(ncmpi_buffer_attach(file.id, 1) == NC_NOERR);
  CHECK(bput(1) == NC_NOERR);
  CHECK(ncmpi_inq_buffer_usage(file.id, &bytes) == NC_NOERR);
  CHECK(bytes == 0);
  CHECK(ncmpi_buffer_detach(file.id) == NC_NOERR);
  CHECK(wait() == NC_NOERR);

  // In define mode the put is not in the log yet.
  CHECK(ncmpi_redef(file.id) == NC_NOERR);
  values = from(30);
  CHECK(bput(2) == NC_NOERR);
  values = from(0);
  CHECK(ncmpi_enddef(file.id) == NC_NOERR);
  CHECK(wait() == NC_NOERR);
  file.close();
  barrier();
  for (MPI_Offset record = 0; record < 3; ++record)
    CHECK(stored(file.name, record) == from(10 * static_cast<int>(record + 1)));
}

TEST_CASE("logs are kept on request, with the puts since the last flush") {
  const LogDirectory logs;
  const Hints hints{{"nc_burst_buf", "enable"},
                    {"nc_burst_buf_dirname", LogDirectory::path},
                    {"nc_burst_buf_del_on_close", "disable"}};
  const File file("kept.nc", hints.get());
  file.put(0, 1);
  CHECK(ncmpi_flush(file.id) == NC_NOERR);
  file.put(1, 1);
  file.put_b(-2);
  file.close();
  CHECK(entries_of(file.name) == 2);
  const auto data = contents(LogDirectory::data(file.name));
  const std::string expected("PnetCDF0\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\377\376\377\376\377\376\377\376", 32);
  CHECK(data == expected);
  const auto metadata = contents(LogDirectory::metadata(file.name));
  CHECK(metadata.substr(0, 16) == std::string("PnetCDF0CDF5\0\0\0\0", 16));
  CHECK(metadata.find(std::filesystem::absolute("kept.nc").string()) == 68);
  barrier();
  // An existing log is not overwritten, and the file stays unchanged.
  int id = -1;
  CHECK(ncmpi_create(MPI_COMM_WORLD, "kept.nc", NC_CLOBBER, hints.get(), &id) == NC_EEXIST);
  CHECK(stored("kept.nc", 1) == from(1));
  barrier();
  const Hints overwriting{{"nc_burst_buf", "enable"},
                          {"nc_burst_buf_dirname", LogDirectory::path},
                          {"nc_burst_buf_overwrite", "enable"}};
  const File again("kept.nc", overwriting.get());
  again.close();
  CHECK(entries_of(file.name) == -1);
}

namespace {

/// One of these elements is out of range of a short.
constexpr std::array<int, columns> too_large{1, 100000, 3, 4};
constexpr std::array<int, columns> with_fill{1, NC_FILL_SHORT, 3, 4};

int put_too_large(const File& file) {
  return ncmpi_put_vara_int_all(file.id, file.b, file.start(0).data() + 1, File::count.data() + 1,
                                too_large.data());
}

int post_too_large(const File& file, int* request) {
  return ncmpi_iput_vara_int(file.id, file.b, file.start(0).data() + 1, File::count.data() + 1,
                             too_large.data(), request);
}

}  // namespace

TEST_CASE("a put out of range succeeds; the first call that flushes tells so, once") {
  const LogDirectory logs;
  const auto hints = enabled();
  const File file("range.nc", hints.get());
  std::array<int, columns> read{};
  const auto get = [&] {
    return ncmpi_get_vara_int_all(file.id, file.b, file.start(0).data() + 1, File::count.data() + 1,
                                  read.data());
  };
  CHECK(put_too_large(file) == NC_NOERR);
  SUBCASE("flush") {
    CHECK(ncmpi_flush(file.id) == NC_ERANGE);
  }
  SUBCASE("sync") {
    CHECK(ncmpi_sync(file.id) == NC_ERANGE);
  }
  SUBCASE("wait for nothing") {
    CHECK(ncmpi_wait_all(file.id, NC_REQ_ALL, nullptr, nullptr) == NC_ERANGE);
  }
  SUBCASE("a get of the variable, which has read") {
    CHECK(get() == NC_ERANGE);
    CHECK(read == with_fill);
  }
  SUBCASE("redef, which is in define mode") {
    CHECK(ncmpi_redef(file.id) == NC_ERANGE);
    CHECK(ncmpi_enddef(file.id) == NC_NOERR);
  }
  SUBCASE("begin_indep_data, which is in independent mode") {
    CHECK(ncmpi_begin_indep_data(file.id) == NC_ERANGE);
    CHECK(ncmpi_end_indep_data(file.id) == NC_NOERR);
  }
  CHECK(ncmpi_flush(file.id) == NC_NOERR);
  CHECK(get() == NC_NOERR);
  CHECK(read == with_fill);
  file.close();
}

TEST_CASE("close tells of puts out of range that nothing has flushed, and leaves a whole file and no logs") {
  const LogDirectory logs;
  const auto hints = enabled();
  const File file("range_at_close.nc", hints.get());
  file.put(0, 1);
  CHECK(put_too_large(file) == NC_NOERR);
  CHECK(ncmpi_close(file.id) == NC_ERANGE);
  barrier();
  CHECK(stored(file.name, 0) == from(1));
  CHECK(std::filesystem::is_empty(LogDirectory::path));
}

TEST_CASE("a nonblocking put out of range is posted and written; its wait tells so") {
  const LogDirectory logs;
  const auto hints = enabled();
  const File file("range_posted.nc", hints.get());
  std::array<int, 2> requests{};
  std::array<int, 2> statuses{NC_NOERR, NC_NOERR};
  CHECK(post_too_large(file, &requests[0]) == NC_NOERR);
  CHECK(ncmpi_wait_all(file.id, 1, requests.data(), statuses.data()) == NC_ERANGE);
  CHECK(statuses[0] == NC_NOERR);
  // A cancelled request was never put.
  CHECK(post_too_large(file, &requests[0]) == NC_NOERR);
  CHECK(ncmpi_cancel(file.id, 1, requests.data(), statuses.data()) == NC_NOERR);
  CHECK(statuses[0] == NC_NOERR);
  CHECK(ncmpi_flush(file.id) == NC_NOERR);
  file.close();
}

TEST_CASE("a wait with the id of a cancelled put says so in its status, and completes no other put") {
  const LogDirectory logs;
  const auto hints = enabled();
  const File file("cancelled_wait.nc", hints.get());
  const auto values = from(1);
  const auto post = [&](int row, int* request) {
    CHECK(ncmpi_iput_vara_int(file.id, file.a, file.start(row).data(), File::count.data(), values.data(),
                              request) == NC_NOERR);
  };
  int cancelled = 0;
  int other = 0;
  int status = NC_NOERR;
  int pending = 0;
  post(0, &cancelled);
  post(1, &other);
  int named = cancelled;
  CHECK(ncmpi_cancel(file.id, 1, &named, &status) == NC_NOERR);
  CHECK(ncmpi_wait_all(file.id, 1, &cancelled, &status) == NC_NOERR);
  CHECK(status == NC_EINVAL_REQUEST);
  CHECK(ncmpi_inq_nreqs(file.id, &pending) == NC_NOERR);
  CHECK(pending == 1);
  CHECK(ncmpi_wait_all(file.id, 1, &other, &status) == NC_NOERR);
  CHECK(status == NC_NOERR);
  CHECK(ncmpi_cancel(file.id, 1, &cancelled, &status) == NC_NOERR);
  CHECK(status == NC_EINVAL_REQUEST);
  file.close();
}

TEST_CASE("the hints in force are shown") {
  const LogDirectory logs;
  const Hints hints{{"nc_burst_buf", "ENABLE"},
                    {"nc_burst_buf_dirname", LogDirectory::path},
                    {"nc_burst_buf_flush_buffer_size", "0x100"}};
  const File file("hints.nc", hints.get());
  const auto shown = [](int id, const char* key) {
    MPI_Info info = MPI_INFO_NULL;
    CHECK(ncmpi_inq_file_info(id, &info) == NC_NOERR);
    std::array<char, MPI_MAX_INFO_VAL + 1> value{};
    int is_there = 0;
    MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value.data(), &is_there);
    MPI_Info_free(&info);
    return std::string(is_there != 0 ? value.data() : "none");
  };
  CHECK(shown(file.id, "nc_burst_buf") == "enable");
  CHECK(shown(file.id, "nc_burst_buf_dirname") == LogDirectory::path);
  CHECK(shown(file.id, "nc_burst_buf_del_on_close") == "enable");
  CHECK(shown(file.id, "nc_burst_buf_flush_buffer_size") == "256");
  file.close();
  int id = -1;
  CHECK(ncmpi_open(MPI_COMM_WORLD, "hints.nc", NC_NOWRITE, hints.get(), &id) == NC_NOERR);
  CHECK(shown(id, "nc_burst_buf") == "disable");  // no log is written
  CHECK(ncmpi_close(id) == NC_NOERR);
}

TEST_CASE("a directory that is not there is an error of create, which leaves an existing file alone") {
  if (rank_of_world() == 0) std::ofstream("precious.nc") << "precious";
  barrier();
  const Hints hints{{"nc_burst_buf", "enable"}, {"nc_burst_buf_dirname", "no/such/directory"}};
  int id = -1;
  CHECK(ncmpi_create(MPI_COMM_WORLD, "precious.nc", NC_CLOBBER, hints.get(), &id) == NC_EBAD_FILE);
  const std::string text = sluice_last_error();
  CHECK(text.find("no/such/directory") != std::string::npos);
  CHECK(text.find("nc_burst_buf_dirname") != std::string::npos);
  barrier();
  CHECK(contents("precious.nc") == "precious");
}

TEST_CASE("where only one process cannot make its log, all get an error and no log is left") {
  const LogDirectory logs;
  const auto hints = enabled();
  if (rank_of_world() == size_of_world() - 1) std::ofstream(LogDirectory::metadata("one_cannot.nc")) << "old";
  barrier();
  int id = -1;
  CHECK(ncmpi_create(MPI_COMM_WORLD, "one_cannot.nc", NC_CLOBBER, hints.get(), &id) == NC_EEXIST);
  barrier();
  const std::filesystem::directory_iterator left(LogDirectory::path);
  CHECK(std::distance(begin(left), end(left)) == 1);
}

TEST_CASE("a log that cannot grow is an error of the put; earlier puts are flushed") {
  const LogDirectory logs;
  const auto hints = enabled();
  const File file("no_room.nc", hints.get());
  file.put(0, 1);
  std::optional<sluice::test::FileSizeLimit> tight(40);
  const auto values = from(7);
  int status = NC_NOERR;
  int logged = 1;
  // More than the space that a log reserves.
  for (int i = 0; i < 10000; ++i) {
    const int own =
        ncmpi_put_vara_int_all(file.id, file.a, file.start(0).data(), File::count.data(), values.data());
    if (own != NC_NOERR) status = own;
    if (own == NC_NOERR) ++logged;
  }
  const std::string text = sluice_last_error();
  tight.reset();
  CHECK(status == NC_EWRITE);
  CHECK(text.find(LogDirectory::path) != std::string::npos);
  CHECK(entries_of(file.name) == logged);
  file.put(1, 2);
  file.close();
  barrier();
  CHECK(stored(file.name, 0) == from(logged > 1 ? 7 : 1));
  CHECK(stored(file.name, 1) == from(2));
}

TEST_CASE("a flush that fails says so, and the next one does it") {
  const LogDirectory logs;
  const auto hints = enabled();
  const File file("cannot_flush.nc", hints.get());
  file.put(0, 1);
  file.put(1, 2);
  std::optional<sluice::test::FileSizeLimit> tight(16);
  CHECK(ncmpi_flush(file.id) != NC_NOERR);
  tight.reset();
  CHECK(entries_of(file.name) == 2);
  CHECK(ncmpi_flush(file.id) == NC_NOERR);
  CHECK(entries_of(file.name) == 0);
  file.close();
  barrier();
  CHECK(stored(file.name, 0) == from(1));
  CHECK(stored(file.name, 1) == from(2));
}

TEST_CASE("when the flush at close fails, the logs stay") {
  const LogDirectory logs;
  const auto hints = enabled();
  const File file("cannot_close.nc", hints.get());
  file.put(0, 1);
  std::optional<sluice::test::FileSizeLimit> tight(16);
  CHECK(ncmpi_close(file.id) != NC_NOERR);
  const std::string text = sluice_last_error();
  tight.reset();
  CHECK(text.find("sluice recover") != std::string::npos);
  CHECK(entries_of(file.name) == 1);
}
