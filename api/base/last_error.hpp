#pragma once
#include <string_view>

namespace sluice::api {

/// The text that sluice_last_error() returns: the message of the calling thread's last failed call.
[[nodiscard]] const char* last_error() noexcept;

/// Stores the text for last_error(). Cuts the text off if it is too long to store without allocation.
void set_last_error(std::string_view text) noexcept;

}  // namespace sluice::api
