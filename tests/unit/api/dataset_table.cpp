#include "dataset_table.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace sluice::api;

namespace {

int status_of(int ncid) {
  try {
    static_cast<void>(find_dataset(ncid));
    return sluice::NC_NOERR;
  } catch (const sluice::Error& error) {
    return error.status();
  }
}

}  // namespace

TEST_CASE("ids are the smallest free ones, and an id that was given back is unknown") {
  std::vector<std::shared_ptr<Dataset>> datasets(4);
  for (auto& dataset : datasets) dataset = std::make_shared<Dataset>();
  CHECK(add_dataset(datasets[0]) == 0);
  CHECK(add_dataset(datasets[1]) == 1);
  CHECK(add_dataset(datasets[2]) == 2);
  CHECK(find_dataset(1) == datasets[1]);
  remove_dataset(1);
  CHECK(status_of(1) == sluice::NC_EBADID);
  CHECK(open_datasets() == std::vector<int>{0, 2});
  CHECK(add_dataset(datasets[3]) == 1);
  for (const int id : {0, 1, 2}) remove_dataset(id);
  CHECK(open_datasets().empty());
  CHECK(status_of(-1) == sluice::NC_EBADID);
  CHECK(status_of(100000) == sluice::NC_EBADID);
}

TEST_CASE("a dataset that another thread closed in the meantime is a bad id") {
  const auto dataset = std::make_shared<Dataset>();  // without a driver, as after a close
  const int id = add_dataset(dataset);
  CHECK_THROWS_AS(DatasetUse{id}, sluice::Error);
  remove_dataset(id);
}

TEST_CASE("there is a limit to open datasets") {
  constexpr int most = 1 << 20;  // PnetCDF's limit is 1024
  const auto dataset = std::make_shared<Dataset>();
  for (int i = 0; i < most; ++i) add_dataset(dataset);
  CHECK_THROWS_AS(add_dataset(dataset), sluice::Error);
  remove_dataset(4711);
  remove_dataset(42);
  CHECK(add_dataset(dataset) == 42);
  CHECK(add_dataset(dataset) == 4711);
  for (int i = 0; i < most; ++i) remove_dataset(i);
}
