#pragma once
#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <string>

#include "client_connections.hpp"
#include "disk_worker.hpp"
#include "sealed_files.hpp"
#include "sluice/matcher/step.hpp"
#include "step_files.hpp"

namespace sluice::runtime {

/// The steps that were written as files on this matcher, with their bytes: for its clients, for drains and
/// images, and for other matchers.
class PublishedFiles {
 public:
  PublishedFiles(MatcherBase& base, ClientConnections& clients)
      : clients_(clients), base_(base), worker_(base.loop) {}
  /// Files that are kept get the permissions, owners and times that programs have set since.
  ~PublishedFiles();
  PublishedFiles(const PublishedFiles&) = delete;
  PublishedFiles& operator=(const PublishedFiles&) = delete;

  /// Nobody can change the file any more.
  void add(matcher::StepId step, SharedFile file, bool is_on_disk) {
    files_.add(step, std::move(file), is_on_disk);
  }
  /// The bytes of a step; null: it was not written as a file here. Whoever has them may outlive the step.
  /// Throws IoError.
  [[nodiscard]] SharedFile contents(matcher::StepId step) {
    if (files_.is_packed(step)) base_.names.change_all();  // it becomes another file
    return files_.open(step);
  }
  /// The same file that was given to programs; null: there is none any more.
  [[nodiscard]] SharedFile given(matcher::StepId step) const { return files_.opened(step); }
  [[nodiscard]] bool is_on_disk(matcher::StepId step) const {
    return files_.contains(step) && files_.is_on_disk(step);
  }
  /// For other matchers. `file`: of the range, if it is no step. What is on disk is read by a thread.
  void read(const FileRange& range, const SharedFile& file, bool is_on_disk, MemoryReceiver receiver);
  /// Answers by `image_made`, if the step was written as a file here, and the client has it open.
  [[nodiscard]] bool give_image(Client& client, std::uint32_t tag, matcher::StepId step);
  /// The step's file is also on disk, at that path: what programs set there later is copied when the step
  /// ends, because the kernel tells nobody of it.
  void note_kept(matcher::StepId step, const std::string& path);
  struct Saved {
    std::string path;
    bool goes_on = false;      ///< the next sync adds to it
    bool is_outdated = false;  ///< it goes when that is over
  };
  /// What an fsync has saved of the step is needed until the step is a file. Where that is empty, what was
  /// saved of `former` is: the step takes its place. `former`: 0: none.
  void keep_until_drained(matcher::StepId step, Saved saved, matcher::StepId former);
  /// No sync adds to what was saved any more. It goes when the step is a file, or there is none of a sync.
  void end_saved(matcher::StepId step, const std::string& saved, bool is_lost);
  [[nodiscard]] bool has_saved(matcher::StepId step) const { return saved_.contains(step); }
  /// The step is a file now, or was removed: what was saved of it goes.
  void remove_saved(matcher::StepId step);
  /// The step is no more.
  void erase(matcher::StepId step);

 private:
  /// A file on disk as it was when it had been kept.
  struct Kept {
    std::string path;
    struct stat facts = {};
  };
  void remove(const std::string& saved);
  void update(matcher::StepId step, const Kept& kept) const noexcept;

  ClientConnections& clients_;
  MatcherBase& base_;
  SealedFiles files_;
  std::map<matcher::StepId, Kept> kept_;
  std::map<matcher::StepId, Saved> saved_;
  DiskWorker worker_;
};

}  // namespace sluice::runtime
