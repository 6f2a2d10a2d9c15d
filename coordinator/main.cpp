#include <exception>
#include <iostream>

#include "commands.hpp"
#include "exit_status.hpp"
#include "guardian.hpp"

int main(int count, char** words) {
  using namespace sluice::coordinator;
  const Arguments arguments(words + 1, words + count);
  try {
    if (count == 3 && words[0] == guardian_name) return guard(arguments[0], arguments[1]);
    return dispatch(arguments);
  } catch (const std::exception& error) {
    std::cerr << "sluice: " << error.what() << '\n';
    return status_runtime_failure;
  }
}
