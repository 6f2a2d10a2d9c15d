#include "private_copies.hpp"

#include <ranges>

namespace sluice::storage {

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
  for (const auto& copy : copies_ | std::views::reverse) copy->publish();
  copies_.clear();
  copy_of_.clear();
}

}  // namespace sluice::storage
