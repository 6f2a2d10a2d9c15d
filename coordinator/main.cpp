#include <fcntl.h>
#include <unistd.h>

#include <exception>
#include <iostream>

#include "commands.hpp"
#include "exit_status.hpp"
#include "guardian.hpp"

namespace {

/// Where the caller closed a standard descriptor, no file of ours may get its number.
void fill_standard_descriptors() {
  int descriptor = 0;
  while ((descriptor = ::open("/dev/null", O_RDWR)) >= 0 && descriptor <= STDERR_FILENO) continue;
  if (descriptor > STDERR_FILENO) ::close(descriptor);
}

}  // namespace

int main(int count, char** words) {
  using namespace sluice::coordinator;
  const Arguments arguments(words + 1, words + count);
  try {
    if (count == 3 && words[0] == guardian_name) return guard(arguments[0], arguments[1]);
    fill_standard_descriptors();
    return dispatch(arguments);
  } catch (const std::exception& error) {
    std::cerr << "sluice: " << error.what() << '\n';
    return status_runtime_failure;
  }
}
