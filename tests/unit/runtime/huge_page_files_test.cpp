#include "sluice/runtime/huge_page_files.hpp"

#include <doctest/doctest.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/segment.hpp"

using namespace sluice;
using namespace sluice::runtime;

namespace {

constexpr std::uint64_t kib = 1024;
constexpr std::uint64_t mib = 1024 * kib;

std::uint64_t taken_kib(const FileDescriptor& file) {
  struct stat facts {};
  REQUIRE(::fstat(file.number(), &facts) == 0);
  return static_cast<std::uint64_t>(facts.st_blocks) / 2;
}

bool is_zero(const Mapping& mapping) {
  return std::ranges::all_of(mapping.bytes(), [](std::byte byte) { return byte == std::byte{0}; });
}

/// Whether it works in a process of a user without the right to mount.
enum class Outcome : int { works = 0, refused = 1, wrong = 2, no_such_user = 3 };
Outcome outcome_without_privilege() {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    constexpr unsigned nobody = 65534;
    if (::geteuid() == 0 &&
        (::setresgid(nobody, nobody, nobody) != 0 || ::setresuid(nobody, nobody, nobody) != 0))
      ::_exit(static_cast<int>(Outcome::no_such_user));
    ::prctl(PR_SET_DUMPABLE, 1);  // as in a process that has not changed its user
    const auto files = HugePageFiles::make();
    if (!files) ::_exit(static_cast<int>(Outcome::refused));
    try {
      const FileDescriptor file = files->create(3 * mib);
      const Mapping mapping(file, {3 * mib}, Mapping::Access::read_write);
      mapping.writable()[3 * mib - 1] = std::byte{1};
      ::_exit(static_cast<int>(Outcome::works));
    } catch (const Error&) {
      ::_exit(static_cast<int>(Outcome::wrong));
    }
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  return static_cast<Outcome>(WEXITSTATUS(status));
}

}  // namespace

TEST_CASE("a file has huge pages as far as they go, small ones behind them, and zeros in all of them") {
  const auto files = HugePageFiles::make();
  if (!files) {
    MESSAGE("the system gives no huge pages: nothing was tested");
    return;
  }
  constexpr std::uint64_t bytes = 5 * mib;
  const FileDescriptor file = files->create(bytes);
  CHECK(taken_kib(file) == 0);
  const Mapping mapping(file, {bytes}, Mapping::Access::read_write);
  mapping.writable()[0] = std::byte{1};
  const std::uint64_t first = taken_kib(file);
  CHECK((first == 2 * kib || first == 4));  // 4: the system has no free huge page now
  mapping.writable()[bytes - 1] = std::byte{2};
  CHECK(taken_kib(file) == first + 4);
  mapping.writable()[0] = mapping.writable()[bytes - 1] = std::byte{0};
  CHECK(is_zero(mapping));
  CHECK(taken_kib(file) <= bytes / kib);
}

TEST_CASE("two files are separate, and outlive their maker") {
  auto files = HugePageFiles::make();
  if (!files) return;
  const FileDescriptor first = files->create(2 * mib);
  const FileDescriptor second = files->create(64 * kib);
  files.reset();
  const Mapping one(first, {2 * mib}, Mapping::Access::read_write);
  const Mapping other(second, {64 * kib}, Mapping::Access::read_write);
  one.writable()[5] = std::byte{7};
  CHECK(is_zero(other));
  const Mapping again(first, {2 * mib}, Mapping::Access::read);
  CHECK(again.bytes()[5] == std::byte{7});
  CHECK_THROWS_AS(Mapping(second, {65 * kib}, Mapping::Access::read), Error);
}

TEST_CASE("a user without privileges has them by a user namespace, or not at all") {
  const Outcome outcome = outcome_without_privilege();
  CHECK(outcome != Outcome::wrong);
  if (outcome != Outcome::works) MESSAGE("the system gives such a user no huge pages");
}
