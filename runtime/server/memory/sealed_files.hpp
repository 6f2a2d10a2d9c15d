#pragma once
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>

#include "file_ranges.hpp"
#include "sluice/matcher/step.hpp"
#include "sluice/runtime/packet_socket.hpp"

namespace sluice::runtime {

/// Published files that programs have written by the C library: nobody can change them any more. The number
/// of descriptors does not grow with that of the files: few of them are open, and the bytes of the others are
/// *packed*, as ranges of one memory file. Files on disk, and very large ones, stay open: there is space for
/// few of them.
class SealedFiles {
 public:
  /// A quarter of the descriptors that this process may have: the rest is for connections and other files.
  SealedFiles() : SealedFiles(a_quarter_of_the_descriptors()) {}
  /// At most about `most_open` files that could be packed stay open.
  explicit SealedFiles(std::size_t most_open);

  void add(matcher::StepId step, SharedFile file, bool is_on_disk);
  [[nodiscard]] bool contains(matcher::StepId step) const { return files_.contains(step); }
  [[nodiscard]] bool is_packed(matcher::StepId step) const {
    return files_.contains(step) && opened(step) == nullptr;
  }
  [[nodiscard]] bool is_on_disk(matcher::StepId step) const { return files_.at(step).is_on_disk; }
  /// The file, opened for reading; null: there is none. Who has it may outlive the step. A file that was
  /// packed is then another one of the same bytes, permissions, owner and times. Throws IoError when there is
  /// no descriptor or memory for it.
  [[nodiscard]] SharedFile open(matcher::StepId step);
  /// The same where it is open here; null: it is packed, so nobody has just this file by this object.
  [[nodiscard]] SharedFile opened(matcher::StepId step) const;
  /// The permissions, owner and times of a step's file. False: there is none, or they cannot be had.
  [[nodiscard]] bool find_facts(matcher::StepId step, struct stat& facts) const noexcept;
  /// The step is no more. Returns its file if that is open.
  SharedFile erase(matcher::StepId step) noexcept;
  /// The number of files that are packed.
  [[nodiscard]] std::size_t packed() const noexcept { return packed_; }

 private:
  struct File {
    SharedFile open;  ///< null: packed
    bool is_on_disk = false;
    std::optional<std::list<matcher::StepId>::iterator> place;  ///< in recent_
    struct stat facts = {};                                     ///< of a packed file
    FileRanges::Range range = {};                               ///< of a packed file
  };
  [[nodiscard]] static std::size_t a_quarter_of_the_descriptors() noexcept;
  void note_open(matcher::StepId step, File& file);
  void pack_surplus();
  void pack(File& file);
  void unpack(File& file);

  std::size_t most_open_;
  std::map<matcher::StepId, File> files_;
  std::list<matcher::StepId> recent_;  ///< open files that could be packed; the one used last is the last
  FileRanges ranges_;
  std::size_t packed_ = 0;
};

}  // namespace sluice::runtime
