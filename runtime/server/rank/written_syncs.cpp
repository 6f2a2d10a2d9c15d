// What an fsync of a file does that is being written: readers get its bytes as a step, and they are saved, as
// the file's rule says. docs/design/written-files.md, "Syncs".
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "memory_file.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/rules.hpp"
#include "written_file_states.hpp"

namespace sluice::runtime {

void WrittenFiles::sync(Client& client, std::uint32_t tag, const AwaitFile& request) {
  const ClientId id = client.id;
  const auto answer = [this, id, tag](const Outcome& outcome) {
    Client* const waiting = clients_.find(id);
    if (waiting == nullptr) return;
    outcome.is_failure() ? clients_.send_error(*waiting, tag, outcome.status, outcome.text)
                         : clients_.send(*waiting, MessageType::done, tag, encode(Done{}));
  };
  const auto synced = std::ranges::find_if(files_, [&](const auto& known) {
    const File& file = known.second;
    if (file.state != File::State::open || (file.save_in.empty() && !file.is_shown_at_sync)) return false;
    const struct stat facts = status_of(*file.bytes.file);
    return request.file == FileIdentity{facts.st_dev, facts.st_ino};
  });
  synced == files_.end() || synced->second.is_nameless ? answer({}) : sync(synced->second, answer);
}

/// Programs may write on meanwhile. What is only saved needs no copy in memory. One sync after the other.
void WrittenFiles::sync(File& file, Then then) {
  const FileId id = file.id;
  if (file.is_syncing) {
    file.after_sync.emplace_back([this, id, then] {
      File* const next = find(id);
      next == nullptr ? then({NC_EIO, "the file was given up"}) : sync(*next, then);
    });
    return;
  }
  file.is_syncing = true;
  if (!file.is_shown_at_sync) return save(file, file.bytes, then);
  const auto go_on = [this, id, then](const FileBytes& copy, const Outcome& outcome) {
    File* const known = find(id);
    if (known == nullptr || outcome.is_failure()) return end_sync(id, outcome, then);
    known->save_in.empty() ? show(*known, copy, then) : save(*known, copy, then);
  };
  bytes_.snapshot(file.name(), file.bytes.file, file.bytes.base, go_on);
}

/// The one of the sync before, or of a close; 0: none.
matcher::StepId WrittenFiles::shown_step(const File& file) const {
  const auto place = places_.find(file.is_nameless || !file.is_shown_at_sync ? "" : file.path);
  return place == places_.end() ? 0 : place->second.step;
}

/// What was saved before goes when the new bytes are saved elsewhere.
void WrittenFiles::save(File& file, FileBytes copy, const Then& then) {
  static const RunIdentity run = read_run_identity();
  const storage::SavedFile what{file.path, run.number, 0};
  const std::string to = storage::saved_file_path(file.save_in, what, base_.rank(), ++saves_);
  if (!file.bytes.saver) file.bytes.saver = std::make_shared<storage::FileSaver>();
  copy.saver = file.bytes.saver;
  const auto end = [this, id = file.id, copy, former = file.saved, then](const Outcome& outcome) {
    File* const known = find(id);
    const std::string& saved = copy.saver->path();
    if (!saved.empty() && saved != former)
      bytes_.remove_saved(known ? std::exchange(known->saved, saved) : saved);
    if (known == nullptr || outcome.is_failure()) return end_sync(id, outcome, then);
    known->is_shown_at_sync ? show(*known, copy, then) : end_sync(id, {}, then);
  };
  bytes_.save(copy, what, to, end);
}

/// The bytes become a step, as if the file had been closed and opened again.
void WrittenFiles::show(File& file, const FileBytes& copy, const Then& then) {
  const FileId id = file.id;
  if (!copy.is_on_disk && !WrittenBytes::may_be_spare(copy) && !seal(*copy.file))
    return end_sync(id, {NC_EIO, "its bytes cannot be sealed"}, then);
  steps_.forget_step(id);
  const LocalProcess writer = file.writer;
  const OpenFile name = file.name();
  Contents contents{0, copy.file, copy.is_on_disk, file.bytes.base, id, copy.changed};
  publish_bytes(writer, name, contents, [this, id, copy, then](const Outcome& outcome) {
    const bool has_failed = outcome.is_failure() && !outcome.text.empty();  // else it was unchanged
    if (File* const draft = find(id); draft != nullptr && !outcome.is_failure()) {
      draft->bytes.base = copy.file;
      draft->goes_on = true;
      draft->is_elsewhere = false;
    }
    end_sync(id, has_failed ? outcome : Outcome{}, then);
  });
}

void WrittenFiles::end_sync(FileId id, const Outcome& outcome, const Then& then) {
  File* const file = find(id);
  if (file == nullptr) return then(outcome.is_failure() ? outcome : Outcome{NC_EIO, "the file was given up"});
  if (outcome.is_failure()) base_.log.event("'" + file->path + "' was not synced: " + outcome.text);
  file->is_syncing = false;
  then(outcome);
  const auto waiting = std::exchange(file->after_sync, {});
  for (const auto& next : waiting) next();  // which may end the file
  settle_if_open(id);
}

}  // namespace sluice::runtime
