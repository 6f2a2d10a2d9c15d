#include <doctest/doctest.h>

#include <string>

#include "sluice/runtime/rules.hpp"

using namespace sluice::runtime;

namespace {

bool is_covered(const std::string& pattern, const std::string& path) {
  ClientEnvironment environment;
  environment.socket_path = "socket";
  environment.rules = {{0, pattern, false, true}};
  environment.others = {{0, pattern}};
  const bool is_found = find_rule(environment, path).has_value();
  CHECK(is_found == (find_other_rule(environment, path) == 0));
  return is_found;
}

}  // namespace

TEST_CASE("no rule covers files of the system, of Sluice, an MPI or an interpreter") {
  for (const char* path : {"/etc/passwd", "/usr/share/a.nc", "/proc/self/maps", "/sys/devices/a", "/dev/null",
                           "/dev/shm/sem.a", "/dev/shm/vader_segment.host.0.1",
                           "/work/.sluice/heat-1/events.log", "/work/__pycache__/a.cpython-311.pyc",
                           "/tmp/ompi.host.0/pid.1/0/a", "/work/env/lib/python3.11/site-packages/a/b.json"}) {
    CAPTURE(path);
    for (const char* pattern : {"*", "**", "*.*", "*a*"}) CHECK_FALSE(is_covered(pattern, path));
  }
  CHECK_FALSE(is_covered("share/a.nc", "/usr/share/a.nc"));
}

TEST_CASE("a pattern of wildcards alone covers all others, but for the text of programs") {
  for (const char* path :
       {"/work/a.nc", "/dev/shm/a.nc", "/work/usr/a", "/work/.hidden", "/work/a.pyx", "/work/etc"}) {
    CAPTURE(path);
    CHECK(is_covered("*", path));
    CHECK(is_covered("**", path));
  }
  for (const char* path : {"/work/reader.py", "/work/run.sh", "/work/module.so"}) {
    CAPTURE(path);
    CHECK_FALSE(is_covered("*", path));
    CHECK_FALSE(is_covered("*/*", path));
    CHECK(is_covered("work/*", path));
  }
  CHECK(is_covered("*.py", "/work/made.py"));
}
