// Files of more than 2^32 bytes, which are sparse on disk.
#include <doctest/doctest.h>

#include <cstdio>
#include <vector>

#include "open_driver.hpp"

namespace sluice::api {
namespace {

constexpr std::int64_t rows = 70000;
constexpr std::int64_t columns = 70000;

/// A byte variable of more than 4 GiB, then an int variable, then records.
formats::Header large_header() {
  formats::Header header;
  header.version = formats::Version::cdf5;
  const int time = header.add_dimension({"time", 0, true});
  const int row = header.add_dimension({"row", rows, false});
  const int column = header.add_dimension({"column", columns, false});
  const auto add = [&](const char* name, formats::Type type, std::vector<int> dimids) {
    formats::Variable variable;
    variable.name = name;
    variable.type = type;
    variable.dimids = std::move(dimids);
    header.add_variable(variable);
  };
  add("large", formats::Type::int8, {row, column});
  add("behind", formats::Type::int32, {column});
  add("records", formats::Type::int16, {time, row, column});
  return header;
}

/// Elements (y, x) of a few distant rows. The ranks share the columns: x % size == rank.
struct Part {
  formats::Hyperslab slab;
  formats::HyperslabView view;
  std::vector<int> values;
  Access access;

  Part(const Communicator& comm, int varid, std::vector<std::int64_t> leading, bool writes) {
    slab.start = std::move(leading);
    slab.start.push_back(columns - 4000 + comm.rank());
    slab.count.assign(slab.start.size(), 1);
    slab.stride.assign(slab.start.size(), 1);
    slab.stride.back() = comm.size();
    slab.count.back() = 1000 / comm.size();
    if (slab.start.size() > 1) {
      slab.count[slab.start.size() - 2] = 3;
      slab.stride[slab.start.size() - 2] = 30000;
    }
    view = slab.view();
    values.assign(static_cast<std::size_t>(view.elements()), 0);
    for (std::size_t i = 0; writes && i < values.size(); ++i) values[i] = value(comm, varid, i);
    access = {varid, {&view, 1}, values.data(), formats::Type::int32, view.elements(), 0};
  }
  static int value(const Communicator& comm, int varid, std::size_t i) {
    return static_cast<int>((i * 13 + static_cast<std::size_t>(comm.rank() * 7 + varid)) % 101);
  }
};

}  // namespace

TEST_CASE("offsets beyond 2^32 are written, moved and read, sparse and interleaved") {
  const auto comm = Communicator::duplicate_of(MPI_COMM_WORLD);
  const std::map<std::string, std::string> hints{{"romio_cb_write", "enable"}, {"romio_cb_read", "enable"}};
  auto opened = create_file({comm, "large.nc", 0, MPI_INFO_NULL, hints});
  auto header = large_header();
  const auto layout = formats::compute_layout(header, {}, nullptr);
  opened.driver->write_header(header, layout);
  CHECK(header.variable(1).begin > std::int64_t{1} << 32);

  for (const Mode mode : {Mode::collective, Mode::independent}) {
    for (const bool writes : {true, false}) {
      Part large(comm, 0, {5}, writes);
      Part behind(comm, 1, {}, writes);
      Part records(comm, 2, {1, 100}, writes);
      std::vector<Access> accesses{large.access, behind.access, records.access};
      if (writes) {
        opened.driver->put(header, layout, accesses, mode);
        header.record_count = opened.driver->agree_record_count(2, Mode::collective);
      } else {
        opened.driver->get(header, layout, accesses, mode);
      }
      for (const Part* part : {&large, &behind, &records}) {
        int wrong = 0;
        for (std::size_t i = 0; i < part->values.size(); ++i)
          wrong += part->values[i] != Part::value(comm, part->access.varid, i);
        CHECK(wrong == 0);
      }
      MPI_Barrier(comm.get());
    }
  }
  CHECK(header.record_count == 2);
  opened.driver->discard(true);
}

}  // namespace sluice::api
