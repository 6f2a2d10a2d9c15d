#include "guard.hpp"

#include <doctest/doctest.h>

#include <new>
#include <stdexcept>
#include <string>
#include <thread>

#include "last_error.hpp"
#include "sluice/formats/error.hpp"

using sluice::api::guard;

TEST_CASE("the guard turns exceptions into statuses and keeps their texts") {
  CHECK(guard([]() -> int { throw sluice::Error(sluice::NC_EBADID, "no such id"); }) == sluice::NC_EBADID);
  CHECK(std::string(sluice::api::last_error()) == "no such id");
  CHECK(guard([]() -> int { throw std::bad_alloc(); }) == sluice::NC_ENOMEM);
  CHECK(guard([]() -> int { throw std::runtime_error("odd"); }) == sluice::NC_EINTERNAL);
  CHECK(std::string(sluice::api::last_error()) == "odd");
  CHECK(guard([]() -> int { throw 1; }) == sluice::NC_EINTERNAL);
}

TEST_CASE("a status that is returned leaves its general text, and success leaves the last error alone") {
  CHECK(guard([] { return static_cast<int>(sluice::NC_ERANGE); }) == sluice::NC_ERANGE);
  const std::string text = sluice::api::last_error();
  CHECK(text == sluice::status_text(sluice::NC_ERANGE));
  CHECK(guard([] { return 0; }) == 0);
  CHECK(sluice::api::last_error() == text);
}

TEST_CASE("each thread has a last error of its own, and one that is too long is cut") {
  sluice::api::set_last_error("mine");
  std::thread([] {
    CHECK(std::string(sluice::api::last_error()).empty());
    sluice::api::set_last_error(std::string(5000, 'x'));
    CHECK(std::string(sluice::api::last_error()).size() == 1023);
  }).join();
  CHECK(std::string(sluice::api::last_error()) == "mine");
}
