#include "sluice/storage/partial_file.hpp"

#include <cerrno>
#include <utility>

namespace sluice::storage {
namespace {

constexpr int most_names = 100;

}  // namespace

std::string partial_path(const std::string& target, int number) {
  return target + (number == 1 ? "" : "." + std::to_string(number)) + ".partial";
}

PartialFile::PartialFile(FileSystem& system, std::string target, int first_number)
    : system_(system), target_(std::move(target)), number_(first_number) {
  while (number_ > most_names || !take(partial_path(target_, number_))) {
    if (++number_ > most_names)
      throw IoError(NC_EEXIST, EEXIST, partial_path(target_, 1), "create any of 100 partial files like");
  }
  int number = number_;
  try {
    // Two processes that wrote the file at once may have been killed.
    while (number < most_names && system_.owner_of(partial_path(target_, ++number)))
      remove_if_unlocked(system_, partial_path(target_, number));
  } catch (...) {
    system_.remove(path_);
    throw;
  }
}

PartialFile::~PartialFile() {
  try {
    remove();
  } catch (const Error&) {
    // The next process that makes this file removes it.
  }
}

bool PartialFile::take(const std::string& path) {
  // Another process that removes a leftover may remove a new file before it is locked: then this loop tries
  // again.
  for (int turn = 0; turn < 3; ++turn) {
    remove_if_unlocked(system_, path);
    std::unique_ptr<File> file;
    try {
      file = system_.open(path, OpenMode::create_private);
    } catch (const IoError& error) {
      if (error.error_number() == EEXIST) return false;
      throw;
    }
    if (!file->try_lock() || file->is_removed()) continue;
    file_ = std::move(file);
    path_ = path;
    return true;
  }
  return false;
}

void PartialFile::publish() {
  file_->take_permissions_of(target_);
  system_.rename(path_, target_);
  path_.clear();
  file_.reset();  // only now: the lock shows that the file is not a leftover
  system_.sync_directory(directory_of(target_));
}

void PartialFile::remove() {
  if (path_.empty()) return;
  system_.remove(std::exchange(path_, {}));
}

}  // namespace sluice::storage
