#include "guard.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <new>

#include "last_error.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::api {
namespace {

/// Plain memory: neither a thread start nor a library load has to run code.
thread_local std::array<char, 1024> last_error_text{};
thread_local bool was_something_said = false;  // set_last_error() was called during this call

}  // namespace

const char* last_error() noexcept {
  return last_error_text.data();
}

void set_last_error(std::string_view text) noexcept {
  const std::size_t length = std::min(text.size(), last_error_text.size() - 1);
  std::copy_n(text.data(), length, last_error_text.data());
  last_error_text[length] = '\0';
  was_something_said = true;
}

void begin_call() noexcept {
  was_something_said = false;
}

void set_last_error_of(int status) noexcept {
  if (was_something_said) return;
  const char* const text = status_text(status);
  set_last_error(text != nullptr ? text : "");
}

int current_exception_status() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    set_last_error(error.what());
    return error.status();
  } catch (const std::bad_alloc&) {
    set_last_error("out of memory");
    return NC_ENOMEM;
  } catch (const std::exception& error) {
    set_last_error(error.what());
    return NC_EINTERNAL;
  } catch (...) {
    set_last_error("an exception of unknown type");
    return NC_EINTERNAL;
  }
}

}  // namespace sluice::api
