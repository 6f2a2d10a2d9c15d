#pragma once
#include <string>

#include "sluice/runtime/rules.hpp"

namespace sluice::api {

enum class OrdinaryUse { read, written };

/// Tells the matcher, if there is one, of a file that this process creates or opens as an ordinary one
/// although a rule couples it for others, or although rules name the component. Called by one process of a
/// group, before it touches the file. Nothing comes of it that the program could notice.
void tell_of_ordinary_file(const runtime::ClientEnvironment& environment, const std::string& path,
                           OrdinaryUse use) noexcept;

}  // namespace sluice::api
