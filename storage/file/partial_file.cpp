#include "sluice/storage/partial_file.hpp"

#include <cerrno>
#include <functional>
#include <utility>

namespace sluice::storage {
namespace {

constexpr int most_names = 100;

}  // namespace

/// A program may have a scheme of its own for names like "NAME.partial", and none that looks like this.
std::string partial_path(const std::string& target, int number) {
  constexpr std::size_t longest_name = 255, digits = 16;
  const std::string tail = (number == 1 ? "" : "." + std::to_string(number)) + ".sluice-partial";
  const std::size_t begin = target.rfind('/') + 1;  // npos + 1 is 0
  std::string name = target.substr(begin);
  const std::size_t most = longest_name - 1 - tail.size();
  if (name.size() > most)
    name = name.substr(0, most - digits) + std::to_string(std::hash<std::string>{}(name)).substr(0, digits);
  return target.substr(0, begin) + "." + name + tail;
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
  give_name();
}

void PartialFile::publish_like(const std::string& like) {
  file_->take_permissions_of(like);
  file_->take_times_of(like);
  give_name();
}

void PartialFile::give_name() {
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
