#pragma once
// What a component that only reads a file may change by the C library: nothing that this run has published
// or is writing. docs/design/written-files.md, "What an open does".
#include <string>

#include "sluice/matcher/dataset_key.hpp"

namespace sluice::matcher {

struct RegistryParts;

/// The component opens the file for writing, cuts it, or puts another one in its place. `path`: absolute.
/// Throws Error: NC_EPERM, or NC_ENOENT when the run has no such file.
[[noreturn]] void refuse_change(RegistryParts& parts, const std::string& component, const DatasetKey& key,
                                const std::string& path);
/// The component removes the file. Throws as refuse_change() where that must not be.
void allow_removal(RegistryParts& parts, const std::string& component, const DatasetKey& key);

}  // namespace sluice::matcher
