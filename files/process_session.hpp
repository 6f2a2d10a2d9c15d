#pragma once
#include <string>

#include "image_session.hpp"
#include "run_view.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::files {

/// What `sluice run` has set, before the program can change its environment. Throws Error where it is
/// damaged.
void read_environment();
/// The session of this process. A forked child has one of its own. Throws Error where the environment is
/// damaged.
[[nodiscard]] ImageSession& process_session();

/// What a process sees that is attached to a run; null: it takes part in the run.
[[nodiscard]] RunView* attached_view();

/// `path` from the directory of a descriptor on; empty where the directory cannot be found.
[[nodiscard]] std::string whole_path(int directory, const char* path);

}  // namespace sluice::files
