#pragma once
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "image_session.hpp"
#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::files {

/// The steps of streams that this process reads at present. A program may open a file several times to read
/// it once: netCDF looks at its first bytes before. So a process stays with a step until it comes back to a
/// call that has opened this step already: docs/steps.md, "Programs that read by the C library".
///
/// Only the last names that were opened keep their images, within the limits of ImageSession: each image
/// holds memory of the run and a descriptor. An older step is found as long as the program has it open;
/// otherwise it is opened once more by its number.
class StreamVisits {
 public:
  /// The present step for an open by the call at `site`; without an image, which was given up, it has to be
  /// opened once more by its number (0: that is not known). Nothing: the call goes on to the next step.
  /// Throws Error(NC_ENFILE): no descriptor is left for it.
  [[nodiscard]] std::optional<FoundImage> open(const std::string& file, const void* site);
  /// The present step for who asks for facts, if the program has it open, or may open it again:
  /// CDO opens a file, asks for facts, and opens it for good. Nothing: the question is about the next step.
  /// It is where the program has asked twice since, and where it has once asked before it went on to a step.
  /// Throws Error(NC_ENFILE): no descriptor is left for it.
  [[nodiscard]] std::optional<FoundImage> look(const std::string& file);
  /// The call at `site` has opened the next step.
  void begin(const std::string& file, const void* site, const FoundImage& found);
  /// The present step has been opened once more.
  void renew(const std::string& file, const FoundImage& found);

 private:
  struct Visit {
    HiddenDescriptor image;  ///< empty: given up
    FileIdentity identity;
    std::uint64_t step = 0;
    std::uint64_t bytes = 0;
    std::vector<const void*> sites;
  };
  struct Looks {
    bool has_looked = false;  ///< while the file was not open, since its last open
    bool is_ahead = false;    ///< the program looks before it goes on to a step
  };
  [[nodiscard]] FoundImage present_of(const Visit& visit) const;
  void keep_image(const std::string& file, Visit& visit, const FoundImage& found);
  [[nodiscard]] int number_of(const Visit& visit) const;
  [[nodiscard]] bool is_open(const Visit& visit) const;
  void give_up_images(std::uint64_t bytes);

  std::mutex mutex_;
  std::map<std::string, Visit> visits_;
  std::vector<std::string> with_image_;  ///< names of visits, the newest last
  std::map<std::string, Looks> looks_;
};

}  // namespace sluice::files
