#include <doctest/doctest.h>
#include <mpi.h>

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "dataset.hpp"
#include "dataset_table.hpp"
#include "last_error.hpp"
#include "nonblocking.hpp"
#include "pnetcdf/entry.hpp"
#include "sluice/formats/status.hpp"
#include "support/dense_reference.hpp"
#include "support/memory_array_driver.hpp"
#include "support/seed.hpp"

using namespace sluice;
using api::AccessCall;
using api::Shape;
using api::Verb;
using test::MemoryArrayDriver;

namespace {

enum Variable { fixed, record, scalar, textual, shorts };

/// An open dataset of one process over an in-memory driver: fixed(6, 5), record(unlimited, 4), scalar,
/// textual(6), shorts(6).
class OpenDataset {
 public:
  OpenDataset() : dataset_(std::make_shared<api::Dataset>()) {
    auto owned = std::make_unique<MemoryArrayDriver>();
    driver_ = owned.get();
    auto& header = dataset_->header;
    const int t = header.add_dimension({"t", 0, true});
    const int x = header.add_dimension({"x", 6, false});
    const int y = header.add_dimension({"y", 5, false});
    const int z = header.add_dimension({"z", 4, false});
    add("fixed", formats::Type::int32, {x, y});
    add("record", formats::Type::int32, {t, z});
    add("scalar", formats::Type::float64, {});
    add("textual", formats::Type::text, {x});
    add("shorts", formats::Type::int16, {x});
    dataset_->driver = std::move(owned);
    dataset_->path = "a.nc";
    dataset_->is_writable = true;
    dataset_->ncid = api::add_dataset(dataset_);
    driver_->write_header(header, dataset_->layout);
  }
  ~OpenDataset() { api::remove_dataset(dataset_->ncid); }

  api::Dataset* operator->() const { return dataset_.get(); }
  api::Dataset& operator*() const { return *dataset_; }
  [[nodiscard]] MemoryArrayDriver& driver() const { return *driver_; }

  [[nodiscard]] AccessCall call(Verb verb, Shape shape, int varid, void* buffer,
                                MPI_Datatype type = MPI_INT) const {
    AccessCall call;
    call.verb = verb;
    call.shape = shape;
    call.is_collective = verb == Verb::put || verb == Verb::get;
    call.ncid = dataset_->ncid;
    call.varid = varid;
    call.buffer = buffer;
    call.buffer_type = type;
    return call;
  }

 private:
  void add(const char* name, formats::Type type, std::vector<int> dimids) {
    formats::Variable variable;
    variable.name = name;
    variable.type = type;
    variable.dimids = std::move(dimids);
    dataset_->header.add_variable(std::move(variable));
  }

  std::shared_ptr<api::Dataset> dataset_;  // shared with the table of ids
  MemoryArrayDriver* driver_ = nullptr;
};

std::vector<int> numbers(std::size_t n, int first = 1) {
  std::vector<int> values(n);
  std::iota(values.begin(), values.end(), first);
  return values;
}

std::vector<MPI_Offset> as_offsets(const std::vector<std::int64_t>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("random puts and gets of all shapes agree with a dense array") {
  test::HyperslabGenerator generator(test::test_seed());
  const OpenDataset dataset;
  const std::vector<std::int64_t> shape{6, 5};
  std::vector<int> reference(30);
  auto whole = numbers(30, 1000);
  REQUIRE(api::access(dataset.call(Verb::put, Shape::var, fixed, whole.data())) == NC_NOERR);
  reference = whole;
  for (int round = 0; round < 400; ++round) {
    auto slab = generator.hyperslab(shape);
    const auto start = as_offsets(slab.start);
    const auto count = as_offsets(slab.count);
    const auto stride = as_offsets(slab.stride);
    const bool writes = generator.chance(50);
    const bool is_mapped = generator.chance(30);
    const std::vector<MPI_Offset> imap = generator.chance(50) ? std::vector<MPI_Offset>{1, count[0]}
                                                              : std::vector<MPI_Offset>{2 * count[1], 2};
    auto buffer = numbers(60, round);
    const auto before = buffer;
    auto call = dataset.call(writes ? Verb::put : Verb::get, is_mapped ? Shape::varm : Shape::vars, fixed,
                             buffer.data());
    call.start = start.data();
    call.count = count.data();
    call.stride = stride.empty() ? nullptr : stride.data();
    call.imap = imap.data();
    REQUIRE(api::access(call) == NC_NOERR);
    auto expected = before;
    test::for_each_element(slab.view(), [&](const std::vector<std::int64_t>& index, std::int64_t position) {
      auto place = static_cast<std::size_t>(position);
      if (is_mapped) {
        place = static_cast<std::size_t>(position / count[1] * imap[0] + position % count[1] * imap[1]);
      }
      auto& element = reference[test::position_of(shape, index)];
      if (writes) {
        element = before[place];
      } else {
        expected[place] = element;
      }
    });
    REQUIRE(buffer == expected);
  }
}

TEST_CASE("a collective call with a bad argument still goes to the driver, with nothing") {
  const OpenDataset dataset;
  auto values = numbers(30);
  const std::vector<MPI_Offset> outside{9, 0};
  const std::vector<MPI_Offset> one{1, 1};
  auto call = dataset.call(Verb::put, Shape::vara, fixed, values.data());
  call.start = outside.data();
  call.count = one.data();
  CHECK(api::access(call) == NC_EINVALCOORDS);
  CHECK(
      std::string(api::last_error()) ==
      "put to 'fixed' (x 6, y 5) of a.nc: start (9, 0) count (1, 1): NetCDF: Index exceeds dimension bound");
  CHECK(dataset.driver().put_list_lengths == std::vector<int>{0});
  call.varid = 77;
  CHECK(api::access(call) == NC_ENOTVAR);
  CHECK(dataset.driver().put_calls == 2);
  call.verb = Verb::get;
  CHECK(api::access(call) == NC_ENOTVAR);
  CHECK(dataset.driver().get_calls == 1);
  call.is_collective = false;
  CHECK(api::access(call) == NC_ENOTINDEP);
  dataset->is_independent = true;
  CHECK(api::access(call) == NC_ENOTVAR);
  CHECK(dataset.driver().get_calls == 1);
  call.ncid = 12345;
  CHECK(api::access(call) == NC_EBADID);
}

TEST_CASE("puts beyond the records make records, gets beyond them are refused") {
  const OpenDataset dataset;
  auto values = numbers(4);
  const std::vector<MPI_Offset> third{2, 0};
  const std::vector<MPI_Offset> row{1, 4};
  auto call = dataset.call(Verb::get, Shape::vara, record, values.data());
  call.start = third.data();
  call.count = row.data();
  CHECK(api::access(call) == NC_EINVALCOORDS);
  call.verb = Verb::put;
  CHECK(api::access(call) == NC_NOERR);
  CHECK(dataset->header.record_count == 3);
  CHECK(dataset->put_bytes == 20);  // including the number of records
  call.verb = Verb::get;
  std::vector<int> read(4);
  call.buffer = read.data();
  CHECK(api::access(call) == NC_NOERR);
  CHECK(read == values);
  CHECK(dataset->get_bytes == 16);
}

TEST_CASE("an empty put makes the records that it names when all take part, and none by itself") {
  const OpenDataset dataset;
  const std::vector<MPI_Offset> start{6, 0};
  const std::vector<MPI_Offset> empty{1, 0};
  auto call = dataset.call(Verb::put, Shape::vara, record, nullptr);
  call.start = start.data();
  call.count = empty.data();
  call.is_collective = false;
  dataset->is_independent = true;
  CHECK(api::access(call) == NC_NOERR);
  CHECK(dataset->header.record_count == 0);
  call.is_collective = true;
  dataset->is_independent = false;
  CHECK(api::access(call) == NC_NOERR);
  CHECK(dataset->header.record_count == 7);
}

TEST_CASE("range errors are returned, and all other elements are transferred") {
  const OpenDataset dataset;
  std::vector<int> values{1, 70000, 3, 4, 5, 6};
  CHECK(api::access(dataset.call(Verb::put, Shape::var, shorts, values.data())) == NC_ERANGE);
  std::vector<int> read(6);
  CHECK(api::access(dataset.call(Verb::get, Shape::var, shorts, read.data())) == NC_NOERR);
  CHECK(read == std::vector<int>{1, -32767, 3, 4, 5, 6});
  CHECK(api::access(dataset.call(Verb::put, Shape::var, textual, values.data())) == NC_ECHAR);
}

TEST_CASE("a nonblocking put tells range errors when it is posted, a get when it is waited for") {
  const OpenDataset dataset;
  std::vector<int> values{1, 70000, 3, 4, 5, 6};
  int ids[2] = {-7, -7};
  auto put = dataset.call(Verb::iput, Shape::var, shorts, values.data());
  put.request = &ids[0];
  CHECK(api::access(put) == NC_ERANGE);
  CHECK(ids[0] == 0);
  int status = -7;
  CHECK(api::wait(*dataset, 1, ids, &status, api::Mode::collective) == NC_NOERR);
  CHECK(status == NC_NOERR);
  CHECK(ids[0] == -1);

  std::vector<int> large(30, 70000);
  REQUIRE(api::access(dataset.call(Verb::put, Shape::var, fixed, large.data())) == NC_NOERR);
  std::vector<short> small(30);
  auto get = dataset.call(Verb::iget, Shape::var, fixed, small.data(), MPI_SHORT);
  get.request = &ids[1];
  CHECK(api::access(get) == NC_NOERR);
  CHECK(api::wait(*dataset, 1, &ids[1], &status, api::Mode::collective) == NC_ERANGE);
  CHECK(status == NC_ERANGE);
}

TEST_CASE("all requests of a wait are one list for the driver, puts before gets, in the order of posting") {
  const OpenDataset dataset;
  std::vector<std::vector<int>> rows;
  std::vector<int> read(5);
  const std::vector<MPI_Offset> start{2, 0};
  const std::vector<MPI_Offset> count{1, 5};
  auto get = dataset.call(Verb::iget, Shape::vara, fixed, read.data());
  get.start = start.data();
  get.count = count.data();
  CHECK(api::access(get) == NC_NOERR);
  for (int i = 0; i < 100; ++i) rows.push_back(numbers(5, i));
  for (auto& row : rows) {
    auto put = dataset.call(Verb::iput, Shape::vara, fixed, row.data());
    put.start = start.data();
    put.count = count.data();
    CHECK(api::access(put) == NC_NOERR);
  }
  CHECK(dataset->requests.size() == 101);
  CHECK(api::wait(*dataset, -1, nullptr, nullptr, api::Mode::collective) == NC_NOERR);
  CHECK(dataset.driver().put_list_lengths == std::vector<int>{100});
  CHECK(dataset.driver().get_calls == 1);
  CHECK(read == rows.back());
}

TEST_CASE("a wait with a bad id does nothing but take part, and keeps all requests") {
  const OpenDataset dataset;
  auto values = numbers(30);
  int ids[] = {-7, -7, 77, -1};
  int statuses[] = {-7, -7, -7, -7};
  for (int i = 0; i < 2; ++i) {
    auto put = dataset.call(Verb::iput, Shape::var, fixed, values.data());
    put.request = &ids[i];
    REQUIRE(api::access(put) == NC_NOERR);
  }
  CHECK(api::wait(*dataset, 4, ids, statuses, api::Mode::collective) == NC_EINVAL_REQUEST);
  CHECK(statuses[0] == NC_NOERR);
  CHECK(statuses[2] == NC_EINVAL_REQUEST);
  CHECK(statuses[3] == NC_NOERR);
  CHECK(ids[0] == 0);
  CHECK(dataset->requests.size() == 2);
  CHECK(dataset.driver().put_list_lengths == std::vector<int>{0});
  int twice[] = {2, 2};
  CHECK(api::wait(*dataset, 2, twice, statuses, api::Mode::independent) == NC_ENOTINDEP);
  CHECK(api::wait(*dataset, 1, nullptr, nullptr, api::Mode::collective) == NC_EINVAL);
  CHECK(api::cancel(*dataset, 3, ids, statuses) == NC_EINVAL_REQUEST);
  CHECK(dataset->requests.empty());
  CHECK(ids[0] == -1);
  CHECK(ids[2] == 77);
}

TEST_CASE("as many ids as requests of one kind are pending mean these, whatever they are") {
  const OpenDataset dataset;
  auto values = numbers(30);
  const auto post = [&](Verb verb) {
    int id = -7;
    auto call = dataset.call(verb, Shape::var, fixed, values.data());
    call.request = &id;
    REQUIRE(api::access(call) == NC_NOERR);
    return id;
  };
  int statuses[] = {-7, -7};
  const int first_put = post(Verb::iput);
  post(Verb::iput);
  int twice[] = {first_put, first_put};
  CHECK(api::wait(*dataset, 2, twice, statuses, api::Mode::collective) == NC_NOERR);
  CHECK(dataset->requests.empty());
  CHECK(twice[0] == -1);
  CHECK(twice[1] == -1);
  CHECK(statuses[1] == NC_NOERR);
  // Not while other requests are pending.
  const int put = post(Verb::iput);
  post(Verb::iput);
  post(Verb::iget);
  int unknown[] = {put, 77};
  CHECK(api::wait(*dataset, 2, unknown, statuses, api::Mode::collective) == NC_EINVAL_REQUEST);
  CHECK(dataset->requests.size() == 3);
}

TEST_CASE("a value out of range of a long becomes the fill value of an int, as in PnetCDF") {
  const OpenDataset dataset;
  double huge = 1e300;
  REQUIRE(api::access(dataset.call(Verb::put, Shape::var, scalar, &huge, MPI_DOUBLE)) == NC_NOERR);
  long value = 0;
  CHECK(api::access(dataset.call(Verb::get, Shape::var, scalar, &value, MPI_LONG)) == NC_ERANGE);
  CHECK(value == -2147483647L);
  long long wide = 0;
  CHECK(api::access(dataset.call(Verb::get, Shape::var, scalar, &wide, MPI_LONG_LONG_INT)) == NC_ERANGE);
  CHECK(wide == -9223372036854775806LL);
}

TEST_CASE("a bput takes its room from the attached buffer in bytes of the variable, and gives it back") {
  const OpenDataset dataset;
  std::vector<double> values{1, 2, 3, 4, 5, 6};
  auto put = dataset.call(Verb::bput, Shape::var, shorts, values.data(), MPI_DOUBLE);
  CHECK(api::access(put) == NC_ENULLABUF);
  dataset->requests.attached.attach(20);
  CHECK(api::access(put) == NC_NOERR);
  CHECK(dataset->requests.attached.usage() == 12);
  CHECK(api::access(put) == NC_EINSUFFBUF);
  values.assign(6, 99);
  CHECK(api::wait(*dataset, -3, nullptr, nullptr, api::Mode::collective) == NC_NOERR);
  CHECK(dataset->requests.attached.usage() == 0);
  std::vector<int> read(6);
  CHECK(api::access(dataset.call(Verb::get, Shape::var, shorts, read.data())) == NC_NOERR);
  CHECK(read == numbers(6));
}

TEST_CASE("a failing driver fails every request of its list, and the others of the wait are done") {
  const OpenDataset dataset;
  auto values = numbers(30);
  std::vector<int> read(30);
  int ids[3];
  int statuses[3];
  auto put = dataset.call(Verb::iput, Shape::var, fixed, values.data());
  put.request = &ids[0];
  CHECK(api::access(put) == NC_NOERR);
  put.request = &ids[1];
  CHECK(api::access(put) == NC_NOERR);
  auto get = dataset.call(Verb::iget, Shape::var, fixed, read.data());
  get.request = &ids[2];
  CHECK(api::access(get) == NC_NOERR);
  dataset.driver().failure = NC_ENO_SPACE;
  CHECK(api::wait(*dataset, 3, ids, statuses, api::Mode::collective) == NC_ENO_SPACE);
  CHECK(statuses[0] == NC_ENO_SPACE);
  CHECK(statuses[1] == NC_ENO_SPACE);
  CHECK(statuses[2] == NC_NOERR);
  CHECK(dataset->requests.empty());
}

TEST_CASE("sixty thousand tiny hyperslabs in one call") {
  const OpenDataset dataset;
  constexpr std::size_t n = 60000;
  std::vector<std::vector<MPI_Offset>> starts;
  std::vector<MPI_Offset*> start_list;
  for (std::size_t i = 0; i < n; ++i)
    starts.push_back({static_cast<MPI_Offset>(i / 4), static_cast<MPI_Offset>(i % 4)});
  for (auto& start : starts) start_list.push_back(start.data());
  auto values = numbers(n);
  for (const auto verb : {Verb::put, Verb::iput}) {
    auto call = dataset.call(verb, Shape::varn, record, values.data());
    call.list_length = static_cast<int>(n);
    call.starts = start_list.data();
    CHECK(api::access(call) == NC_NOERR);
    CHECK(api::wait(*dataset, -1, nullptr, nullptr, api::Mode::collective) == NC_NOERR);
    std::vector<int> read(n);
    CHECK(api::access(dataset.call(Verb::get, Shape::var, record, read.data())) == NC_NOERR);
    CHECK(read == values);
    for (auto& value : values) value = -value;
  }
}

TEST_CASE("a put that fails makes no records, and is not counted") {
  const OpenDataset dataset;
  dataset.driver().failing_record = 7;
  std::vector<int> row = numbers(4);
  const MPI_Offset count[] = {1, 4};
  const auto put_record = [&](Verb verb, MPI_Offset record, int* id) {
    const MPI_Offset start[] = {record, 0};
    auto call = dataset.call(verb, Shape::vara, Variable::record, row.data());
    call.start = start;
    call.count = count;
    call.request = id;
    return api::access(call);
  };
  CHECK(put_record(Verb::put, 2, nullptr) == NC_NOERR);
  CHECK(dataset->header.record_count == 3);
  const auto bytes = dataset->put_bytes;
  CHECK(put_record(Verb::put, 7, nullptr) == NC_ENO_SPACE);
  CHECK(dataset->header.record_count == 3);
  CHECK(dataset->put_bytes == bytes);

  // Of several requests in one wait, the successful ones count.
  int ids[3] = {};
  int statuses[3] = {};
  CHECK(put_record(Verb::iput, 7, &ids[0]) == NC_NOERR);
  CHECK(put_record(Verb::iput, 4, &ids[1]) == NC_NOERR);
  CHECK(put_record(Verb::iput, 0, &ids[2]) == NC_NOERR);
  CHECK(api::wait(*dataset, 3, ids, statuses, api::Mode::collective) == NC_ENO_SPACE);
  CHECK(statuses[0] == NC_ENO_SPACE);
  CHECK(statuses[1] == NC_NOERR);
  CHECK(dataset->header.record_count == 5);
}
