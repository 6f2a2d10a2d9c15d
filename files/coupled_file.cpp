#include "sluice/files/coupled_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

#include "client_library.hpp"
#include "image_session.hpp"
#include "process_session.hpp"
#include "run_view.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/file_reading.hpp"
#include "sluice/runtime/files_matcher.hpp"
#include "stream_visits.hpp"

namespace sluice::files {

namespace {

/// A forked child has a session of its own; that of its parent stays as it is, for other threads may have
/// been in the middle of it.
struct ProcessSession {
  ProcessSession(pid_t self, const runtime::ClientEnvironment& environment,
                 const runtime::FilesMatcher& matcher, bool attached)
      : process(self), is_attached(attached), view(matcher.socket_path), session(environment, matcher) {}
  pid_t process;
  bool is_attached;  ///< it only looks at the run
  RunView view;
  ImageSession session;
  StreamVisits visits;
  ProcessSession* next = nullptr;  ///< of another process: of the parent, or of a child after vfork
};

/// As it was when it was first asked for. Never destroyed: programs open files until their very end.
const runtime::ClientEnvironment& known_environment() {
  static const auto* const environment = [] {
    auto found = std::make_unique<runtime::ClientEnvironment>(runtime::read_client_environment());
    if (!found->is_coupled()) *found = runtime::read_attached_environment();
    return found.release();
  }();
  return *environment;
}

/// The same.
const runtime::FilesMatcher& known_matcher() {
  static const auto* const matcher = new runtime::FilesMatcher(runtime::files_matcher());
  return *matcher;
}

std::unique_ptr<ProcessSession> make_session(pid_t self) {
  const runtime::ClientEnvironment& environment = known_environment();
  const bool is_attached = !environment.is_coupled() || environment.component == matcher::attached_name;
  return std::make_unique<ProcessSession>(self, environment, known_matcher(), is_attached);
}

ProcessSession* find_session(ProcessSession* first, pid_t process) noexcept {
  while (first != nullptr && first->process != process) first = first->next;
  return first;
}

/// After vfork, child and parent have one memory, and the parent goes on with its session.
ProcessSession& process_state() {
  static constinit std::atomic<ProcessSession*> newest{nullptr};
  const pid_t self = ::getpid();
  ProcessSession* first = newest.load();
  if (ProcessSession* const known = find_session(first, self); known != nullptr) return *known;
  auto made = make_session(self);
  for (;;) {
    made->next = first;
    if (newest.compare_exchange_strong(first, made.get())) return *made.release();
    // Another thread may have been faster.
    if (ProcessSession* const known = find_session(first, self); known != nullptr) return *known;
  }
}

/// Programs look there often, and nobody can make files there.
bool is_of_kernel(std::string_view directory) noexcept {
  return directory.starts_with("/proc/") || directory.starts_with("/sys/");
}

/// Empty where the directory cannot be found.
std::string path_of(int directory) {
  std::array<char, PATH_MAX> text;
  const std::string link = "/proc/thread-self/fd/" + std::to_string(directory);
  const ssize_t length = ::readlink(link.c_str(), text.data(), text.size());
  if (length <= 0 || static_cast<std::size_t>(length) == text.size()) return {};
  return std::string(text.data(), static_cast<std::size_t>(length));
}

}  // namespace

void read_environment() {
  (void)known_environment();
  (void)known_matcher();
}

ImageSession& process_session() {
  return process_state().session;
}

RunView* attached_view() {
  ProcessSession& process = process_state();
  return process.is_attached ? &process.view : nullptr;
}

std::string whole_path(int directory, const char* path) {
  if (path[0] == '/' || directory == AT_FDCWD) return path;
  const std::string from = path_of(directory);
  return from.empty() ? from : from + '/' + path;
}

namespace {

/// What is not published is on disk, or nowhere.
CoupledFile look_at(RunView& view, const runtime::RuleMatch& match) {
  auto found = view.find(match);
  if (!found) return {};
  if (found->image) return {CoupledFile::Kind::image, std::move(found->image), {}, 0};
  return {CoupledFile::Kind::on_disk, {}, std::move(found->path), 0};
}

/// Without image and path it is an ordinary one.
CoupledFile file_of(FoundImage found) {
  if (found.image) return {CoupledFile::Kind::image, std::move(found.image), {}, 0};
  if (found.path.empty()) return {};
  return {CoupledFile::Kind::on_disk, {}, std::move(found.path), 0};
}

/// Nothing: is_outdated().
std::optional<FoundImage> find_step(ProcessSession& process, const runtime::RuleMatch& match,
                                    runtime::FindPurpose purpose, std::uint64_t step,
                                    const ImageSession::IsOutdated& is_outdated) {
  using runtime::FindPurpose;
  if (auto own = shares_session() ? find_by_client_library(match.file, purpose) : std::nullopt) {
    if (own->kind == CoupledFile::Kind::failed)
      throw IoError(runtime::status_of_error_number(own->error_number), own->error_number, match.file,
                    "open");
    return FoundImage{std::move(own->image), std::move(own->path)};
  }
  if (purpose == FindPurpose::again) return process.session.find_again(match, step);
  return process.session.find_next(match, purpose == FindPurpose::look, is_outdated);
}

/// The present step once more, which was given up. Who only looks looks at the next one where it is gone.
std::optional<CoupledFile> find_again(ProcessSession& process, const runtime::RuleMatch& match,
                                      std::uint64_t step, bool is_look,
                                      const ImageSession::IsOutdated& is_outdated) {
  using runtime::FindPurpose;
  std::optional<FoundImage> found;
  try {
    found = find_step(process, match, FindPurpose::again, step, is_outdated);
    if (found->image) process.visits.renew(match.file, *found);
  } catch (const Error&) {
    if (!is_look) throw;
    found = find_step(process, match, FindPurpose::look, 0, is_outdated);
  }
  return found ? std::optional(file_of(std::move(*found))) : std::nullopt;
}

/// PnetCDF's own calls are none of the program's: the client library tells.
std::optional<CoupledFile> find_in_stream(ProcessSession& process, const runtime::RuleMatch& match,
                                          const void* site, const ImageSession::IsOutdated& is_outdated) {
  using runtime::FindPurpose;
  const bool is_look = site == nullptr;
  if (shares_session()) {
    const auto own = find_by_client_library(match.file, FindPurpose::probe);
    if (own && own->kind == CoupledFile::Kind::ordinary) return CoupledFile{};
  }
  auto present = is_look ? process.visits.look(match.file) : process.visits.open(match.file, site);
  if (present && present->image) return file_of(std::move(*present));
  if (present) return find_again(process, match, present->step, is_look, is_outdated);
  auto next = find_step(process, match, is_look ? FindPurpose::look : FindPurpose::open, 0, is_outdated);
  if (!next) return std::nullopt;
  if (next->image && !is_look) process.visits.begin(match.file, site, *next);
  return file_of(std::move(*next));
}

std::string from_root(const std::string& path) {
  std::array<char, PATH_MAX> directory;
  const bool is_relative = !path.starts_with('/') && ::getcwd(directory.data(), directory.size()) != nullptr;
  return is_relative ? std::string(directory.data()) + '/' + path : path;
}

CoupledFile find(int directory, const char* path, const void* site) {
  const std::string whole = whole_path(directory, path);
  if (whole.empty() || (!shares_session() && is_in_pnetcdf())) return {};
  ProcessSession& process = process_state();
  const runtime::ClientEnvironment& environment = process.session.environment();
  const auto purpose = site == nullptr ? runtime::FindPurpose::look : runtime::FindPurpose::open;
  const bool has_streams =
      !process.is_attached && std::ranges::any_of(environment.rules, &runtime::ClientRule::is_stream);
  if (!has_streams && !process.is_attached && shares_session()) {
    if (auto found = find_by_client_library(whole, purpose)) return std::move(*found);
  }
  if (!environment.is_coupled()) return {};
  const std::string fixed = from_root(whole);  // another thread may change the working directory
  for (;;) {
    const auto match = runtime::find_rule(environment, fixed);
    if (!match || !runtime::is_read_as_file(*match)) return {};
    if (process.is_attached) return look_at(process.view, *match);
    const auto is_outdated = [&] {
      const auto now = runtime::find_rule(environment, fixed);
      return !now || now->key != match->key;
    };
    if (match->rule.is_stream) {
      if (auto found = find_in_stream(process, *match, site, is_outdated)) return std::move(*found);
      continue;
    }
    if (has_streams && shares_session()) {
      if (auto found = find_by_client_library(whole, purpose)) return std::move(*found);
    }
    if (auto found = process.session.find(*match, site == nullptr, is_outdated))
      return file_of(std::move(*found));
  }
}

}  // namespace

CoupledFile find_coupled_file(int directory, const char* path, const void* site) noexcept {
  try {
    return find(directory, path, site);
  } catch (const Error& error) {
    return {CoupledFile::Kind::failed, {}, {}, runtime::error_number_of(error)};
  } catch (const std::bad_alloc&) {
    return {CoupledFile::Kind::failed, {}, {}, ENOMEM};
  } catch (const std::exception&) {
    return {CoupledFile::Kind::failed, {}, {}, EIO};
  }
}

std::vector<std::string> find_coupled_names(int directory) {
  std::vector<std::string> names;
  try {
    const std::string path = path_of(directory);
    if (path.empty() || is_of_kernel(path)) return names;
    ProcessSession& process = process_state();
    const runtime::ClientEnvironment& environment = process.session.environment();
    if (!environment.is_coupled()) return names;
    const auto add = [&](const std::vector<runtime::PublishedFile>& files) {
      for (const runtime::PublishedFile& file : files) {
        const auto rule = std::ranges::find(environment.rules, file.key.rule, &runtime::ClientRule::rule);
        if (rule == environment.rules.end()) continue;
        if (runtime::is_read_as_file(*rule) || (!process.is_attached && runtime::is_written_as_file(*rule)))
          names.push_back(file.path.substr(file.path.rfind('/') + 1));
      }
    };
    add(process.view.list(path, process.is_attached ? std::string() : environment.component));
    if (!process.is_attached && std::ranges::any_of(environment.rules, runtime::is_written_as_file))
      add(process.view.list_written(path));
  } catch (const Error&) {
    names.clear();
  }
  return names;
}

}  // namespace sluice::files
