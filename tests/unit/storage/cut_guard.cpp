// Mapped files that other programs cut.
#include "sluice/storage/cut_guard.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sluice/formats/error.hpp"

using namespace sluice::storage;

namespace {

constexpr std::size_t size = 16 * 4096;

/// A mapped file of ones, without a name.
struct Mapped {
  explicit Mapped(int protection = PROT_READ | PROT_WRITE) {
    std::string name = "/tmp/cut-guard-XXXXXX";
    file = ::mkostemp(name.data(), O_CLOEXEC);
    REQUIRE(file >= 0);
    ::unlink(name.c_str());
    const std::string ones(size, '\1');
    REQUIRE(::write(file, ones.data(), size) == static_cast<ssize_t>(size));
    void* const begin = ::mmap(nullptr, size, protection, MAP_SHARED, file, 0);
    REQUIRE(begin != MAP_FAILED);
    memory = {static_cast<std::byte*>(begin), size};
  }
  ~Mapped() {
    ::munmap(memory.data(), size);
    ::close(file);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  void cut(off_t bytes) const { REQUIRE(::ftruncate(file, bytes) == 0); }
  [[nodiscard]] int at(std::size_t offset) const {
    return std::to_integer<int>(*const_cast<const volatile std::byte*>(memory.data() + offset));
  }

  int file = -1;
  std::span<std::byte> memory;
};

void exit_with_seven(int) {
  ::_exit(7);
}

/// How a child ends that has such a handler, guards one file, and reads from another one that was cut: its
/// exit status, or a signal as a negative number.
int end_of_child(void (*handler)(int)) {
  const pid_t child = ::fork();
  if (child == 0) {
    (void)::signal(SIGBUS, handler);
    const Mapped guarded, mapped;
    guard_from_cuts(guarded.memory);
    mapped.cut(0);
    ::_exit(mapped.at(0));
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("a program's own handler, and the death by default, stay for what is not guarded") {
  CHECK(end_of_child(exit_with_seven) == 7);
  CHECK(end_of_child(SIG_DFL) == -SIGBUS);
}

TEST_CASE("what a cut file has no more reads as zeros, which is told, and the rest stays") {
  for (const int protection : {PROT_READ, PROT_READ | PROT_WRITE}) {
    const Mapped mapped(protection), whole(protection);
    guard_from_cuts(mapped.memory);
    guard_from_cuts(whole.memory);
    const std::uint64_t before = cuts();
    CHECK(mapped.at(size - 1) == 1);
    CHECK_NOTHROW(expect_no_cut(before));
    mapped.cut(4096);
    CHECK(mapped.at(0) == 1);
    CHECK_FALSE(is_cut(mapped.memory.data()));
    CHECK(mapped.at(8192) == 0);
    CHECK(is_cut(mapped.memory.data()));
    CHECK_FALSE(is_cut(whole.memory.data()));
    CHECK(mapped.at(size - 1) == 0);
    CHECK(mapped.at(4095) == 1);
    CHECK(cuts() == before + 1);
    CHECK_THROWS_AS(expect_no_cut(before), sluice::Error);
    unguard(mapped.memory);
    unguard(whole.memory);
    CHECK_FALSE(is_cut(mapped.memory.data()));
  }
}

TEST_CASE("many files are guarded, and their places are used again") {
  for (int turn = 0; turn < 2; ++turn) {
    std::vector<std::unique_ptr<Mapped>> all;
    for (int i = 0; i < 600; ++i) guard_from_cuts(all.emplace_back(std::make_unique<Mapped>())->memory);
    all[599]->cut(0);
    CHECK(all[599]->at(5) == 0);
    CHECK(is_cut(all[599]->memory.data()));
    CHECK_FALSE(is_cut(all[598]->memory.data()));
    for (const auto& mapped : all) unguard(mapped->memory);
  }
}
