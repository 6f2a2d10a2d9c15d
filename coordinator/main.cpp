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

/// The exit status where what was printed need not have arrived: on a full disk, say.
int after_output(int status) {
  if (std::cout.flush()) return status;
  std::cerr << "sluice: the output could not be written, at least not all of it\n";
  return status == sluice::coordinator::status_ok ? sluice::coordinator::status_runtime_failure : status;
}

}  // namespace

int main(int count, char** words) {
  using namespace sluice::coordinator;
  const Arguments arguments(words + 1, words + count);
  try {
    if (count == 3 && words[0] == guardian_name) return guard(arguments[0], arguments[1]);
    fill_standard_descriptors();
    return after_output(dispatch(arguments));
  } catch (const std::exception& error) {
    std::cerr << "sluice: " << error.what() << '\n';
    return status_runtime_failure;
  }
}
