#include "recovery_files.hpp"

#include <algorithm>
#include <cerrno>

namespace sluice::storage {

std::unique_ptr<File> OwnedFiles::open(const std::string& path, OpenMode mode) {
  auto file = base().open(path, mode == OpenMode::read ? OpenMode::read_no_link : mode);
  if (file->owner() != owner_) throw IoError(NC_EACCESS, EPERM, path, "use a file of another user");
  return file;
}

std::vector<std::string> OwnedFiles::list(const std::string& directory) {
  auto names = base().list(directory);
  std::erase_if(names,
                [&](const std::string& name) { return base().owner_of(directory + "/" + name) != owner_; });
  return names;
}

void copy_contents(const File& from, File& to) {
  to.copy(from, {0, from.size_bytes()}, 0);
  if (const auto mark = from.mark(); !mark.empty()) (void)to.set_mark(mark);
}

std::unique_ptr<File> PrivateCopies::open(const std::string& path, OpenMode mode) {
  const auto known = copy_of_.find(path);
  if (known != copy_of_.end()) return base().open(known->second->path(), mode);
  if (mode != OpenMode::update) return base().open(path, mode);
  auto copy = std::make_unique<PartialFile>(base(), path);
  copy_contents(*base().open(path, OpenMode::read), copy->file());
  copy_of_[path] = copy.get();
  copies_.push_back(std::move(copy));
  return base().open(copies_.back()->path(), mode);
}

void PrivateCopies::publish() {
  for (const auto& copy : copies_) copy->file().sync();
  std::for_each(copies_.rbegin(), copies_.rend(), [](const auto& copy) { copy->publish(); });
  copies_.clear();
  copy_of_.clear();
}

}  // namespace sluice::storage
