#include "event_log.hpp"

#include <doctest/doctest.h>

using namespace sluice::coordinator;

TEST_CASE("lines that the disk has no room for are lost, and the reason is known") {
  EventLog log("/dev/full");
  CHECK(log.failure().empty());
  log.add("sluice", "a line");
  CHECK(log.failure() == "No space left on device");
  EventLog null("/dev/null");
  null.add("sluice", "a line");
  CHECK(null.failure().empty());
}
