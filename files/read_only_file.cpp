#include "read_only_file.hpp"

#include <cerrno>
#include <exception>
#include <string>

#include "client_library.hpp"
#include "process_session.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/file_reading.hpp"

namespace sluice::files {

namespace {

/// Throws Error: NC_ENOENT when this run has no such file.
void ask(const std::string& path, bool removes) {
  if (path.empty() || is_in_pnetcdf()) throw Error(NC_ENOENT, path);
  ImageSession& session = process_session();
  if (!session.environment().is_coupled()) throw Error(NC_ENOENT, path);
  const auto match = runtime::find_rule(session.environment(), path);
  if (!match || !runtime::is_read_as_file(*match)) throw Error(NC_ENOENT, path);
  if (removes && matcher::is_written_in_place(match->rule.through)) throw Error(NC_ENOENT, path);
  const runtime::Open open = match->open({}, removes ? runtime::Purpose::hide : runtime::Purpose::change);
  if (RunView* const view = attached_view()) return view->ask(open);
  session.ask(open);
}

/// A run that does not answer has ended: what is left is the disk.
ReaderChange try_it(int directory, const char* path, bool removes) noexcept {
  const int before = errno;
  auto outcome = ReaderChange::removed;
  try {
    ask(whole_path(directory, path), removes);
  } catch (const IoError& error) {
    // Without descriptors nobody can be asked; a file of the run must not be changed unasked.
    const bool lacks_descriptors = error.error_number() == EMFILE || error.error_number() == ENFILE;
    outcome = lacks_descriptors ? ReaderChange::refused : ReaderChange::to_disk;
  } catch (const Error& error) {
    outcome = error.status() == NC_EPERM ? ReaderChange::refused : ReaderChange::to_disk;
  } catch (const std::exception&) {
    outcome = ReaderChange::refused;  // no memory
  }
  errno = before;
  return outcome;
}

}  // namespace

ReaderChange change_as_reader(int directory, const char* path) noexcept {
  return try_it(directory, path, false);
}

ReaderChange remove_as_reader(int directory, const char* path) noexcept {
  return try_it(directory, path, true);
}

}  // namespace sluice::files
