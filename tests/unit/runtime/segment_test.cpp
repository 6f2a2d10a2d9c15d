#include "sluice/runtime/segment.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <vector>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/mapped_file.hpp"
#include "sluice/runtime/spill_file.hpp"

using namespace sluice;
using namespace sluice::runtime;

TEST_CASE("a new segment holds zeros, and all mappings see the same bytes") {
  const FileDescriptor file = create_segment(1U << 20);
  const Mapping reader(file, {1U << 20}, Mapping::Access::read);
  CHECK(std::all_of(reader.bytes().begin(), reader.bytes().end(),
                    [](std::byte b) { return b == std::byte{}; }));
  const Mapping writer(file, {1U << 20}, Mapping::Access::read_write);
  writer.writable()[12345] = std::byte{7};
  CHECK(reader.bytes()[12345] == std::byte{7});
  CHECK(reader.writable().empty());
}

TEST_CASE("a segment may be a range of a file, and nothing beyond the file") {
  const FileDescriptor file = create_segment(1U << 20);
  const Mapping whole(file, {1U << 20}, Mapping::Access::read_write);
  const Mapping part(file, {65536, 131072}, Mapping::Access::read);
  whole.writable()[131072 + 5] = std::byte{9};
  REQUIRE(part.bytes().size() == 65536);
  CHECK(part.bytes()[5] == std::byte{9});
  CHECK_THROWS_AS(Mapping(file, {65536, (1U << 20) - 4096}, Mapping::Access::read), Error);
  CHECK_THROWS_AS(Mapping(file, {1, std::uint64_t{1} << 63}, Mapping::Access::read), Error);
  CHECK_THROWS_AS(Mapping(file, {4096, 100}, Mapping::Access::read), Error);
}

TEST_CASE("a mapping outlives its descriptor and can be moved and made writable") {
  FileDescriptor file = create_segment(65536);
  Mapping first(file, {65536}, Mapping::Access::read);
  file.reset();
  Mapping second(std::move(first));
  first = Mapping();
  second.make_writable();
  second.writable()[0] = std::byte{1};
  CHECK(second.bytes()[0] == std::byte{1});
}

TEST_CASE("prefaulted memory is read without page faults") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return;  // a sanitizer keeps memory for each byte, and that has page faults, too
#endif
  constexpr std::uint64_t bytes = std::uint64_t{16} << 20;
  const FileDescriptor file = create_segment(bytes);
  const std::vector<char> data(bytes, 'x');
  REQUIRE(::pwrite(file.number(), data.data(), bytes, 0) == static_cast<ssize_t>(bytes));
  const auto faults = [] {
    rusage usage{};
    REQUIRE(::getrusage(RUSAGE_THREAD, &usage) == 0);
    return usage.ru_minflt;
  };
  const auto faults_of_reading = [&](const Mapping& mapping, std::uint64_t first, std::uint64_t end) {
    const auto before = faults();
    std::uint64_t wrong = 0;
    for (std::uint64_t i = first; i < end; i += 4096) wrong += mapping.bytes()[i] != std::byte{'x'};
    CHECK(wrong == 0);
    return faults() - before;
  };
  const Mapping plain(file, {bytes}, Mapping::Access::read);
  const auto expected = faults_of_reading(plain, 0, bytes);
  REQUIRE(expected > 20);
  const Mapping prepared(file, {bytes}, Mapping::Access::read);
  prepared.prefault_reads(5 << 20, 3 << 20);
  prepared.prefault_reads(0, 8 << 20);
  prepared.prefault_reads(bytes - (1 << 20), 1 << 20);
  prepared.prefault_reads(bytes, 1);      // no effect
  prepared.prefault_reads(0, bytes + 1);  // beyond the segment: no effect
  CHECK(faults_of_reading(prepared, 0, 8 << 20) <= 2);
  CHECK(faults_of_reading(prepared, bytes - (1 << 20), bytes) <= 2);
  CHECK(faults_of_reading(prepared, 0, bytes) > expected / 4);
}

TEST_CASE("the size of a segment cannot be changed") {
  const FileDescriptor file = create_segment(65536);
  CHECK(::ftruncate(file.number(), 0) != 0);
  CHECK(::ftruncate(file.number(), 1 << 20) != 0);
}

TEST_CASE("only a sealed segment of the right size is mapped") {
  const FileDescriptor file = create_segment(65536);
  CHECK_THROWS_AS(Mapping(file, {65537}, Mapping::Access::read), Error);
  FileDescriptor unsealed(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(::ftruncate(unsealed.number(), 65536) == 0);
  CHECK_THROWS_AS(Mapping(unsealed, {65536}, Mapping::Access::read), Error);
  const FileDescriptor ordinary(::open("/dev/null", O_RDWR | O_CLOEXEC));
  CHECK_THROWS_AS(Mapping(ordinary, {1}, Mapping::Access::read), Error);
}

TEST_CASE("each segment of a shared file is checked, also behind good ones") {
  constexpr std::uint64_t bytes = 1U << 20;
  constexpr std::uint64_t number = 1;
  constexpr bool may_have_name = false;
  const auto at = [](std::uint64_t size, std::uint64_t offset) {
    return SegmentExtent{size, offset, may_have_name, number};
  };
  const auto read = Mapping::Access::read;
  MappedFile sealed(create_segment(bytes));
  CHECK(sealed.map(at(65536, 0), read).bytes().size() == 65536);
  CHECK(sealed.map(at(65536, bytes - 65536), read).bytes().size() == 65536);
  CHECK_THROWS_AS((void)sealed.map(at(65536 + 4096, bytes - 65536), read), Error);
  CHECK_THROWS_AS((void)sealed.map(at(4096, bytes), read), Error);
  CHECK_THROWS_AS((void)sealed.map(at(4096, 100), read), Error);
  CHECK(sealed.map(at(4096, 4096), read).bytes().size() == 4096);

  MappedFile spilled(create_spill_file(std::filesystem::current_path().string(), bytes));
  CHECK(spilled.map(at(65536, bytes - 65536), read).bytes().size() == 65536);
  REQUIRE(::ftruncate(spilled.descriptor()->number(), 65536) == 0);
  CHECK_THROWS_AS((void)spilled.map(at(65536, bytes - 65536), read), Error);
  CHECK(spilled.map(at(65536, 0), read).bytes().size() == 65536);
}

TEST_CASE("a segment that the machine cannot hold in its address space is an error") {
  CHECK_THROWS_AS((void)create_segment(1ULL << 63), Error);
}

TEST_CASE("a segment on disk has no name, has all its space, and is mapped as any other") {
  const std::string directory = std::filesystem::current_path().string();
  const FileDescriptor file = create_spill_file(directory, 1U << 20);
  struct stat facts {};
  REQUIRE(::fstat(file.number(), &facts) == 0);
  CHECK(facts.st_nlink == 0);
  CHECK(facts.st_size == 1U << 20);
  CHECK(static_cast<std::uint64_t>(facts.st_blocks) * 512 >= 1U << 20);
  const Mapping writer(file, {1U << 20}, Mapping::Access::read_write);
  writer.writable()[4711] = std::byte{7};
  const Mapping reader(file, {1U << 20}, Mapping::Access::read);
  CHECK(reader.bytes()[4711] == std::byte{7});
  CHECK(reader.bytes()[4712] == std::byte{});
  CHECK_THROWS_AS(Mapping(file, {(1U << 20) + 1}, Mapping::Access::read), Error);
}

TEST_CASE("a file with a name is no segment, because another process could truncate it") {
  const std::string path = "named_file";
  const FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  REQUIRE(::ftruncate(file.number(), 65536) == 0);
  CHECK_THROWS_AS(Mapping(file, {65536}, Mapping::Access::read), Error);
  ::unlink(path.c_str());
}

TEST_CASE("a segment that does not fit on the disk is an error that names the directory") {
  CHECK_THROWS_WITH_AS(probe_spill_directory("/no/such/directory"), doctest::Contains("/no/such/directory"),
                       IoError);
  CHECK_THROWS_AS(probe_spill_directory("/proc"), IoError);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit little{1U << 20, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &little) == 0);
  Status status = NC_NOERR;
  try {
    (void)create_spill_file(".", 2U << 20);
  } catch (const IoError& error) {
    status = error.status();
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  CHECK(status == NC_ENO_SPACE);
}
