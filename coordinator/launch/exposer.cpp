#include "exposer.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/observer.hpp"
#include "sluice/runtime/resolved_path.hpp"

namespace sluice::coordinator {
namespace {

namespace fs = std::filesystem;
using runtime::PublishedFile;

[[noreturn]] void fail(const fs::path& path, const char* what) {
  throw IoError(NC_EWRITE, errno, path.string(), what);
}

fs::path link_target(const fs::path& path) {
  std::error_code error;
  const fs::path target = fs::read_symlink(path, error);
  return error ? fs::path() : target;
}

/// Makes the links of one run.
class Exposer {
 public:
  explicit Exposer(const fs::path& run_directory)
      : links_(links_in(run_directory)), memory_(exposed_files_of(run_directory)) {
    if (::mkdir(memory_.c_str(), 0700) != 0 && errno != EEXIST) fail(memory_, "create");
  }

  /// The file has all bytes before its path leads to it, at each moment either to this or to an earlier one.
  void show(const PublishedFile& file, const runtime::FileImage& image) {
    const fs::path path = file.path;
    const fs::path earlier = link_target(path);
    std::error_code error;
    if (fs::symlink_status(path, error).type() != fs::file_type::not_found &&
        !runtime::is_exposed_file(earlier.string())) {
      throw Error(NC_EEXIST,
                  path.string() +
                      " is on disk from before the run, and stays: remove it, so that 'expose: true' "
                      "can show what is published");
    }
    const fs::path target = memory_ / std::to_string(file.publication);
    write(target, image);
    note(path);
    const fs::path link = path.string() + "." + std::to_string(::getpid()) + ".exposed";
    ::unlink(link.c_str());
    if (::symlink(target.c_str(), link.c_str()) != 0 || ::rename(link.c_str(), path.c_str()) != 0) {
      const int reason = errno;
      ::unlink(link.c_str());
      ::unlink(target.c_str());
      errno = reason;
      fail(path, "link");
    }
    if (earlier.parent_path() == memory_) ::unlink(earlier.c_str());  // who has it open keeps it
  }

 private:
  static void write(const fs::path& path, const runtime::FileImage& image) {
    const runtime::FileDescriptor to(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444));
    if (!to) fail(path, "create");
    off_t offset = 0;
    while (static_cast<std::uint64_t>(offset) < image.made.bytes) {
      const auto left = image.made.bytes - static_cast<std::uint64_t>(offset);
      const ssize_t sent = ::sendfile(to.number(), image.file.number(), &offset, left);
      if (sent > 0 || (sent < 0 && errno == EINTR)) continue;
      const int reason = errno;
      ::unlink(path.c_str());
      errno = reason;
      fail(path, "write");
    }
  }

  /// Before the link is made, so that it is removed whatever happens.
  void note(const fs::path& path) {
    if (!noted_.insert(path).second) return;
    std::ofstream stream(links_, std::ios::app | std::ios::binary);
    stream << path.string() << '\0';
    if (!stream.flush()) fail(links_, "write");
  }

  fs::path links_;
  fs::path memory_;
  std::set<fs::path> noted_;
};

/// Shows a file as it is now, and tells when that cannot be done.
void show_newest(Exposer& exposer, runtime::Observer& reader, const PublishedFile& file) {
  try {
    const runtime::FileImage image = reader.image(file.key, file.path);
    if (image.file) exposer.show(file, image);
  } catch (const Error& error) {
    if (!reader.is_alive()) throw;
    if (error.status() != NC_ENOENT) std::cerr << error.what() << std::endl;
  }
}

}  // namespace

bool exposes_files(const workflows::Workflow& workflow) {
  return std::ranges::any_of(workflow.files, &workflows::FileRule::exposes);
}

ChildOptions plan_exposer(const Installation& installation, const RunDirectory& directory,
                          const workflows::Workflow& workflow) {
  ChildOptions child;
  child.program = installation.program.string();
  child.arguments = {std::string(exposer_name), directory.path().string()};
  for (std::size_t i = 0; i < workflow.files.size(); ++i) {
    if (workflow.files[i].exposes) child.arguments.push_back(std::to_string(i));
  }
  child.environment = current_environment();
  child.signal_at_our_death = SIGKILL;
  return child;
}

int expose(const fs::path& run_directory, const std::vector<std::string>& rules) {
  ::prctl(PR_SET_NAME, exposer_name.data());
  for (const int signal : {SIGINT, SIGHUP, SIGQUIT}) ::signal(signal, SIG_IGN);  // the coordinator decides
  bool has_begun = false;
  try {
    Exposer exposer(run_directory);
    const std::string socket = socket_in(run_directory).string();
    runtime::Observer news = runtime::observe(socket);
    runtime::Observer reader = runtime::observe(socket, std::string(exposer_component));
    has_begun = true;
    for (std::uint64_t seen = 0;;) {
      for (const PublishedFile& file : news.list({{}, false, {}, seen}).files) {
        seen = std::max(seen, file.publication);
        const bool is_meant = std::ranges::find(rules, std::to_string(file.key.rule)) != rules.end();
        if (is_meant && file.step != 0) show_newest(exposer, reader, file);
      }
    }
  } catch (const Error& error) {
    if (has_begun && error.status() == NC_EIO) return 0;  // the run has ended
    std::cerr << error.what() << std::endl;
    return 1;
  }
}

void remove_exposed_links(const fs::path& run_directory) noexcept {
  try {
    const fs::path memory = exposed_files_of(run_directory);
    std::ifstream stream(links_in(run_directory), std::ios::binary);
    for (std::string path; std::getline(stream, path, '\0');) {
      if (link_target(path).parent_path() == memory) ::unlink(path.c_str());
    }
  } catch (const std::exception&) {
    // No memory: the links lead nowhere from now on, and the next run of these files replaces them.
  }
}

}  // namespace sluice::coordinator
