#include "sluice/storage/partial_file.hpp"

#include <cerrno>
#include <utility>

namespace sluice::storage {
namespace {

constexpr int most_names = 100;

std::string name_of_partial(const std::string& target, int number) {
  return target + (number == 1 ? "" : "." + std::to_string(number)) + ".partial";
}

/// Removes what is there if it is this user's, and nobody writes it.
void remove_leftover(FileSystem& system, const std::string& path) {
  if (system.owner_of(path) != system.user()) return;
  try {
    const auto file = system.open(path, OpenMode::update);
    if (file->try_lock_for_sure() && !file->is_removed()) system.remove(path);
  } catch (const IoError&) {
    // It stays; it is not in the way.
  }
}

}  // namespace

PartialFile::PartialFile(FileSystem& system, std::string target)
    : system_(system), target_(std::move(target)) {
  int number = 1;
  while (!take(name_of_partial(target_, number))) {
    if (++number > most_names)
      throw IoError(NC_EEXIST, EEXIST, name_of_partial(target_, 1), "create (and 99 others like it)");
  }
  // Two that wrote the file at once may have been killed.
  while (number < most_names && system_.owner_of(name_of_partial(target_, ++number)))
    remove_leftover(system_, name_of_partial(target_, number));
}

PartialFile::~PartialFile() {
  try {
    remove();
  } catch (const Error&) {
    // The next one who makes this file removes it.
  }
}

bool PartialFile::take(const std::string& path) {
  // Who removes a leftover may take a new file for one, before that is locked: then there is another chance.
  for (int turn = 0; turn < 3; ++turn) {
    remove_leftover(system_, path);
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
  file_.reset();  // not before: the lock tells that it is no leftover
  system_.sync_directory(directory_of(target_));
}

void PartialFile::remove() {
  if (path_.empty()) return;
  system_.remove(std::exchange(path_, {}));
}

}  // namespace sluice::storage
