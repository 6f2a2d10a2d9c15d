#pragma once
#include <string>

#include "sluice/runtime/rules.hpp"

namespace sluice::api {

enum class OrdinaryUse { read, written };

/// Reports to the matcher, if there is one, that this process creates or opens an ordinary file. Sends the
/// report only if a rule couples the file for other components, or if rules name this component. One process
/// of a group calls it before it accesses the file. The program does not notice the report.
void tell_of_ordinary_file(const runtime::ClientEnvironment& environment, const std::string& path,
                           OrdinaryUse use) noexcept;

}  // namespace sluice::api
