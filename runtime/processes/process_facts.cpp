#include "process_facts.hpp"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "sluice/runtime/run_processes.hpp"

namespace sluice::runtime {

std::filesystem::path processes_directory() {
  return "/proc";
}

std::filesystem::path directory_of(pid_t process) {
  return processes_directory() / std::to_string(process);
}

std::string first_line(const std::filesystem::path& path) {
  std::ifstream stream(path);
  std::string line;
  std::getline(stream, line);
  return line;
}

std::string fact_in(const std::filesystem::path& path, const std::string& word) {
  std::ifstream stream(path);
  for (std::string line; std::getline(stream, line);)
    if (line.starts_with(word)) return line.substr(word.size());
  return {};
}

std::vector<pid_t> numbers_in(const std::filesystem::path& directory) {
  std::vector<pid_t> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    pid_t number = 0;
    const auto [rest, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (problem == std::errc() && rest == name.data() + name.size()) found.push_back(number);
  }
  return found;
}

std::string target_of(const std::filesystem::path& link) {
  std::error_code error;
  return std::filesystem::read_symlink(link, error).string();
}

SleepingCall call_of(const std::filesystem::path& thread) {
  std::istringstream words(first_line(thread / "syscall"));
  SleepingCall call;
  if (!(words >> call.number)) return {};
  for (std::uint64_t& argument : call.arguments) {
    std::string word;
    words >> word;
    argument = std::strtoull(word.c_str(), nullptr, 16);
  }
  return call;
}

std::string switches_of(const std::filesystem::path& thread) {
  return fact_in(thread / "status", "voluntary_ctxt_switches:") +
         fact_in(thread / "status", "nonvoluntary_ctxt_switches:");
}

std::vector<MappedRange> mapped_by(pid_t process) {
  std::vector<MappedRange> found;
  std::ifstream lines(directory_of(process) / "maps");
  for (std::string line; std::getline(lines, line);) {
    unsigned long begin = 0, end = 0;
    std::array<char, 5> kind{};
    int file = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %4s %*x %n", &begin, &end, kind.data(), &file) != 3) continue;
    found.push_back({begin, end, kind[3] == 's', line.substr(static_cast<std::size_t>(file))});
  }
  return found;
}

bool has_in_environment(pid_t process, const std::string& assignment) {
  const std::string environment = '\0' + text_of_process_file(directory_of(process) / "environ");
  return environment.find('\0' + assignment + '\0') != std::string::npos;
}

std::map<pid_t, pid_t> parents() {
  std::map<pid_t, pid_t> found;
  for (const pid_t process : numbers_in(processes_directory())) {
    const std::string stat = first_line(directory_of(process) / "stat");
    const auto name_end = stat.rfind(')');
    if (name_end == std::string::npos) continue;
    std::istringstream words(stat.substr(name_end + 1));
    char state = 0;
    pid_t parent = 0;
    if (!(words >> state >> parent)) continue;
    // The first thread may have ended before the others.
    const bool has_ended = state == 'Z' && numbers_in(directory_of(process) / "task").size() <= 1;
    if (!has_ended) found[process] = parent;
  }
  return found;
}

}  // namespace sluice::runtime
