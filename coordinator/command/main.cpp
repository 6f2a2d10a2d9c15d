#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <filesystem>
#include <iostream>

#include "commands.hpp"
#include "exit_status.hpp"
#include "exposer.hpp"
#include "guardian.hpp"

namespace {

/// Fills closed standard descriptors, so that no file of this program gets their numbers.
void fill_standard_descriptors() {
  int descriptor = 0;
  while ((descriptor = ::open("/dev/null", O_RDWR)) >= 0 && descriptor <= STDERR_FILENO) continue;
  if (descriptor > STDERR_FILENO) ::close(descriptor);
}

/// The exit status, corrected if printed output may not have arrived, for example on a full disk.
int after_output(int status) {
  if (std::cout.flush()) return status;
  std::cerr << "sluice: not all of the output could be written\n";
  return status == sluice::coordinator::status_ok ? sluice::coordinator::status_runtime_failure : status;
}

}  // namespace

int main(int count, char** words) {
  using namespace sluice::coordinator;
  const Arguments arguments(words + 1, words + count);
  try {
    if (count == 3 && words[0] == guardian_name) return guard(arguments[0], arguments[1]);
    fill_standard_descriptors();
    if (count > 2 && words[0] == exposer_name)
      return expose(arguments[0], {arguments.begin() + 1, arguments.end()});
    std::signal(SIGXFSZ, SIG_IGN);  // a write beyond the file size limit then fails with an error
    return after_output(dispatch(arguments));
  } catch (const std::filesystem::filesystem_error& error) {
    std::error_code trouble;
    (void)std::filesystem::current_path(trouble);
    std::cerr << "sluice: " << error.what() << '\n';
    if (trouble)
      std::cerr << "the working directory was removed, or cannot be entered: go to another one with 'cd'\n";
    return status_runtime_failure;
  } catch (const std::exception& error) {
    std::cerr << "sluice: " << error.what() << '\n';
    return status_runtime_failure;
  }
}
