#include "sluice/runtime/parent_process.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::runtime {

namespace {

/// The contents of the file, as far as it can be read.
std::string contents_of(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  if (!file) return text;
  std::array<char, 4096> part{};
  for (;;) {
    const ssize_t count = ::read(file.number(), part.data(), part.size());
    if (count <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace

bool is_child_of_run() {
  const char* const socket = std::getenv("SLUICE_SOCKET");
  if (socket == nullptr) return false;
  const std::string variables = '\0' + contents_of("/proc/" + std::to_string(::getppid()) + "/environ");
  const std::string mark = std::string("SLUICE_SOCKET=") + socket;
  const bool is_of_component =
      variables.find(std::string(1, '\0') + "SLUICE_COMPONENT=") != std::string::npos;
  return is_of_component && variables.find('\0' + mark + '\0') != std::string::npos;
}

}  // namespace sluice::runtime
