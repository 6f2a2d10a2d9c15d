#pragma once
#include <dirent.h>
#include <fcntl.h>

#include <array>
#include <cstdlib>

#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::files {

/// Calls `visit` with the number of each open descriptor. Files are closed often, so this takes few system
/// calls and no memory.
template <class Visit>
void for_each_descriptor(const Visit& visit) {
  const runtime::FileDescriptor directory(::open("/proc/thread-self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return;
  alignas(dirent64) std::array<char, 4096> entries;
  for (;;) {
    const ssize_t length = ::getdents64(directory.number(), entries.data(), entries.size());
    if (length <= 0) return;
    for (ssize_t at = 0; at < length;) {
      const auto* const entry = reinterpret_cast<const dirent64*>(entries.data() + at);
      at += entry->d_reclen;
      const int number = std::atoi(entry->d_name);
      if (entry->d_name[0] != '.' && number != directory.number()) visit(number);
    }
  }
}

}  // namespace sluice::files
