#include "saved_recovery.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <system_error>

#include "format.hpp"
#include "sluice/storage/run_lock.hpp"
#include "sluice/storage/saved_file.hpp"

namespace sluice::coordinator {
namespace {

/// The newest ones first. Programs that write by mappings leave the times of a file as they are.
bool is_newer(const std::string& a, const std::string& b) {
  std::error_code error;
  const auto time_a = std::filesystem::last_write_time(a, error);
  const auto time_b = std::filesystem::last_write_time(b, error);
  return time_a != time_b ? time_a > time_b : storage::number_of_saved(a) > storage::number_of_saved(b);
}

/// Whether the file was changed later than what was saved: another step has become the file, or a program has
/// written it.
bool is_later(const std::string& path, const std::string& saved) {
  std::error_code error;
  const auto there = std::filesystem::last_write_time(path, error);
  if (error) return false;
  const auto then = std::filesystem::last_write_time(saved, error);
  return !error && there > then;
}

}  // namespace

std::vector<std::string> saved_files_in(storage::FileSystem& system, const std::string& directory) {
  std::vector<std::string> paths;
  for (const std::string& name : system.list(directory))
    if (name.ends_with(storage::saved_file_suffix)) paths.push_back(directory + "/" + name);
  std::ranges::sort(paths, is_newer);
  return paths;
}

bool recover_saved_file(storage::FileSystem& system, const std::string& saved,
                        const SavedRecoveryOptions& options, std::set<std::string>& done) {
  const auto what = storage::read_saved_file(system, saved);
  if (!what) {
    std::cerr << "sluice recover: " << saved << " is damaged, and is left alone\n";
    return false;
  }
  if (storage::is_run_alive(system, saved, what->run)) {
    std::cerr << "sluice recover: " << what->path << ": a run goes on that has saved this file (" << saved
              << ")\nwait until the run has ended\n";
    return false;
  }
  const std::string target = options.output_directory.empty()
                                 ? what->path
                                 : options.output_directory + "/" + storage::name_of(what->path);
  const bool may_be_deleted = options.deletes && options.output_directory.empty();
  if (!done.insert(what->path).second) {  // a kill came before this older one was removed
    if (may_be_deleted) system.remove(saved);
    return true;
  }
  if (system.exists(target) && storage::has_saved_contents(system, saved, target)) {
    std::cout << target << ": already is as it was saved at an fsync\n";
  } else if (!options.is_forced && is_later(target, saved)) {
    std::cout << target << ": was written later than what was saved at an fsync (" << saved
              << "), which is not needed; --force or --output-directory recovers it\n";
    return true;  // and it stays: nobody knows who has written the file
  } else {
    storage::restore_file(system, saved, target);
    std::cout << target << ": " << format_bytes(static_cast<std::uint64_t>(what->size_bytes))
              << ", as the file was at its last fsync\n";
  }
  if (may_be_deleted) system.remove(saved);
  return true;
}

}  // namespace sluice::coordinator
