// Texts and names of statuses, and the version of the library.
#include <array>
#include <cstdio>
#include <cstring>

#include "functions.hpp"
#include "sluice/formats/status.hpp"

namespace sluice::api::ncmpi {
namespace {

/// For texts that are made on demand; valid until the thread's next call.
thread_local std::array<char, 160> text_buffer{};

template <class... Values>
const char* make_text(const char* format, Values... values) noexcept {
  std::snprintf(text_buffer.data(), text_buffer.size(), format, values...);
  return text_buffer.data();
}

}  // namespace

const char* strerror(int err) {
  if (err > 0) return std::strerror(err);
  const char* const text = status_text(err);
  return text != nullptr ? text : make_text("Unknown Error: Unrecognized error code %5d\n", err);
}

const char* strerrno(int err) {
  if (err > 0) return make_text("System error code %d (%s)", err, std::strerror(err));
  const char* const name = status_name(err);
  return name != nullptr ? name : make_text("Unknown code %d", err);
}

const char* inq_libvers() {
  return "1.12.3 of February 21, 2022 (Sluice " SLUICE_VERSION ")";
}

}  // namespace sluice::api::ncmpi
