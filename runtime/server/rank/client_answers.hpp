#pragma once
#include <cstdint>

#include "gets.hpp"
#include "published_files.hpp"

namespace sluice::runtime {

/// Delivers the registry's answers to clients, and adds what this matcher knows.
class ClientAnswers {
 public:
  /// `shared`: null where this is the only matcher.
  ClientAnswers(GetParts parts, SharedGets* shared, PublishedFiles& published)
      : parts_(parts), shared_(shared), published_(published) {}

  /// Delivers the answer once the segment that it names is in the store.
  void take(Answer& answer);

 private:
  /// The answer to an open call.
  struct OpenAnswer {
    ClientId client = 0;
    std::uint32_t tag = 0;
    Opened opened;
  };
  static void note_open(Client& client, std::uint32_t tag, matcher::StepId step);
  void deliver(Answer& answer);
  void deliver(Client& client, std::uint32_t tag, Opened& opened);
  void deliver(Client& client, std::uint32_t tag, const Granted& granted);
  void deliver(Client& client, std::uint32_t tag, const ImageReady& image);
  void deliver(Client& client, std::uint32_t tag, const Done& done);
  void deliver(Client& client, std::uint32_t tag, const ErrorReply& error);
  void deliver(Client& client, std::uint32_t tag, const Listing& listing);
  void deliver(Client& client, std::uint32_t tag, const RunView& view);
  void deliver_copy(Client& client, std::uint32_t tag, const FileSource& source);
  void deliver_image(Client& client, std::uint32_t tag, const Opened& opened);
  void finish(OpenAnswer answer);
  void count_records_of(OpenAnswer answer);
  void tell(OpenAnswer answer, std::int64_t least_records);
  void add_known_ranges(const Client& client, const matcher::StepView& view, Opened& opened);

  GetParts parts_;
  SharedGets* shared_;
  PublishedFiles& published_;
};

/// The segment that has a new use from this answer on; 0: none.
[[nodiscard]] matcher::SegmentId segment_used_by(const Reply& reply) noexcept;

}  // namespace sluice::runtime
