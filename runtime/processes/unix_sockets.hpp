#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace sluice::runtime {

/// The socket of this machine (AF_UNIX) with which `socket` is connected, both by their numbers. Nothing:
/// there is none, or the kernel does not tell.
[[nodiscard]] std::optional<std::uint32_t> other_end_of(std::uint32_t socket);

/// Whether calls that read or write this socket of a process may end after some time (SO_RCVTIMEO,
/// SO_SNDTIMEO). True, too, when the system does not tell.
[[nodiscard]] bool has_time_limit(pid_t process, int socket);

}  // namespace sluice::runtime
