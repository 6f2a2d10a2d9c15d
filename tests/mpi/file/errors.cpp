// Failures of open and create, with the statuses of Debian's libpnetcdf 1.12.3.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "agreement.hpp"
#include "open_driver.hpp"
#include "support/file_size_limit.hpp"

namespace sluice::api {
namespace {

const std::map<std::string, std::string> no_hints;

int status_of(const std::function<void()>& work) {
  try {
    work();
    return NC_NOERR;
  } catch (const Error& error) {
    return error.status();
  }
}

/// Rank 0 makes a file for all.
void make_file(const Communicator& comm, const std::string& path, const std::string& content) {
  if (comm.is_root()) std::ofstream(path) << content;
  MPI_Barrier(comm.get());
}

int open_status(const Communicator& comm, const std::string& path) {
  return status_of([&] {
    auto opened = open_file({comm, path, 0, MPI_INFO_NULL, no_hints});
    opened.driver->close(opened.header);
  });
}

int create_status(const Communicator& comm, const std::string& path, int mode) {
  return status_of([&] {
    auto opened = create_file({comm, path, mode, MPI_INFO_NULL, no_hints});
    formats::Header header;
    const auto layout = formats::compute_layout(header, {}, nullptr);
    opened.driver->write_header(header, layout);
    opened.driver->close(header);
  });
}

constexpr int no_clobber = 4;

}  // namespace

TEST_CASE("a failed open gives PnetCDF's status on all ranks") {
  const auto comm = Communicator::duplicate_of(MPI_COMM_WORLD);
  CHECK(open_status(comm, "not_there.nc") == NC_ENOENT);
  CHECK(open_status(comm, "no_directory/x.nc") == NC_ENOENT);
  CHECK(open_status(comm, ".") == NC_EFILE);
  CHECK(open_status(comm, std::string(300, 'a')) == NC_EBAD_FILE);
  make_file(comm, "empty", "");
  CHECK(open_status(comm, "empty") == NC_EFILE);
  make_file(comm, "text", "hello world, this is text");
  CHECK(open_status(comm, "text") == NC_ENOTNC);
  CHECK(open_status(comm, "text/x") == NC_EFILE);
  make_file(comm, "hdf5", "\x89HDF\r\n\x1a\n and more of it");
  CHECK(open_status(comm, "hdf5") == NC_ENOTBUILT);
  make_file(comm, "version", std::string("CDF\x03", 4) + std::string(40, '\0'));
  CHECK(open_status(comm, "version") == NC_ENOTNC);
}

TEST_CASE("a failed create gives PnetCDF's status on all ranks") {
  const auto comm = Communicator::duplicate_of(MPI_COMM_WORLD);
  CHECK(create_status(comm, "no_directory/x.nc", 0) == NC_ENOENT);
  CHECK(create_status(comm, "/", 0) == NC_EFILE);
  CHECK(create_status(comm, "created.nc", 0) == NC_NOERR);
  CHECK(create_status(comm, "created.nc", no_clobber) == NC_EEXIST);
  CHECK(create_status(comm, "created.nc", 0) == NC_NOERR);
  CHECK(open_status(comm, "created.nc") == NC_NOERR);
  CHECK(open_status(comm, "ufs:created.nc") == NC_NOERR);
}

TEST_CASE("paths longer than Open MPI's buffers are no trouble") {
  const auto comm = Communicator::duplicate_of(MPI_COMM_WORLD);
  std::string directory;
  for (int i = 0; i < 6; ++i) {
    directory += std::string(60, 'd') + "/";
    if (comm.is_root()) ::mkdir(directory.c_str(), 0755);
  }
  MPI_Barrier(comm.get());
  CHECK(create_status(comm, directory + "x.nc", 0) == NC_NOERR);
  CHECK(open_status(comm, directory + "x.nc") == NC_NOERR);
  CHECK(create_status(comm, directory + "x.nc", no_clobber) == NC_EEXIST);
}

TEST_CASE("a write that fails on one rank is an error on all that exchanged data with it") {
  const auto comm = Communicator::duplicate_of(MPI_COMM_WORLD);
  const std::map<std::string, std::string> hints{{"romio_cb_write", "enable"}, {"cb_nodes", "1"}};
  auto opened = create_file({comm, "limited.nc", 0, MPI_INFO_NULL, hints});
  formats::Header header;
  formats::Variable variable;
  variable.name = "v";
  variable.type = formats::Type::float64;
  const std::int64_t length = 100000;
  variable.dimids = {header.add_dimension({"x", length, false})};
  header.add_variable(variable);
  const auto layout = formats::compute_layout(header, {}, nullptr);
  opened.driver->write_header(header, layout);
  const std::int64_t share = length / comm.size();
  formats::Hyperslab mine{{share * comm.rank()}, {share}, {}};
  const auto view = mine.view();
  std::vector<double> values(static_cast<std::size_t>(share), 1.0);
  Access access{0, {&view, 1}, values.data(), formats::Type::float64, share, 0};
  {
    const test::FileSizeLimit limit(comm.is_root() ? 100000 : RLIM_INFINITY);
    CHECK(status_of([&] {
            opened.driver->put(header, layout, {&access, 1}, Mode::collective);
          }) == NC_EWRITE);
  }
  CHECK(status_of([&] { opened.driver->put(header, layout, {&access, 1}, Mode::collective); }) == NC_NOERR);
  opened.driver->discard(true);
}

TEST_CASE("a value goes to all ranks in pieces") {
  const auto comm = Communicator::duplicate_of(MPI_COMM_WORLD);
  const int teller = comm.size() - 1;
  const std::string text = "twelve bytes";
  for (const std::size_t piece_bytes : {1U, 5U, 6U, 11U, 12U, 13U}) {
    std::string value = comm.rank() == teller ? text : "else";
    broadcast(comm, value, teller, piece_bytes);
    CHECK(value == text);
  }
  std::string empty = comm.rank() == teller ? "" : "else";
  broadcast(comm, empty, teller, 1);
  CHECK(empty.empty());
}

TEST_CASE("a discarded new file is removed") {
  const auto comm = Communicator::duplicate_of(MPI_COMM_WORLD);
  auto opened = create_file({comm, "discarded.nc", 0, MPI_INFO_NULL, no_hints});
  opened.driver->discard(true);
  CHECK(open_status(comm, "discarded.nc") == NC_ENOENT);
}

TEST_CASE("data beyond the end of the file reads as zeros") {
  const auto comm = Communicator::duplicate_of(MPI_COMM_WORLD);
  auto opened = create_file({comm, "short.nc", 0, MPI_INFO_NULL, no_hints});
  formats::Header header;
  formats::Variable variable;
  variable.name = "v";
  variable.type = formats::Type::int32;
  variable.dimids = {header.add_dimension({"x", 100, false})};
  header.add_variable(variable);
  const auto layout = formats::compute_layout(header, {}, nullptr);
  opened.driver->write_header(header, layout);
  formats::Hyperslab all{{0}, {100}, {}};
  const auto view = all.view();
  std::vector<int> values(100, 77);
  Access access{0, {&view, 1}, values.data(), formats::Type::int32, 100, 0};
  opened.driver->get(header, layout, {&access, 1}, Mode::collective);
  CHECK(values == std::vector<int>(100, 0));
  values.assign(100, 77);
  opened.driver->get(header, layout, {&access, 1}, Mode::independent);
  CHECK(values == std::vector<int>(100, 0));
  opened.driver->close(header);
}

}  // namespace sluice::api
