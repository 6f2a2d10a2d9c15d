// Published files that programs have written: few are open.
#include "sealed_files.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "memory_file.hpp"

using namespace sluice::runtime;

namespace {

constexpr timespec written{1'000'000'000, 123};

SharedFile file_with(const std::string& text) {
  FileDescriptor file = make_memory_file(0640);
  FileDescriptor to(::open(link_to(file).c_str(), O_WRONLY | O_CLOEXEC));
  REQUIRE(write_range(to, 0, std::as_bytes(std::span(text))) == 0);
  const timespec times[] = {written, written};
  REQUIRE(::futimens(to.number(), times) == 0);
  to.reset();
  REQUIRE(seal(file));
  return std::make_shared<const FileDescriptor>(std::move(file));
}

std::string text_of(const SharedFile& file) {
  std::string text(file_size(*file), ' ');
  REQUIRE(read_range(*file, 0, std::as_writable_bytes(std::span(text))) == 0);
  return text;
}

std::string text_of_step(std::uint64_t step) {
  return std::string(static_cast<std::size_t>(step * 100), static_cast<char>('a' + step % 26));
}

std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

}  // namespace

TEST_CASE(
    "the number of descriptors does not grow with that of the files, which keep their bytes and facts") {
  constexpr std::uint64_t steps = 100;
  constexpr std::size_t most_open = 8;
  SealedFiles files(most_open);
  const auto before = open_descriptors();
  for (std::uint64_t step = 1; step <= steps; ++step) files.add(step, file_with(text_of_step(step)), false);
  CHECK(files.packed() == steps - most_open);
  for (std::uint64_t step = 1; step <= steps; ++step) {
    const SharedFile file = files.open(step);
    REQUIRE(file != nullptr);
    CHECK(text_of(file) == text_of_step(step));
    const struct stat facts = status_of(*file);
    CHECK((facts.st_mode & 0777) == 0640);
    CHECK(facts.st_mtim.tv_sec == written.tv_sec);
    CHECK(facts.st_mtim.tv_nsec == written.tv_nsec);
    CHECK_FALSE(FileDescriptor(::open(link_to(*file).c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC)));
    const auto ranges = 1, looks = 4;
    CHECK(open_descriptors() <= before + static_cast<std::ptrdiff_t>(most_open) + ranges + looks);
  }
  for (std::uint64_t step = 1; step <= steps; ++step) files.erase(step);
  CHECK(files.packed() == 0);
  CHECK(files.open(1) == nullptr);
}

TEST_CASE("what somebody uses, what is on disk, and what is empty") {
  SealedFiles files(1);
  files.add(1, file_with("in use"), false);
  const SharedFile used = files.open(1);
  files.add(2, file_with("on disk"), true);
  files.add(3, file_with(""), false);
  files.add(4, file_with("last"), false);
  files.add(5, file_with("after it"), false);
  CHECK(files.open(1) == used);
  CHECK(files.is_on_disk(2));
  CHECK(text_of(files.open(2)) == "on disk");
  CHECK(text_of(files.open(3)).empty());
  CHECK(text_of(files.open(4)) == "last");
  CHECK(files.erase(1) == used);
  CHECK(text_of(used) == "in use");
  CHECK(files.erase(7) == nullptr);
}
