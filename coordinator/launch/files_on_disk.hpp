#pragma once
#include <filesystem>
#include <set>

#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

/// Files that are on disk now, at places where the components look first for files of the rule. Where the
/// pattern has "**", those of one directory below are found alone.
[[nodiscard]] std::set<std::filesystem::path> files_on_disk(const workflows::Workflow& workflow,
                                                            const workflows::FileRule& rule);

}  // namespace sluice::coordinator
