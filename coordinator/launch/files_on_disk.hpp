#pragma once
#include <cstdint>
#include <filesystem>
#include <set>

#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

/// Files that are on disk now, at places where the components look first for files of the rule. Where the
/// pattern has "**", those of one directory below are found alone.
[[nodiscard]] std::set<std::filesystem::path> files_on_disk(const workflows::Workflow& workflow,
                                                            const workflows::FileRule& rule);

/// In nanoseconds since 1970; 0: there is no such file.
[[nodiscard]] std::int64_t modification_time_of(const std::filesystem::path& file);

/// A file below the workflow's directory that is no rule's, was changed after `began_ns`, and has nearly a
/// name of the rule: in another directory or case, with another ending, or with a slip. Empty: there is none.
[[nodiscard]] std::filesystem::path similar_file(const workflows::Workflow& workflow,
                                                 const workflows::FileRule& rule, std::int64_t began_ns);

}  // namespace sluice::coordinator
