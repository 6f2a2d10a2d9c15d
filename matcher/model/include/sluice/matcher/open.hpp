#pragma once
#include <cstdint>
#include <string>

#include "sluice/matcher/dataset_key.hpp"

namespace sluice::matcher {

using StepId = std::uint64_t;

/// A process opens a dataset, with the other processes of its group: they send the same, but for their ranks.
struct Open {
  enum class Purpose : std::uint8_t {
    create,    ///< a new step
    write,     ///< a new step that begins with the newest one
    read,      ///< a published step
    describe,  ///< opens nothing: describes the dataset that a read would get; in a group of one process
    remove,    ///< deletes the dataset; `member` is not used
    // By the C library, of a component that only reads the file. NC_ENOENT: the run has no such file.
    change,  ///< asks whether the file may be changed: no, by NC_EPERM
    hide,    ///< the component no longer finds the file; NC_EPERM where it is to stay
  };
  /// The step that a read gets.
  enum class Which : std::uint8_t {
    next,     ///< as the rule says; the answer waits for it
    look,     ///< of a stream: the step that the next open would get, which this does not count as read
    newest,   ///< the newest published step at once, or NC_ENOENT; does not count as read either. For the
              ///< writer's processes that read by the C library what was put by PnetCDF, or on another node.
              ///< A step that the caller has closed is waited for
    growing,  ///< the same, or what is being written in memory or logs, with all that was put
    last,     ///< as `newest`, and first what is being written in memory or logs becomes a step
  };
  enum class Form : std::uint8_t {
    logs,   ///< of puts
    bytes,  ///< of the file that the step stands for, as the C library has it
  };
  /// What the group was offered. Of a read of bytes by a matcher: the step that its process has open.
  struct Taken {
    StepId step = 0;         ///< 0: it asks for a step
    std::uint64_t page = 0;  ///< of a read: the segment of the page
    bool operator==(const Taken&) const = default;
  };
  DatasetKey key = {};
  Member member = {};
  std::string path = {};  ///< absolute path of the file that the dataset stands for
  Purpose purpose = Purpose::read;
  Which which = Which::next;
  // Of a create:
  std::uint8_t version = 1;  ///< CDF version that the user requested; 0: not known before it is closed
  bool no_clobber = false;
  /// begins with the contents of the existing file; NC_EEXIST when a step exists by now
  bool is_import = false;
  bool goes_on = false;      ///< a file that is written by the C library: begins with what is there
  bool is_in_place = false;  ///< such a file, on the disk itself: others may write it, too
  // Of the others:
  /// the file exists: the writer component gets it, unless this run has made one. Of a removal: it is being
  /// written by the C library, whatever the registry knows of the name besides
  bool is_on_disk = false;
  /// write: the step whose logs these processes have written last, each with its present rank, and can
  /// continue; 0: there is none. All members send the same value. In a look at a stream: to open once more.
  StepId continues = 0;
  /// bytes: of a read, an image in one exchange; the step is open until the answer. Of a removal, also of
  /// what is being written at the matcher.
  Form wants = Form::logs;
  bool is_kept = false;  ///< a read of bytes: the step is open until the process closes it
  Taken taken = {};
  bool operator==(const Open&) const = default;

  [[nodiscard]] bool writes() const noexcept {
    return purpose == Purpose::create || purpose == Purpose::write;
  }
  [[nodiscard]] bool is_by_mere_reader() const noexcept {
    return purpose == Purpose::change || purpose == Purpose::hide;
  }
  /// A read that does not count as one.
  [[nodiscard]] bool is_look() const noexcept { return which != Which::next; }
  [[nodiscard]] bool wants_newest() const noexcept { return which >= Which::newest; }
};
using Purpose = Open::Purpose;

}  // namespace sluice::matcher
