#include "sluice/runtime/segment.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>

#include "sluice/formats/error.hpp"

using namespace sluice;
using namespace sluice::runtime;

TEST_CASE("a new segment holds zeros, and what one mapping writes the others read") {
  const FileDescriptor file = create_segment(1U << 20);
  const Mapping reader(file, 1U << 20, Mapping::Access::read);
  CHECK(std::all_of(reader.bytes().begin(), reader.bytes().end(),
                    [](std::byte b) { return b == std::byte{}; }));
  const Mapping writer(file, 1U << 20, Mapping::Access::read_write);
  writer.writable()[12345] = std::byte{7};
  CHECK(reader.bytes()[12345] == std::byte{7});
  CHECK(reader.writable().empty());
}

TEST_CASE("a mapping outlives its descriptor and can be moved and made writable") {
  FileDescriptor file = create_segment(65536);
  Mapping first(file, 65536, Mapping::Access::read);
  file.reset();
  Mapping second(std::move(first));
  first = Mapping();
  second.make_writable();
  second.writable()[0] = std::byte{1};
  CHECK(second.bytes()[0] == std::byte{1});
}

TEST_CASE("the size of a segment cannot be changed") {
  const FileDescriptor file = create_segment(65536);
  CHECK(::ftruncate(file.number(), 0) != 0);
  CHECK(::ftruncate(file.number(), 1 << 20) != 0);
}

TEST_CASE("what is not a sealed segment of that size is not mapped") {
  const FileDescriptor file = create_segment(65536);
  CHECK_THROWS_AS(Mapping(file, 65537, Mapping::Access::read), Error);
  FileDescriptor unsealed(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(::ftruncate(unsealed.number(), 65536) == 0);
  CHECK_THROWS_AS(Mapping(unsealed, 65536, Mapping::Access::read), Error);
  const FileDescriptor ordinary(::open("/dev/null", O_RDWR | O_CLOEXEC));
  CHECK_THROWS_AS(Mapping(ordinary, 1, Mapping::Access::read), Error);
}

TEST_CASE("a segment that the machine cannot hold in its address space is an error") {
  CHECK_THROWS_AS((void)create_segment(1ULL << 63), Error);
}
