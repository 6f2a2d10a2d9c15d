#include "sluice/storage/netcdf4_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <string_view>

#include "sluice/formats/error.hpp"
#include "sluice/formats/netcdf4.hpp"
#include "sluice/storage/named_file.hpp"

extern char** environ;

namespace sluice::storage {

namespace {

/// Starts the program, with the dataset as its standard input, and what it says of a failure in `text`.
pid_t start_maker(const FileDescriptor& dataset, const FileDescriptor& file, const FileDescriptor& text) {
  constexpr int descriptor_of_file = 3;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawn_file_actions_adddup2(&actions, dataset.number(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, text.number(), STDERR_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, file.number(), descriptor_of_file);
  const std::string program = netcdf4_program();
  std::array<char*, 2> arguments{const_cast<char*>(program.c_str()), nullptr};
  pid_t process = -1;
  const int error =
      ::posix_spawn(&process, program.c_str(), &actions, &attributes, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) throw IoError(NC_EIO, error, program, "start");
  return process;
}

int wait_for(pid_t process) noexcept {
  int status = -1;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

/// What comes through the pipe until its end. `look` is called now and then.
std::string read_all(const FileDescriptor& pipe, const std::function<void()>& look) {
  constexpr int between_looks_ms = 100;
  std::string all;
  for (;;) {
    look();
    pollfd line{pipe.number(), POLLIN, 0};
    if (::poll(&line, 1, between_looks_ms) <= 0) continue;
    std::array<char, 512> piece{};
    const ssize_t bytes = ::read(pipe.number(), piece.data(), piece.size());
    if (bytes <= 0) return all;
    all.append(piece.data(), static_cast<std::size_t>(bytes));
  }
}

FileDescriptor open(const std::string& path) {
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!file) throw IoError(NC_EIO, errno, path, "open");
  return file;
}

}  // namespace

FileDescriptor make_scratch_file(const FileDescriptor& beside) {
  std::error_code ignored;
  const auto directory =
      std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(beside.number()), ignored)
          .parent_path();
  if (directory != "/" && !directory.empty()) return NamedFile(directory.string()).take();
  FileDescriptor file(::memfd_create("sluice-dataset", MFD_CLOEXEC));
  if (!file) throw Error(NC_ENOMEM, "no memory, or no descriptor, for the dataset of a netCDF-4 file");
  return file;
}

std::string netcdf4_program() {
  std::error_code ignored;
  const auto own = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
  const auto beside = own / "sluice-netcdf4";
  const auto installed = own / "../libexec/sluice/sluice-netcdf4";
  return std::filesystem::exists(beside, ignored) ? beside.string() : installed.string();
}

std::uint64_t make_netcdf4_file(const FileDescriptor& dataset, const FileDescriptor& file,
                                const std::function<void()>& look) {
  std::array<int, 2> ends{};
  if (::ftruncate(file.number(), 0) != 0)
    throw Error(NC_EIO, "the netCDF-4 file of a step cannot be emptied");
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw Error(NC_EIO, "no pipe for the maker of a netCDF-4 file");
  const FileDescriptor text(ends[0]);
  FileDescriptor write_end(ends[1]);
  const pid_t process = start_maker(dataset, file, write_end);
  write_end.reset();
  std::string said;
  try {
    said = read_all(text, look);
  } catch (...) {
    (void)::kill(process, SIGKILL);
    (void)wait_for(process);
    throw;
  }
  const bool is_made = wait_for(process) == 0;
  std::erase(said, '\n');
  if (!is_made)
    throw Error(NC_EIO, "a netCDF-4 file cannot be made of it: " +
                            (said.empty() ? "sluice-netcdf4 was killed" : said));
  struct stat facts {};
  if (::fstat(file.number(), &facts) != 0)
    throw Error(NC_EIO, "the netCDF-4 file of a step cannot be looked at");
  return static_cast<std::uint64_t>(facts.st_size);
}

std::unique_ptr<PartialFile> make_netcdf4_file(FileSystem& system, const PartialFile& dataset,
                                               const std::function<void()>& look) {
  auto made = std::make_unique<PartialFile>(system, dataset.target());
  (void)make_netcdf4_file(open(dataset.path()), open(made->path()), look);
  made->file().sync();
  return made;
}

}  // namespace sluice::storage
