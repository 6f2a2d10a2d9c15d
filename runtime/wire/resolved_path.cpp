#include "sluice/runtime/resolved_path.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

namespace sluice::runtime {
namespace {

namespace fs = std::filesystem;

/// The limit of Linux; a longer chain is an error.
constexpr int most_links = 40;

/// When the directory was removed, the system still knows its name. Takes no memory of the C library: the
/// call may come in a signal handler.
fs::path working_directory() {
  std::array<char, PATH_MAX> text;
  if (::getcwd(text.data(), text.size()) != nullptr) return text.data();
  std::error_code error;
  const fs::path directory = fs::read_symlink("/proc/self/cwd", error);
  return directory.empty() ? fs::path("/") : directory;
}

/// The system's answer; empty when a component does not exist, or cannot be inspected.
fs::path real_path(const fs::path& path) {
  std::array<char, PATH_MAX> real;
  return ::realpath(path.c_str(), real.data()) == nullptr ? fs::path() : fs::path(real.data());
}

bool is_link_to_exposed_file(const fs::path& path) {
  std::error_code is_no_link;
  return is_exposed_file(fs::read_symlink(path, is_no_link).string());
}

/// Resolves the existing part of an absolute path.
fs::path resolve_what_is_there(const fs::path& path) {
  for (fs::path there = path;; there = there.parent_path()) {
    if (const fs::path real = real_path(there); !real.empty())
      return (real / path.lexically_relative(there)).lexically_normal();
    if (!there.has_relative_path()) return path.lexically_normal();
  }
}

using ReadLink = ssize_t (*)(const char*, char*, std::size_t);
/// The C library's own readlink. Only what is on disk counts here. The library that stands in for files needs
/// a fifth of a small file's create to find out that it has nothing to say.
ReadLink readlink_on_disk() noexcept {
  static const ReadLink known = [] {
    void* const library = ::dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
    void* const function = library == nullptr ? nullptr : ::dlsym(library, "readlink");
    return function == nullptr ? &::readlink : reinterpret_cast<ReadLink>(function);
  }();
  return known;
}

/// Looks at each name once, and at none of the working directory, which the system knows without links.
/// Returns nothing in harder cases: "..", names behind a missing component, directories with a slash at the
/// end, and endless links.
std::optional<ResolvedFile> walk(std::string_view path) {
  std::array<char, PATH_MAX> text;
  ResolvedFile file;
  if (!path.starts_with('/')) {
    if (::getcwd(text.data(), text.size()) == nullptr || text[0] != '/') return std::nullopt;
    file.path = text.data();
    if (file.path == "/") file.path.clear();
  }
  std::string links_path;  // what `path` is part of from the first link on
  for (int links = 0; !path.empty();) {
    const std::string_view name = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(name.size() + 1, path.size()));
    if (name.empty() || (name == "." && !path.empty())) continue;
    if (name == "." || name == "..") return std::nullopt;
    const std::size_t directory_bytes = file.path.size();
    file.path.append(1, '/').append(name);
    const ssize_t target_bytes = readlink_on_disk()(file.path.c_str(), text.data(), text.size());
    file.is_there = target_bytes < 0 && errno == EINVAL;
    if (file.is_there) continue;
    if (path.empty() && target_bytes > 0 &&
        is_exposed_file({text.data(), static_cast<std::size_t>(target_bytes)}))
      return file;
    if (target_bytes < 0) return errno == ENOENT && path.empty() ? std::optional(file) : std::nullopt;
    if (++links > most_links || target_bytes == 0 || static_cast<std::size_t>(target_bytes) == text.size())
      return std::nullopt;
    std::string target(text.data(), static_cast<std::size_t>(target_bytes));
    if (target.ends_with('/')) return std::nullopt;
    if (!path.empty()) target.append(1, '/').append(path);
    links_path = std::move(target);
    path = links_path;
    file.path.resize(path.starts_with('/') ? 0 : directory_bytes);
  }
  return file.is_there ? std::optional(file) : std::nullopt;
}

/// The slow way, for all cases.
std::string resolve(std::string_view path, LastLink last_link) {
  fs::path whole = working_directory() / path;
  if (is_link_to_exposed_file(whole)) last_link = LastLink::stay;
  for (int links = 0; links < most_links; ++links) {
    if (last_link == LastLink::follow) {
      if (const fs::path real = real_path(whole); !real.empty()) return real.string();
    }
    const fs::path directory = resolve_what_is_there(whole.parent_path());
    std::error_code is_no_link;
    const fs::path target = last_link == LastLink::follow ? fs::read_symlink(whole, is_no_link) : fs::path();
    if (target.empty()) return (directory / whole.filename()).lexically_normal().string();
    whole = directory / target;
  }
  return whole.lexically_normal().string();
}

}  // namespace

bool is_exposed_file(std::string_view path) noexcept {
  return path.starts_with("/dev/shm/sluice-") && path.find("/exposed/") != std::string_view::npos;
}

ResolvedFile resolved_file(std::string_view path, LastLink last_link) {
  if (last_link == LastLink::follow && !path.empty() && !path.ends_with('/')) {
    if (auto file = walk(path)) return std::move(*file);
  }
  ResolvedFile file{resolve(path, last_link)};
  std::error_code ignored;
  file.is_there = fs::exists(file.path, ignored) && !is_link_to_exposed_file(file.path);
  return file;
}

std::string resolved_path(std::string_view path, LastLink last_link) {
  return resolved_file(path, last_link).path;
}

}  // namespace sluice::runtime
