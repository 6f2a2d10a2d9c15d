#include "named_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <exception>
#include <memory>
#include <new>
#include <utility>

#include "client_library.hpp"
#include "process_session.hpp"
#include "sluice/files/coupled_file.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/matcher/name_marks.hpp"
#include "sluice/runtime/file_reading.hpp"
#include "written_file.hpp"

namespace sluice::files {

namespace {

/// `work()` asks the matcher. Returns errno, or 0.
template <class Work>
int try_to(const Work& work) noexcept {
  try {
    work();
    return 0;
  } catch (const Error& error) {
    return runtime::error_number_of(error);
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  } catch (const std::exception&) {
    return EIO;
  }
}

NamedFile find_named(int directory, const char* path) {
  NamedFile found;
  const ImageSession& session = process_session();
  const std::string whole = whole_path(directory, path);
  if (whole.empty() || is_in_pnetcdf() || !session.environment().is_coupled() || !may_go_up(directory, path))
    return found;
  const auto match = runtime::find_rule(session.environment(), whole, runtime::LastLink::stay);
  if (!match || !runtime::is_written_as_file(match->rule)) return found;
  const bool is_in_place = matcher::is_written_in_place(match->rule.through);
  found.kind = is_in_place ? NamedFile::Kind::in_place : NamedFile::Kind::in_run;
  found.name.key = match->key;
  found.name.path = match->file;
  found.name.is_on_disk = match->is_on_disk;
  found.name.closes = match->rule.closes;
  found.name.is_in_files = matcher::is_in_files(match->rule.through);
  found.name.is_in_place = is_in_place;
  return found;
}

struct CloseDirectory {
  void operator()(DIR* directory) const noexcept { (void)::closedir(directory); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

/// `prefix`: empty, or with a slash at its end.
void list(int parent, const char* path, const std::string& prefix, std::map<std::string, bool>& files) {
  const int descriptor = ::openat(parent, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) return;
  const Directory directory(::fdopendir(descriptor));
  if (!directory) {
    (void)::close(descriptor);
    return;
  }
  for (const std::string& name : find_coupled_names(descriptor)) files[prefix + name] = true;
  while (const dirent* const entry = ::readdir(directory.get())) {
    const std::string name(entry->d_name);
    if (name == "." || name == "..") continue;
    struct stat facts {};
    if (::fstatat(descriptor, entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (S_ISDIR(facts.st_mode)) list(descriptor, entry->d_name, prefix + name + '/', files);
    if (S_ISREG(facts.st_mode)) files.emplace(prefix + name, false);
  }
}

}  // namespace

NamedFile named_file(int directory, const char* path) noexcept {
  NamedFile found;
  const int trouble = try_to([&] { found = find_named(directory, path); });
  if (trouble != 0) found = {NamedFile::Kind::failed, {}, trouble};
  return found;
}

NamedFile named_by_descriptor(int directory, const char* path, int flags) noexcept {
  const bool is_empty = *path == '\0' && (flags & AT_EMPTY_PATH) != 0;
  if (!is_empty && (flags & AT_SYMLINK_FOLLOW) == 0) return {};
  const int before = errno;
  NamedFile found;
  const int trouble = try_to([&] {
    const runtime::FileDescriptor opened(is_empty ? ::fcntl(directory, F_DUPFD_CLOEXEC, 0)
                                                  : ::openat(directory, path, O_PATH | O_CLOEXEC));
    if (!opened || !is_written_in_memory(opened.number())) return;
    const FileIdentity file = identity_of(opened.number());
    found.kind = NamedFile::Kind::in_run;
    found.name.path = matcher::path_of_numbers(file.device, file.file);
  });
  errno = before;
  return trouble == 0 ? std::move(found) : NamedFile{NamedFile::Kind::failed, {}, trouble};
}

int give_name(const runtime::NameFile& request) noexcept {
  return try_to([&] { process_session().name_file(request); });
}

int remove_named_file(const runtime::OpenFile& name) noexcept {
  runtime::Open removal{name.key, {}, name.path, runtime::Purpose::remove};
  removal.wants = runtime::Open::Form::bytes;
  return try_to([&] { process_session().ask(removal); });
}

int list_below(int directory, const char* path, std::map<std::string, bool>& files) noexcept {
  return try_to([&] { list(directory, path, {}, files); });
}

}  // namespace sluice::files
