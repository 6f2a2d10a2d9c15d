#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sluice/files/coupled_file.hpp"
#include "sluice/runtime/file_reading.hpp"
#include "sluice/runtime/packet_socket.hpp"
#include "sluice/runtime/protocol.hpp"

namespace sluice::files {

// What the client library says. In a process that uses MPI, PnetCDF's calls and these share one session.

/// Whether the process has called MPI_Init.
[[nodiscard]] bool uses_mpi() noexcept;
/// Whether a call now asks by the client library.
[[nodiscard]] bool shares_session() noexcept;

/// Looks for what a later call would look for with memory of the C library: that call may come in a signal
/// handler.
void look_for_client_library() noexcept;

/// Whether the thread is in a call of PnetCDF, which opens its files itself.
[[nodiscard]] bool is_in_pnetcdf() noexcept;

/// Empty where the client library leaves the file to this one.
[[nodiscard]] std::optional<CoupledFile> find_by_client_library(const std::string& path,
                                                                runtime::FindPurpose purpose);

/// An exchange about a file that the process writes or changes. Empty: this process has no client library, or
/// does not use MPI, and has to ask by itself. Throws Error with the matcher's answer.
[[nodiscard]] std::optional<runtime::ReceivedMessage> ask_by_client_library(
    runtime::MessageType type, const std::vector<std::byte>& fields);

/// A connection of the process to its matcher, which belongs to the client library; -1: it has none.
[[nodiscard]] int connection_of_client_library();

}  // namespace sluice::files
