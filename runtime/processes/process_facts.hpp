#pragma once
#include <sys/types.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace sluice::runtime {

/// /proc, or the directory of a process in it.
[[nodiscard]] std::filesystem::path processes_directory();
[[nodiscard]] std::filesystem::path directory_of(pid_t process);

/// Empty when the file cannot be read.
[[nodiscard]] std::string first_line(const std::filesystem::path& path);
/// What follows the word at the begin of a line of the file; empty: there is no such line.
[[nodiscard]] std::string fact_in(const std::filesystem::path& path, const std::string& word);
/// The entries of the directory that are numbers: processes, threads, descriptors.
[[nodiscard]] std::vector<pid_t> numbers_in(const std::filesystem::path& directory);
/// The file that the link names; empty: there is no link, or it is another user's.
[[nodiscard]] std::string target_of(const std::filesystem::path& link);

/// The system call that a thread sleeps in.
struct SleepingCall {
  long number = -1;  ///< -1: the thread does not sleep, or the system does not report it
  std::array<std::uint64_t, 5> arguments{};
};
[[nodiscard]] SleepingCall call_of(const std::filesystem::path& thread);

/// How often the thread has fallen asleep or had to leave the processor.
[[nodiscard]] std::string switches_of(const std::filesystem::path& thread);

/// A range of memory of a process.
struct MappedRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool is_shared = false;
  std::string file;  ///< device, number and path
};
[[nodiscard]] std::vector<MappedRange> mapped_by(pid_t process);

[[nodiscard]] bool has_in_environment(pid_t process, const std::string& assignment);

/// The parent of each process that has not ended.
[[nodiscard]] std::map<pid_t, pid_t> parents();

}  // namespace sluice::runtime
