#include "sluice/runtime/run_processes.hpp"

#include <doctest/doctest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>

using namespace sluice::runtime;

namespace {

const std::string mark = "SLUICE_JOB=of_test_" + std::to_string(::getpid());

/// A program that goes on until the destructor.
class Sleeper {
 public:
  explicit Sleeper(const std::string& variable) {
    const char* const arguments[] = {"sleep", "600", nullptr};
    const char* const variables[] = {variable.c_str(), nullptr};
    REQUIRE(::posix_spawn(&id_, "/bin/sleep", nullptr, nullptr, const_cast<char**>(arguments),
                          const_cast<char**>(variables)) == 0);
    // The parent goes on a moment before the kernel shows what the new program was given.
    for (std::string shown; shown.empty();)
      std::ifstream("/proc/" + std::to_string(id_) + "/environ") >> shown;
  }
  ~Sleeper() {
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  [[nodiscard]] pid_t id() const { return id_; }

 private:
  pid_t id_ = 0;
};

}  // namespace

TEST_CASE("processes with a mark are found among those that began after another one") {
  const Sleeper elder(mark);
  const Sleeper unmarked(mark + "0");
  const Sleeper younger(mark);
  const Sleeper youngest(mark);
  CHECK(processes_with_environment(mark).size() == 3);
  const bool have_come_round = elder.id() > youngest.id();  // then all are looked at
  CHECK(younger_processes_with_environment(unmarked.id(), mark).size() == (have_come_round ? 3 : 2));
  CHECK(younger_processes_with_environment(youngest.id(), mark).size() == (have_come_round ? 3 : 0));
}
