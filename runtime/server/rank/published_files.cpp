#include "published_files.hpp"

#include <unistd.h>

#include <string>
#include <utility>

#include "file_copies.hpp"
#include "memory_file.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::runtime {

PublishedFiles::~PublishedFiles() {
  for (const auto& [step, kept] : kept_) update(step, kept);
}

void PublishedFiles::note_kept(matcher::StepId step, const std::string& path) {
  Kept kept{path, {}};
  if (!files_.contains(step) || ::stat(path.c_str(), &kept.facts) != 0) return;
  update(step, kept);  // the owner
  if (::stat(path.c_str(), &kept.facts) == 0) kept_[step] = std::move(kept);
}

void PublishedFiles::update(matcher::StepId step, const Kept& kept) const noexcept {
  struct stat wanted {};
  if (files_.find_facts(step, wanted)) set_facts(kept.path, kept.facts, wanted);
}

void PublishedFiles::read(const FileRange& range, const SharedFile& file, bool is_on_disk,
                          MemoryReceiver receiver) {
  const FileWork by_thread = [this](auto work, auto then) {
    worker_.submit(std::move(work), std::move(then));
  };
  read_file([&] { return file != nullptr ? file : files_.open(range.step); }, range,
            is_on_disk ? by_thread : work_at_once, std::move(receiver));
}

bool PublishedFiles::give_image(Client& client, std::uint32_t tag, matcher::StepId step) {
  if (!client.process->has_open(step) || !files_.contains(step)) return false;
  try {
    const SharedFile file = contents(step);
    clients_.send_image(client, tag, {file_size(*file)}, file);
  } catch (const Error& error) {
    clients_.send_error(client, tag, error.status(), error.what());
  }
  return true;
}

void PublishedFiles::keep_until_drained(matcher::StepId step, Saved saved, matcher::StepId former) {
  auto kept = saved_.extract(former);
  if (saved.path.empty() && kept.empty()) return;
  if (saved.path.empty()) saved.path = kept.mapped().path;
  if (!kept.empty() && !kept.mapped().goes_on && kept.mapped().path != saved.path) remove(kept.mapped().path);
  saved_[step] = std::move(saved);
}

void PublishedFiles::end_saved(matcher::StepId step, const std::string& saved, bool is_lost) {
  const auto kept = saved_.extract(step);
  if (kept.empty() ? !is_lost : kept.mapped().is_outdated) return remove(saved);
  if (!kept.empty() && files_.contains(step)) saved_[step] = {saved};
}

void PublishedFiles::remove_saved(matcher::StepId step) {
  const auto saved = saved_.find(step);
  if (saved == saved_.end()) return;
  saved->second.is_outdated = true;
  if (!saved->second.goes_on) remove(saved_.extract(saved).mapped().path);
}

void PublishedFiles::remove(const std::string& saved) {
  if (!saved.empty()) worker_.submit([saved] { (void)::unlink(saved.c_str()); });
}

/// The disk may take its time to give back the space.
void PublishedFiles::erase(matcher::StepId step) {
  // What was saved stays: the step has not become a file.
  const auto saved = saved_.find(step);
  if (saved != saved_.end() && (!saved->second.goes_on || saved->second.is_outdated)) saved_.erase(saved);
  if (!files_.contains(step)) return;
  if (const auto kept = kept_.extract(step); !kept.empty()) update(step, kept.mapped());
  const bool is_on_disk = files_.is_on_disk(step);
  SharedFile ended = files_.erase(step);
  if (is_on_disk) worker_.submit([file = std::move(ended)] {});
}

}  // namespace sluice::runtime
