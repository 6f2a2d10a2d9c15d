#pragma once
#include <set>

#include "written_files.hpp"

// What WrittenFiles knows of files and of their names. Its own sources alone include this.
namespace sluice::runtime {

/// A file from its first open on until it is published or given up.
struct WrittenFiles::File {
  enum class State {
    beginning,   ///< who has opened it waits for its descriptor
    open,        ///< somebody can write to it, or it will be opened again before it is published
    waiting,     ///< it has been closed often enough, and waits for a descriptor to be sealed
    publishing,  ///< nobody can write any more
  };
  FileId id = 0;
  State state = State::beginning;
  std::string path;
  DatasetKey key;
  LocalProcess writer;  ///< who has opened it first: its component, token and process
  FileBytes bytes = {};
  bool goes_on = false;       ///< Open::goes_on
  bool is_in_files = false;   ///< OpenFile::is_in_files
  bool is_elsewhere = false;  ///< its base is a step that this matcher does not have
  bool is_compared = false;   ///< with its base: it has become another one
  bool is_nameless = false;   ///< `path` is its former name: it has only landings
  std::uint64_t size = 0;     ///< from the last close on
  ByteRanges changed = {};    ///< WrittenBytes::Examined
  std::uint32_t closes_wanted = 1;
  std::uint32_t closes = 0;
  std::vector<Name> more_names = {};                             ///< besides `path`
  std::vector<SharedFile> landings = {};                         ///< files on disk that get its bytes
  int copies_under_way = 0;                                      ///< to the landings
  std::vector<std::function<void()>> at_landing = {};            ///< when no copy is under way
  std::vector<QueuedOpen> opens = {};                            ///< that wait for its beginning
  std::vector<std::function<void(const Outcome&)>> at_end = {};  ///< when it is published or given up
  bool is_shown_at_sync = false;
  bool is_syncing = false;
  std::string save_in = {};                            ///< OpenFile::save_in
  std::string saved = {};                              ///< where it was saved last; empty: it was not
  std::vector<std::function<void()>> after_sync = {};  ///< what waits for the end of a sync
  FileId draft = 0;  ///< it is a copy of this file, which goes on by the name; 0: none

  [[nodiscard]] const std::string& component() const { return writer.component; }
  /// For another file that is to have its name.
  [[nodiscard]] OpenFile name() const {
    OpenFile name;
    name.key = key;
    name.path = path;
    return name;
  }
};

/// What is known of a path.
struct WrittenFiles::Place {
  DatasetKey key = {};
  FileId file = 0;                                  ///< that is being written; 0: none
  matcher::StepId step = 0;                         ///< the newest one that was published; 0: none
  std::vector<std::function<void()>> queued = {};   ///< until the file is published
  std::vector<ClientId> openers = {};               ///< whose opens are among these
  std::vector<std::function<void()>> waiting = {};  ///< until it is known whether it has been closed
  /// The paths of the same file, this one included; null: it has no other. Shared by their places.
  std::shared_ptr<std::set<std::string>> links = {};
  std::uint32_t closes = 0;  ///< of what has the name, since it was new, before `file`
};

/// What has a name: a file that is being written, or bytes that were published.
struct WrittenFiles::Contents {
  FileId file = 0;  ///< 0: none
  SharedFile bytes = {};
  bool is_on_disk = false;
  // Of the bytes of a sync:
  SharedFile base = {};                            ///< the bytes of the sync before; null: none
  FileId draft = 0;                                ///< File::draft
  std::shared_ptr<const ByteRanges> changed = {};  ///< FileBytes::changed
};

}  // namespace sluice::runtime
