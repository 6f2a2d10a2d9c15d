#pragma once
#include <memory>

#include "sluice/runtime/session.hpp"

namespace sluice::api {

/// The session of this process, made at the first call; a forked child gets its own. Shared with the open
/// datasets, which may outlive it as the process's session.
[[nodiscard]] std::shared_ptr<runtime::Session> process_session(
    const runtime::ClientEnvironment& environment);

}  // namespace sluice::api
