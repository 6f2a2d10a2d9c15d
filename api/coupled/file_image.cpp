#include "file_image.hpp"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <map>
#include <mutex>
#include <string>

#include "call_mark.hpp"
#include "coupled_group.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/file_reading.hpp"

namespace sluice::api {

namespace {

int refuse(int error_number) noexcept {
  errno = error_number;
  return runtime::is_refused;
}

/// Calls `use` with the step of a stream that the program has opened last by the C library.
template <class Use>
void with_taken_step(const std::string& file, const Use& use) {
  static auto* const mutex = new std::mutex;  // never destroyed: programs open files until their very end
  static auto* const steps = new std::map<std::string, std::uint64_t>;
  const std::lock_guard lock(*mutex);
  use((*steps)[file]);
}

int find(const char* path, char* on_disk, std::size_t capacity, runtime::FindPurpose purpose) {
  const runtime::ClientEnvironment environment = runtime::read_client_environment();
  if (!environment.is_coupled()) return runtime::is_ordinary;
  const auto match = runtime::find_rule(environment, path);
  if (!match || !runtime::is_read_as_file(*match)) return runtime::is_ordinary;
  const auto session = process_session(environment);
  const runtime::Member alone{runtime::random_number() >> 1, 0, 1, false};
  const bool is_again = purpose == runtime::FindPurpose::again;
  std::uint64_t again = 0;
  if (is_again) with_taken_step(match->file, [&](std::uint64_t step) { again = step; });
  const bool is_look = is_again || purpose == runtime::FindPurpose::look;
  runtime::Open open = match->open(alone);
  open.continues = again;
  if (is_look) open.which = runtime::Open::Which::look;
  runtime::FileImage image = session->image(open);
  if (match->rule.is_stream && !is_look)
    with_taken_step(match->file, [&](std::uint64_t& step) { step = image.made.step; });
  if (image.file) return image.file.release();
  const std::string& path_on_disk = image.made.path;
  if (path_on_disk.size() >= capacity) return refuse(ENAMETOOLONG);
  std::ranges::copy(path_on_disk, on_disk);
  on_disk[path_on_disk.size()] = '\0';
  return runtime::is_on_disk;
}

}  // namespace

int find_file(const char* path, char* on_disk, std::size_t capacity, int purpose) noexcept {
  if (calls_of_thread > 0) return runtime::is_ordinary;  // PnetCDF's own
  if (purpose == static_cast<int>(runtime::FindPurpose::probe)) return runtime::is_refused;
  try {
    return find(path, on_disk, capacity, static_cast<runtime::FindPurpose>(purpose));
  } catch (const Error& error) {
    return refuse(runtime::error_number_of(error));
  } catch (const std::exception&) {
    return refuse(ENOMEM);
  }
}

int ask_matcher(int type, const void* fields, std::size_t bytes, void* answer, std::size_t* room,
                int* descriptor) noexcept {
  try {
    const auto* const first = static_cast<const std::byte*>(fields);
    const auto session = session_for_files(runtime::read_client_environment());
    if (type == runtime::asks_for_connection) {
      *descriptor = session->idle_connection();
      return NC_NOERR;
    }
    runtime::ReceivedMessage message =
        session->ask_about_file(static_cast<runtime::MessageType>(type), {first, first + bytes});
    if (message.fields.size() > *room) throw Error(NC_EIO, "damaged packet: a long answer about a file");
    *room = message.fields.size();
    std::ranges::copy(message.fields, static_cast<std::byte*>(answer));
    *descriptor = message.descriptors.empty() ? -1 : message.descriptors.front().release();
    return NC_NOERR;
  } catch (const Error& error) {
    return error.status();
  } catch (const std::exception&) {
    return NC_ENOMEM;
  }
}

}  // namespace sluice::api
