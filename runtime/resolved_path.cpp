#include "sluice/runtime/resolved_path.hpp"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>

namespace sluice::runtime {
namespace {

namespace fs = std::filesystem;

/// As Linux; a chain that is longer leads nowhere.
constexpr int most_links = 40;

/// Where the directory was removed, the system still knows what it was called.
fs::path working_directory() {
  std::error_code error;
  fs::path directory = fs::current_path(error);
  if (error) directory = fs::read_symlink("/proc/self/cwd", error);
  return directory.empty() ? fs::path("/") : directory;
}

/// The system's answer; empty where something is not there, or may not be looked at.
fs::path real_path(const fs::path& path) {
  struct Free {
    void operator()(char* text) const noexcept { std::free(text); }
  };
  const std::unique_ptr<char, Free> real(::realpath(path.c_str(), nullptr));
  return real == nullptr ? fs::path() : fs::path(real.get());
}

/// Resolves so much of an absolute path as is there.
fs::path resolve_what_is_there(const fs::path& path) {
  for (fs::path there = path;; there = there.parent_path()) {
    if (const fs::path real = real_path(there); !real.empty())
      return (real / path.lexically_relative(there)).lexically_normal();
    if (!there.has_relative_path()) return path.lexically_normal();
  }
}

}  // namespace

std::string resolved_path(std::string_view path, LastLink last_link) {
  fs::path whole = working_directory() / path;
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

}  // namespace sluice::runtime
