#include "workflow_copy.hpp"

#include <cerrno>
#include <fstream>
#include <utility>

#include "sluice/formats/error.hpp"

namespace sluice::coordinator {
namespace {

namespace fs = std::filesystem;

constexpr const char* mark = "copy-for-verify";

bool is_left_out(const fs::path& path) {
  const fs::path name = path.filename();
  return name == ".sluice" || name == ".git";
}

/// Calls `take` for each entry that a copy has.
template <class Take>
void for_each_entry(const fs::path& directory, const Take& take) {
  for (auto at = fs::recursive_directory_iterator(directory); at != fs::recursive_directory_iterator();
       ++at) {
    if (is_left_out(at->path())) {
      at.disable_recursion_pending();
    } else {
      take(*at);
    }
  }
}

[[noreturn]] void fail(const fs::path& path, const char* verb, const std::error_code& error) {
  throw IoError(NC_EIO, error.value(), path.string(), verb);
}

void copy_entry(const fs::directory_entry& entry, const fs::path& to) {
  std::error_code error;
  if (entry.is_symlink()) {
    fs::copy_symlink(entry.path(), to, error);
  } else if (entry.is_directory()) {
    fs::create_directory(to, entry.path(), error);
  } else if (entry.is_regular_file()) {
    fs::copy_file(entry.path(), to, error);
    if (!error) fs::last_write_time(to, entry.last_write_time(), error);
  }
  if (error) fail(to, "copy to", error);
}

}  // namespace

WorkflowCopy::WorkflowCopy(const fs::path& directory, fs::path copy) : copy_(std::move(copy)) {
  std::error_code error;
  if (fs::exists(fs::symlink_status(copy_, error))) {
    if (!fs::exists(copy_ / ".sluice" / mark, error))
      fail(copy_, "replace", {EEXIST, std::generic_category()});
    fs::remove_all(copy_, error);
    if (error) fail(copy_, "remove", error);
  }
  fs::create_directories(copy_ / ".sluice" / "values", error);
  if (error) fail(copy_, "create", error);
  if (!std::ofstream(copy_ / ".sluice" / mark))
    fail(copy_ / ".sluice" / mark, "create", {errno, std::generic_category()});
  copy_all(directory);
  copy_ = fs::canonical(copy_);
}

void WorkflowCopy::copy_all(const fs::path& directory) {
  for_each_entry(directory, [&](const fs::directory_entry& entry) {
    const fs::path relative = entry.path().lexically_relative(directory);
    copy_entry(entry, copy_ / relative);
    if (entry.is_regular_file() && !entry.is_symlink())
      stamps_[relative.string()] = {entry.last_write_time(), entry.file_size()};
  });
}

std::map<std::string, fs::path> WorkflowCopy::written_files() const {
  std::map<std::string, fs::path> files;
  for_each_entry(copy_, [&](const fs::directory_entry& entry) {
    if (!entry.is_regular_file() || entry.is_symlink()) return;
    const std::string relative = entry.path().lexically_relative(copy_).string();
    const auto stamp = stamps_.find(relative);
    if (stamp != stamps_.end() && stamp->second == Stamp{entry.last_write_time(), entry.file_size()}) return;
    files[relative] = entry.path();
  });
  return files;
}

void WorkflowCopy::remove() const noexcept {
  std::error_code error;
  fs::remove_all(copy_, error);
}

std::uintmax_t bytes_to_copy(const fs::path& directory) {
  std::uintmax_t bytes = 0;
  for_each_entry(directory, [&](const fs::directory_entry& entry) {
    if (entry.is_regular_file() && !entry.is_symlink()) bytes += entry.file_size();
  });
  return bytes;
}

}  // namespace sluice::coordinator
