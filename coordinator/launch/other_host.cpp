#include "other_host.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <stdexcept>

#include "exit_status.hpp"

namespace sluice::coordinator {
namespace {

/// For the shell of the other host.
std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char letter : word) text += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return text + "'";
}

std::vector<std::string> words_of_ssh() {
  const char* const chosen = std::getenv("SLUICE_SSH");
  std::istringstream text(chosen != nullptr && *chosen != '\0' ? chosen : "ssh");
  std::vector<std::string> words;
  for (std::string word; text >> word;) words.push_back(word);
  if (words.empty()) words.emplace_back("ssh");
  return words;
}

}  // namespace

std::optional<std::string> take_host(std::vector<std::string>& arguments) {
  const auto end = std::ranges::find(arguments, "--");
  const auto option = std::find(arguments.begin(), end, "--via");
  if (option == end) return std::nullopt;
  // A host that begins with '-' would be an option of ssh.
  if (option + 1 == end || option[1].empty() || option[1].front() == '-')
    throw std::invalid_argument("--via needs the name of a host, as ssh takes it");
  std::string host = option[1];
  arguments.erase(option, option + 2);
  return host;
}

int go_to(const std::string& host, const std::vector<std::string>& arguments) {
  // As on all nodes of a cluster: the same directories, the same installation.
  std::string line = "cd " + quoted(std::filesystem::current_path().string()) + " && exec " +
                     quoted(std::filesystem::read_symlink("/proc/self/exe").string());
  for (const std::string& argument : arguments) line += " " + quoted(argument);
  std::vector<std::string> words = words_of_ssh();
  if (::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1) words.emplace_back("-t");
  words.insert(words.end(), {host, line});
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execvp(pointers.front(), pointers.data());
  std::cerr << "sluice: cannot start " << words.front() << ": " << std::strerror(errno)
            << "\n--via goes to the other host by ssh: install it, or name another one in SLUICE_SSH\n";
  return status_runtime_failure;
}

}  // namespace sluice::coordinator
