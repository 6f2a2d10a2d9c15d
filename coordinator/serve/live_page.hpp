#pragma once
#include <string>

#include "web_server.hpp"

namespace sluice::coordinator {

/// The page, its script or its style, by the path of the request; null: it is none of these.
[[nodiscard]] const WebAnswer* part_of_page(const std::string& path);

/// The two parts of the script.
[[nodiscard]] const char* live_script() noexcept;
[[nodiscard]] const char* field_script() noexcept;
[[nodiscard]] const char* live_style() noexcept;

}  // namespace sluice::coordinator
