// Texts and names of statuses, and the library's version.
#include <array>
#include <cstdio>
#include <cstring>

#include "functions.hpp"
#include "sluice/formats/status.hpp"

namespace sluice::api::ncmpi {
namespace {

/// Texts that are generated on demand. A text is valid until the thread's next call of the same function,
/// because programs print both results in one line.
using Buffer = std::array<char, 160>;
thread_local Buffer text_buffer{};
thread_local Buffer name_buffer{};

template <class... Values>
const char* make_text(Buffer& buffer, const char* format, Values... values) noexcept {
  std::snprintf(buffer.data(), buffer.size(), format, values...);
  return buffer.data();
}

}  // namespace

const char* strerror(int err) {
  if (err > 0) return std::strerror(err);
  const char* const text = status_text(err);
  return text != nullptr ? text : make_text(text_buffer, "Unknown Error: Unrecognized error code %5d\n", err);
}

const char* strerrno(int err) {
  if (err > 0) return make_text(name_buffer, "System error code %d (%s)", err, std::strerror(err));
  // PnetCDF has texts for these statuses, but no names.
  const bool is_nameless = err >= NC_EPLUGIN && err <= NC_ENCZARR;
  const char* const name = is_nameless ? nullptr : status_name(err);
  return name != nullptr ? name : make_text(name_buffer, "Unknown code %d", err);
}

const char* inq_libvers() {
  return "1.15.0 of Sluice " SLUICE_VERSION;
}

}  // namespace sluice::api::ncmpi
