#pragma once
#include <string>

#include "image_session.hpp"
#include "run_view.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::files {

/// The session of this process. A forked child has one of its own. Throws Error where the environment is
/// damaged.
[[nodiscard]] ImageSession& process_session();

/// What a process sees that is attached to a run; null: it takes part in the run.
[[nodiscard]] RunView* attached_view();

/// `path` from the directory of a descriptor on; empty where the directory cannot be found.
[[nodiscard]] std::string whole_path(int directory, const char* path);

}  // namespace sluice::files
