#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <vector>

#include "commands.hpp"
#include "exit_status.hpp"
#include "run_choice.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/formats/near_match.hpp"
#include "sluice/runtime/observer.hpp"

namespace sluice::coordinator {
namespace {

namespace fs = std::filesystem;
using runtime::PublishedFile;

constexpr const char* cp_help = R"(sluice cp RUN:FILE DEST
Copies a published file of a run that goes on to disk. RUN is the name of a
workflow or the number of its run; :FILE is one of the only run. FILE is a name
that sluice ls shows. DEST is a file or a directory.
Example: sluice cp tsunami:wave_0100.nc /tmp
)";

/// "RUN:FILE", ":FILE" or "FILE".
struct Source {
  std::string run;
  std::string file;
};

Source parse_source(const std::string& word) {
  const std::size_t colon = word.find(':');
  if (colon == std::string::npos) return {"", word};
  return {word.substr(0, colon), word.substr(colon + 1)};
}

/// The file of that name or path; otherwise the only one of that name in any directory.
PublishedFile find_file(const std::vector<PublishedFile>& files, const std::string& wanted) {
  std::vector<std::string> names;
  std::vector<const PublishedFile*> same_name;
  for (const PublishedFile& file : files) {
    if (file.name == wanted || file.path == wanted) return file;
    if (fs::path(file.path).filename() == wanted) same_name.push_back(&file);
    names.push_back(file.name);
  }
  if (same_name.size() == 1) return *same_name.front();
  if (same_name.size() > 1) {
    throw Error(NC_EINVAL, "'" + wanted + "' is in several directories, as in " + same_name[0]->name +
                               " and " + same_name[1]->name + ": give the directory, too");
  }
  throw Error(NC_ENOENT, "'" + wanted + "' is not published now" + formats::suggestion(wanted, names) +
                             "\nsluice ls lists what is");
}

void fail(const fs::path& path, const char* what) {
  throw IoError(NC_EWRITE, errno, path.string(), what);
}

void copy_bytes(const runtime::FileDescriptor& from, std::uint64_t bytes, const fs::path& path) {
  constexpr mode_t mode = 0666;
  const runtime::FileDescriptor to(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode));
  if (!to) fail(path, "create");
  off_t offset = 0;
  while (static_cast<std::uint64_t>(offset) < bytes) {
    const ssize_t sent =
        ::sendfile(to.number(), from.number(), &offset, bytes - static_cast<std::uint64_t>(offset));
    if (sent < 0 && errno != EINTR) fail(path, "write");
    if (sent == 0) throw Error(NC_EIO, path.string() + ": the image ends too early");
  }
}

/// The destination has either its old contents or all of the new ones. Links and devices, as /dev/stdout is,
/// are not replaced but written.
void copy_image(const runtime::FileImage& newest, const fs::path& destination) {
  std::error_code error;
  const fs::file_type type = fs::symlink_status(destination, error).type();
  if (type != fs::file_type::not_found && type != fs::file_type::regular)
    return copy_bytes(newest.file, newest.made.bytes, destination);
  const fs::path partial = destination.string() + "." + std::to_string(::getpid()) + ".part";
  try {
    copy_bytes(newest.file, newest.made.bytes, partial);
    fs::rename(partial, destination);
  } catch (...) {
    fs::remove(partial, error);
    throw;
  }
}

void copy(const RunRecord& run, const std::string& wanted, fs::path destination) {
  runtime::Observer observer = runtime::observe(run.socket);
  const PublishedFile file = find_file(observer.list({}).files, wanted);
  if (fs::is_directory(destination)) destination /= fs::path(file.path).filename();
  const runtime::FileImage newest = observer.image(file.key, file.path);
  if (newest.file) return copy_image(newest, destination);
  if (fs::exists(destination) && fs::equivalent(newest.made.path, destination))
    throw Error(NC_EINVAL, newest.made.path + " is the file itself");
  fs::copy_file(newest.made.path, destination, fs::copy_options::overwrite_existing);
}

}  // namespace

int cp_command(const Arguments& arguments) {
  if (prints_help(arguments, cp_help)) return status_ok;
  if (arguments.size() != 2) {
    std::cerr << "sluice cp: a file and a destination are needed\nwrite sluice cp RUN:FILE DEST\n";
    return status_mistake;
  }
  const Source source = parse_source(arguments[0]);
  const auto run = choose_run("cp", source.run);
  if (!run) return status_mistake;
  try {
    copy(*run, source.file, arguments[1]);
    return status_ok;
  } catch (const Error& error) {
    std::cerr << "sluice cp: " << error.what() << '\n';
    return error.status() == NC_ENOENT || error.status() == NC_EINVAL ? status_mistake
                                                                      : status_runtime_failure;
  } catch (const fs::filesystem_error& error) {
    std::cerr << "sluice cp: " << error.what() << '\n';
    return status_runtime_failure;
  }
}

}  // namespace sluice::coordinator
