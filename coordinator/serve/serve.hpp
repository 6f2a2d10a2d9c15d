#pragma once
#include <cstdint>
#include <string>

#include "run_record.hpp"

namespace sluice::coordinator {

/// Which run is served, as its user names it; and where: at a port of the loopback interface, 0 for any free
/// one, or at a Unix socket.
struct ServeOptions {
  std::string name;
  std::uint16_t port = 0;
  std::string socket;
};

/// Serves a page of the run, until ^C ends the process. Prints its address. Throws IoError.
[[noreturn]] void serve_run(const RunRecord& run, const ServeOptions& options);

}  // namespace sluice::coordinator
