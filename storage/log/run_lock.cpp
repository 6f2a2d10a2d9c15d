#include "sluice/storage/run_lock.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <string_view>

#include "sluice/formats/error.hpp"

namespace sluice::storage {
namespace {

constexpr std::string_view prefix = ".sluice-";
constexpr std::string_view suffix = ".lock";
constexpr int most_turns = 1000;

std::string path_of(const std::string& directory, std::uint64_t run) {
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(run));
  return directory + "/" + std::string(prefix) + digits.data() + std::string(suffix);
}

}  // namespace

RunLock::RunLock(FileSystem& files, const std::string& directory, std::uint64_t run)
    : files_(files), path_(path_of(directory, run)) {
  remove_stale_run_locks(files, directory);
  // A process that looks whether the lock is held holds it for a moment, and may remove the file.
  for (int turn = 0; turn < most_turns; ++turn) {
    if (take()) return;
  }
  throw IoError(NC_EIO, EBUSY, path_, "lock");
}

bool RunLock::take() {
  if (!files_.owner_of(path_)) {
    try {
      (void)files_.open(path_, OpenMode::create_private);
    } catch (const IoError& error) {
      if (error.error_number() != EEXIST) throw;
    }
  }
  const auto owner = files_.owner_of(path_);
  if (!owner) return false;  // removed meanwhile
  if (owner != files_.user()) throw IoError(NC_EPERM, EPERM, path_, "lock another user's file");
  file_ = files_.open(path_, OpenMode::read);
  if (file_->try_lock() && !file_->is_removed()) return true;
  file_.reset();
  return false;
}

RunLock::~RunLock() {
  file_.reset();
  try {
    remove_if_unlocked(files_, path_);
  } catch (const Error&) {
    // The next run in the directory removes it.
  }
}

bool is_run_alive(FileSystem& files, const std::string& metadata_path, std::uint64_t run) {
  if (run == 0) return false;
  const std::string path = path_of(directory_of(metadata_path), run);
  const auto owner = files.owner_of(path);
  if (!owner || owner != files.owner_of(metadata_path)) return false;
  try {
    return !files.open(path, OpenMode::update)->try_lock();
  } catch (const IoError&) {  // it has gone, or cannot be looked at
    return false;
  }
}

void remove_stale_run_locks(FileSystem& files, const std::string& directory) {
  for (const std::string& name : files.list(directory)) {
    if (name.starts_with(prefix) && name.ends_with(suffix)) remove_if_unlocked(files, directory + "/" + name);
  }
}

}  // namespace sluice::storage
