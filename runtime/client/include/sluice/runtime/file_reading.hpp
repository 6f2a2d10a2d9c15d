#pragma once
#include <cstddef>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/rules.hpp"

namespace sluice::runtime {

/// Whether a process that opens a file of the rule by the C library gets an image of it: the component is a
/// reader only, and the data is in memory or in burst-buffer logs.
[[nodiscard]] bool is_read_as_file(const ClientRule& rule) noexcept;

/// The same for one file. A directory, or another special file, at the path is an ordinary one.
[[nodiscard]] bool is_read_as_file(const RuleMatch& match);

/// Whether what a process writes to a file of the rule by the C library becomes a step.
[[nodiscard]] bool is_written_as_file(const ClientRule& rule) noexcept;

/// What `sluice_find_file` of the client library is asked for.
enum class FindPurpose : int {
  open,
  look,   ///< of a stream: the next step, without going on to it
  again,  ///< of a stream: the step that it has given last
  probe,  ///< nothing: whether the file is an ordinary one, because PnetCDF opens it itself
};

/// What `sluice_find_file` of the client library returns, unless it is a descriptor of an image.
enum FoundFile : int {
  is_ordinary = -1,
  is_on_disk = -2,  ///< at another path
  is_refused = -3,  ///< errno says why
};

/// Room for an answer that `sluice_ask` of the client library gives.
/// Instead of a message's type: sluice_ask gives the number of a connection to the matcher that the process
/// has now; -1: it has none.
inline constexpr int asks_for_connection = 0;
inline constexpr std::size_t most_asked_bytes = 64;

/// The error number of the C library for an error of the matcher.
[[nodiscard]] int error_number_of(const Error& error) noexcept;
/// The other way round: the status by which a matcher tells a program of the error number.
[[nodiscard]] Status status_of_error_number(int error_number) noexcept;

}  // namespace sluice::runtime
