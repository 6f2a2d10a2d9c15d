#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "environment.hpp"
#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

/// A program that a component may start.
struct NamedProgram {
  std::string name;
  std::filesystem::path path;
};

/// The programs that a component's command names, and the text of a script in it: roughly, because a shell
/// decides which words are programs. `program`: the component's own one. `environment`: the one that it would
/// have. Each once, the first hundred words at most.
[[nodiscard]] std::vector<NamedProgram> find_named_programs(const workflows::Component& component,
                                                            const std::filesystem::path& program,
                                                            const Environment& environment);

}  // namespace sluice::coordinator
