// Files in memory that are compared with what they began as.
#include "compared_files.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#include "memory_file.hpp"
#include "sluice/formats/error.hpp"

using namespace sluice::runtime;

namespace {

void write_to(const SharedFile& file, std::string_view text, off_t offset = 0) {
  const SharedFile writer = reopened(*file, O_WRONLY);
  REQUIRE(::pwrite(writer->number(), text.data(), text.size(), offset) == static_cast<ssize_t>(text.size()));
}

SharedFile file_with(std::string_view text) {
  SharedFile file = kept_mapped(make_memory_file(0600));
  write_to(file, text);
  return file;
}

/// What this process has read so far, by system calls.
std::uint64_t bytes_read() {
  std::ifstream facts("/proc/self/io");
  std::string name;
  std::uint64_t bytes = 0;
  facts >> name >> bytes;
  REQUIRE(name == "rchar:");
  return bytes;
}

}  // namespace

TEST_CASE("only the pages that a copy does not share with its base count as changed") {
  const std::string base(100 * 4096 + 10, 'a');
  std::string copy = base;
  const auto changed = [&] { return size_of(changed_ranges(file_with(copy), file_with(base))); };
  CHECK(changed() == 0);
  copy[5] = 'b';  // in the first page
  CHECK(changed() == 4096);
  copy[5000] = copy[5001] = 'b';  // in the second
  copy[70 * 4096] = 'b';          // behind the first part that is looked at
  CHECK(changed() == 3 * 4096);
  copy[copy.size() - 1] = 'b';  // in the last one, which is short
  CHECK(changed() == 3 * 4096 + 10);
  copy += std::string(1000000, 'c');
  CHECK(changed() == 3 * 4096 + 10 + 1000000);
  copy = base.substr(0, 5000);
  CHECK(changed() == 0);
  CHECK(size_of(changed_ranges(file_with("abc"), file_with(""))) == 3);
}

TEST_CASE("a comparison of some ranges looks at their pages, and finds what is behind the end of the base") {
  const std::string base(100 * 4096 + 10, 'a');
  std::string copy = base + "more";
  for (const std::size_t at : {std::size_t{5}, std::size_t{4096 * 30}, base.size() - 1}) copy[at] = 'b';
  const SharedFile file = file_with(copy), former = file_with(base);
  const auto changed = [&](const ByteRanges& where) {
    return size_of(changed_ranges(*file, *former, where));
  };
  CHECK(changed({}) == 4);
  CHECK(changed({{7, 9}}) == 4096 + 4);
  CHECK(changed({{7, 9}, {100, 4096}, {4097, 5000}}) == 4096 + 4);
  CHECK(changed({{4096 * 29, 4096 * 30}}) == 4);
  CHECK(changed({{4096 * 29, 4096 * 30 + 1}}) == 4096 + 4);
  CHECK(changed({{0, std::int64_t{1} << 62}}) == size_of(changed_ranges(file, former)));
  CHECK(size_of(changed_ranges(*former, *file, {{0, 1}, {4096 * 200, 4096 * 300}})) == 4096);
}

TEST_CASE("a copy of a former file becomes the newest one by what has changed, whichever is longer") {
  const std::string former(50 * 4096 + 10, 'a');
  for (const std::size_t size :
       {std::size_t{0}, former.size() - 9000, former.size(), former.size() + 70'000}) {
    CAPTURE(size);
    std::string newest = former;
    newest.resize(size, 'b');
    for (std::size_t at = 100; at < size; at += 20'000) newest[at] = 'c';
    const SharedFile file = file_with(newest), by_ranges = file_with(former), by_pass = file_with(former);
    const ByteRanges changed = changed_ranges(file, by_ranges);
    CHECK(copy_ranges(file, *by_ranges, changed) == 0);
    CHECK(have_same_bytes(*file, *by_ranges));
    CHECK(size_of(copy_changes(*file, file_with(former), *by_pass)) < size_of(changed) + 4096);
    CHECK(have_same_bytes(*file, *by_pass));
  }
}

TEST_CASE("files that grow and shrink are compared without being read, as they are now") {
  std::string text(1 << 20, 'a');
  const SharedFile base = file_with(text), file = file_with(text);
  const std::uint64_t before = bytes_read();
  for (const char letter : {'b', 'c'}) {
    CHECK(changed_ranges(file, base).empty());
    write_to(file, std::string(1, letter), 500'000);
    CHECK(size_of(changed_ranges(file, base)) == 4096);
    write_to(file, text, 1 << 20);  // beyond what was mapped
    write_to(base, text, 1 << 20);
    CHECK(size_of(changed_ranges(file, base)) == 4096);
    REQUIRE(::ftruncate(file->number(), 700'000) == 0);
    CHECK(size_of(changed_ranges(file, base)) == 4096);
    CHECK(copy_ranges(base, *file, {{500'000, 1 << 21}}) == 0);
  }
  CHECK(bytes_read() - before < 10'000);
  CHECK(have_same_bytes(*file, *base));
}

TEST_CASE("files that were compared can be alone, and can be sealed") {
  const SharedFile base = file_with("abc"), file = file_with("abd");
  CHECK(size_of(changed_ranges(file, base)) == 3);
  CHECK(is_alone(*file));
  CHECK(seal(*file));
  CHECK(size_of(changed_ranges(file, base)) == 3);
}

TEST_CASE("holes in files take no memory when they are compared") {
  const SharedFile base = file_with("abc"), file = file_with("abc");
  for (const SharedFile& one : {base, file}) REQUIRE(::ftruncate(one->number(), 10 << 20) == 0);
  write_to(file, "d", 5 << 20);
  CHECK(size_of(changed_ranges(file, base)) == 4096);
  CHECK(status_of(*base).st_blocks * 512 < 100'000);
}

TEST_CASE("a file that another program cuts while it is compared is an error, and then as any other") {
  const std::string text(1 << 20, 'a');
  const SharedFile base = file_with(text), file = file_with(text);
  bool was_cut = false;
  std::atomic<bool> is_over{false};
  std::thread other([&] {
    while (!is_over) {
      (void)!::ftruncate(base->number(), 5000);
      (void)!::pwrite(base->number(), text.data(), text.size(), 0);
    }
  });
  for (int i = 0; i < 100'000 && !was_cut; ++i) {
    try {
      (void)changed_ranges(file, base);
    } catch (const sluice::Error&) {
      was_cut = true;
    }
  }
  is_over = true;
  other.join();
  CHECK(was_cut);
  CHECK(changed_ranges(file, base).empty());
}
