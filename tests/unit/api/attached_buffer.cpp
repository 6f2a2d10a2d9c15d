#include "attached_buffer.hpp"

#include <doctest/doctest.h>

#include "sluice/formats/error.hpp"

using namespace sluice;
using api::AttachedBuffer;

namespace {

template <class Call>
int status_of(const Call& call) {
  try {
    call();
    return NC_NOERR;
  } catch (const Error& error) {
    return error.status();
  }
}

}  // namespace

TEST_CASE("a buffer is attached once, with a positive size, and asked for only while it is attached") {
  AttachedBuffer buffer;
  CHECK(status_of([&] { static_cast<void>(buffer.usage()); }) == NC_ENULLABUF);
  CHECK(status_of([&] { static_cast<void>(buffer.size()); }) == NC_ENULLABUF);
  CHECK(status_of([&] { buffer.detach(); }) == NC_ENULLABUF);
  CHECK(status_of([&] { buffer.reserve(1); }) == NC_ENULLABUF);
  CHECK(status_of([&] { buffer.attach(0); }) == NC_ENULLBUF);
  CHECK(status_of([&] { buffer.attach(-1); }) == NC_ENULLBUF);
  CHECK(status_of([&] { buffer.attach(10); }) == NC_NOERR);
  CHECK(status_of([&] { buffer.attach(10); }) == NC_EPREVATTACHBUF);
  CHECK(buffer.size() == 10);
  CHECK(status_of([&] { buffer.detach(); }) == NC_NOERR);
}

TEST_CASE("room in the attached buffer comes back when everything behind it has come back") {
  AttachedBuffer buffer;
  buffer.attach(100);
  const int first = buffer.reserve(20);
  const int second = buffer.reserve(20);
  const int third = buffer.reserve(20);
  CHECK(status_of([&] { buffer.reserve(41); }) == NC_EINSUFFBUF);
  buffer.release(first);
  CHECK(buffer.usage() == 60);
  buffer.release(third);
  CHECK(buffer.usage() == 40);
  CHECK(status_of([&] { buffer.detach(); }) == NC_EPENDINGBPUT);
  buffer.release(second);
  CHECK(buffer.usage() == 0);
  CHECK(status_of([&] { buffer.detach(); }) == NC_NOERR);
}
