#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
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
                           "/dev/shm/sem.a", "/dev/shm/vader_segment.host.0.1", "/work/a.nc.locktest.51",
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
    CHECK_FALSE(is_covered("*.*", path));
  }
  CHECK(is_covered("*.py", "/work/made.py"));
}

TEST_CASE(
    "a pattern of wildcards alone covers nothing where programs are searched, unless that is the place of "
    "the run") {
  const std::string here = std::filesystem::current_path();
  const std::string path_before = std::getenv("PATH"), home_before = std::getenv("HOME");
  ::setenv("PATH", ("/opt/env/bin:.:/home/me/tools:" + here).c_str(), 1);
  ::setenv("HOME", "/home/me", 1);
  for (const char* path : {"/opt/env/bin/bash", "/home/me/tools/plot", "/opt/env/lib/python3/os.data",
                           "/opt/env/share/proj/proj.db", "/opt/env/pyvenv.cfg", "/home/me/.ncrc",
                           "/home/me/.cargo/bin/ls", "/selinux"}) {
    CAPTURE(path);
    for (const char* pattern : {"*", "**", "*/*"}) CHECK_FALSE(is_covered(pattern, path));
  }
  for (const std::string& path : {here + "/a", std::string("/opt/env/run/a"), std::string("/home/me/run/.a"),
                                  std::string("/home/me/a"), std::string("/opt/lib/a")}) {
    CAPTURE(path);
    CHECK(is_covered("*", path));
  }
  CHECK(is_covered("env/bin/*", "/opt/env/bin/bash"));
  ::setenv("PATH", path_before.c_str(), 1);
  ::setenv("HOME", home_before.c_str(), 1);
}
