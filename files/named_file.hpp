#pragma once
#include <map>
#include <string>

#include "sluice/runtime/protocol.hpp"

namespace sluice::files {

/// What a path is to a component that writes it, for calls that change names.
struct NamedFile {
  enum class Kind {
    ordinary,  ///< no rule by which the component writes files
    in_run,    ///< a file of the run
    in_place,  ///< a file on disk that the component writes there itself
    failed,    ///< the matcher cannot be asked
  };
  Kind kind = Kind::ordinary;
  runtime::OpenFile name = {};
  int error_number = 0;
};

/// The path itself, where a symbolic link is at its end. `directory`: of a descriptor, or AT_FDCWD.
[[nodiscard]] NamedFile named_file(int directory, const char* path) noexcept;
/// The file in memory that a link below /proc leads to, or an empty path means, as linkat(2) takes them with
/// these flags: its numbers stand for its name. Ordinary: there is none.
[[nodiscard]] NamedFile named_by_descriptor(int directory, const char* path, int flags) noexcept;
/// Returns errno, or 0; ENOENT: the run has no such file.
[[nodiscard]] int give_name(const runtime::NameFile& request) noexcept;
[[nodiscard]] int remove_named_file(const runtime::OpenFile& name) noexcept;

/// The files below a directory, in directories on disk at any depth, by their paths from there on. True: the
/// run has it, false: it is on disk alone. Returns errno, or 0.
[[nodiscard]] int list_below(int directory, const char* path, std::map<std::string, bool>& files) noexcept;

}  // namespace sluice::files
