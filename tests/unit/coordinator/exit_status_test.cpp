#include "exit_status.hpp"

#include <doctest/doctest.h>

#include <csignal>

using namespace sluice::coordinator;

namespace {
int exited(int status) {
  return status << 8;
}
}  // namespace

TEST_CASE("an exit status is reported as it is") {
  const ProcessEnd end = end_of_process(exited(3), false);
  CHECK(end.failed());
  CHECK(end.shell_status() == 3);
  CHECK(end.describe() == "exited with status 3");
  CHECK_FALSE(end_of_process(exited(0), true).failed());
}

TEST_CASE("a signal is named and becomes 128 + signal") {
  const ProcessEnd end = end_of_process(SIGSEGV, false);
  CHECK(end.shell_status() == 139);
  CHECK(end.describe() == "was killed by signal 11 (SIGSEGV)");
}

TEST_CASE("a launcher's 128 + signal is taken for the signal, a program's own is not") {
  CHECK(end_of_process(exited(137), true).describe() == "was killed by signal 9 (SIGKILL)");
  CHECK(end_of_process(exited(137), false).describe() == "exited with status 137");
  CHECK(end_of_process(exited(255), true).describe() == "exited with status 255");
  CHECK(end_of_process(exited(128), true).describe() == "exited with status 128");
}
