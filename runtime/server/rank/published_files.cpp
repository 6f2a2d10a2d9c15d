#include "published_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "memory_file.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::runtime {

namespace {

bool is_same_time(const timespec& a, const timespec& b) noexcept {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/// Whether nobody has replaced or changed the file on disk in between.
bool is_as_it_was(const struct stat& before, const struct stat& now) noexcept {
  return before.st_dev == now.st_dev && before.st_ino == now.st_ino && before.st_size == now.st_size &&
         before.st_mode == now.st_mode && is_same_time(before.st_mtim, now.st_mtim);
}

}  // namespace

PublishedFiles::~PublishedFiles() {
  for (const auto& [step, kept] : kept_) update(step, kept);
}

void PublishedFiles::note_kept(matcher::StepId step, const std::string& path) {
  Kept kept{path, {}};
  if (files_.contains(step) && ::stat(path.c_str(), &kept.facts) == 0) kept_[step] = std::move(kept);
}

/// A file that is no longer there, or that somebody else has changed, stays as it is.
void PublishedFiles::update(matcher::StepId step, const Kept& kept) const noexcept {
  struct stat wanted {
  }, now{};
  if (!files_.find_facts(step, wanted)) return;
  const bool has_mode = mode_of(wanted.st_mode) == mode_of(kept.facts.st_mode);
  const bool has_owner = wanted.st_uid == kept.facts.st_uid && wanted.st_gid == kept.facts.st_gid;
  const bool has_time = is_same_time(wanted.st_mtim, kept.facts.st_mtim);
  if (has_mode && has_owner && has_time) return;
  const FileDescriptor file(::open(kept.path.c_str(), O_PATH | O_CLOEXEC));  // it may allow no reading
  if (!file || ::fstat(file.number(), &now) != 0 || !is_as_it_was(kept.facts, now)) return;
  const std::string link = link_to(file);
  if (!has_owner) (void)!::chown(link.c_str(), wanted.st_uid, wanted.st_gid);  // as the owner may
  if (!has_mode || !has_owner) (void)::chmod(link.c_str(), mode_of(wanted.st_mode));
  const timespec times[] = {wanted.st_atim, wanted.st_mtim};
  if (!has_time) (void)::utimensat(AT_FDCWD, link.c_str(), times, 0);
}

void PublishedFiles::read(const FileRange& range, MemoryReceiver receiver) {
  const auto read = std::make_shared<MemoryRead>();  // shared by the two functions
  SharedFile file;
  try {
    file = files_.open(range.step);
    if (file == nullptr) throw Error(NC_EIO, "the step has ended, or was not written as a file here");
  } catch (const Error& error) {
    read->outcome = {error.status(), error.what()};
    return receiver(std::move(*read));
  }
  const auto work = [read, range, file] {
    read->bytes.resize(range.bytes);
    const int trouble = read_range(*file, range.offset, read->bytes);
    if (trouble != 0)
      read->outcome = {NC_EIO, std::string("the file cannot be read: ") + std::strerror(trouble)};
  };
  const auto then = [read, receiver = std::move(receiver)] { receiver(std::move(*read)); };
  if (files_.is_on_disk(range.step)) return worker_.submit(work, then);
  work();
  then();
}

bool PublishedFiles::give_image(Client& client, std::uint32_t tag, const ImageRequest& request) {
  if (!client.process->has_open(request.step) || !files_.contains(request.step)) return false;
  try {
    const SharedFile file = contents(request.step);
    clients_.send_image(client, tag, {file_size(*file)}, file);
  } catch (const Error& error) {
    clients_.send_error(client, tag, error.status(), error.what());
  }
  return true;
}

void PublishedFiles::keep_until_drained(matcher::StepId step, const std::string& saved,
                                        matcher::StepId former) {
  if (!saved.empty()) {
    remove_saved(former);
    saved_[step] = saved;
  } else if (auto kept = saved_.extract(former); !kept.empty()) {
    saved_[step] = std::move(kept.mapped());
  }
}

void PublishedFiles::remove_saved(matcher::StepId step) {
  const auto saved = saved_.extract(step);
  if (saved.empty()) return;
  worker_.submit([path = saved.mapped()] { (void)::unlink(path.c_str()); });
}

/// The disk may take its time to give back the space.
void PublishedFiles::erase(matcher::StepId step) {
  saved_.erase(step);  // what was saved stays: the step has not become a file
  if (!files_.contains(step)) return;
  if (const auto kept = kept_.extract(step); !kept.empty()) update(step, kept.mapped());
  const bool is_on_disk = files_.is_on_disk(step);
  SharedFile ended = files_.erase(step);
  if (is_on_disk) worker_.submit([file = std::move(ended)] {});
}

}  // namespace sluice::runtime
