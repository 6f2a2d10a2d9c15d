#pragma once
#include <string_view>

namespace sluice::api {

/// The text that sluice_last_error() gives: what the calling thread's last failed call had to say.
[[nodiscard]] const char* last_error() noexcept;

/// Remembers it (cut off where it is too long to be kept without allocating).
void set_last_error(std::string_view text) noexcept;

}  // namespace sluice::api
