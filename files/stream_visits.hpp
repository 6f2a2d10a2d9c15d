#pragma once
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "image_session.hpp"
#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::files {

/// The steps of streams that this process reads at present. A program may open a file several times to read
/// it once: netCDF looks at its first bytes before. So a process stays with a step until it comes back to a
/// call that has opened this step already: docs/steps.md, "Programs that read by the C library".
class StreamVisits {
 public:
  /// The image of the present step for an open by the call at `site`. Empty: the call goes on to the next
  /// step.
  [[nodiscard]] runtime::FileDescriptor open(const std::string& file, const void* site);
  /// The image of the present step for who asks for facts, if the program has it open, or may open it again:
  /// CDO opens a file, asks for facts, and opens it for good. Empty: the question is about the next step. It
  /// is where the program has asked twice since, and where it has once asked before it went on to a step.
  [[nodiscard]] runtime::FileDescriptor look(const std::string& file);
  /// The call at `site` has opened the next step.
  void begin(const std::string& file, const void* site, const runtime::FileDescriptor& image);

 private:
  struct Visit {
    std::string file;
    HiddenDescriptor image;
    std::vector<const void*> sites;
  };
  struct Looks {
    bool has_looked = false;  ///< while the file was not open, since its last open
    bool is_ahead = false;    ///< the program looks before it goes on to a step
  };
  [[nodiscard]] Visit* find(const std::string& file);

  std::mutex mutex_;
  std::vector<Visit> visits_;
  std::map<std::string, Looks> looks_;
};

}  // namespace sluice::files
