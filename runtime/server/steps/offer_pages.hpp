#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sluice/matcher/registry_requests.hpp"
#include "sluice/runtime/offer_page.hpp"

namespace sluice::runtime {

/// A process of a group that gets offers.
struct OfferMember {
  matcher::ProcessId process{};  ///< this matcher's number of it
  std::uint64_t connection = 0;  ///< that it had at first
};

/// What pages of offers need of the matcher's memory and clients.
class OfferClients {
 public:
  virtual ~OfferClients() = default;
  struct PageMemory {
    std::span<std::byte> bytes;
    std::shared_ptr<const void> keeper;  ///< shared with the store of segments
  };
  /// Throws Error when the page cannot be mapped.
  [[nodiscard]] virtual PageMemory memory_of(matcher::SegmentId page) = 0;
  /// The process of the connection. Throws Error when it has ended.
  [[nodiscard]] virtual OfferMember member_of(std::uint64_t connection) = 0;
  /// Names the segment to the process, unless it knows it. Throws Error when that is not possible.
  virtual void introduce(const OfferMember& member, matcher::SegmentId segment) = 0;
  virtual void tell(const OfferMember& member, const OffersNotice& notice) = 0;
  /// The process has the step open.
  virtual void note_open(const OfferMember& member, matcher::StepId step) = 0;
  /// Handles the letter as a message that has no answer. Nothing, if the sender has ended.
  virtual void handle(const OfferMember& sender, OfferPage::Letter letter) = 0;
  /// The process has left damaged mail.
  virtual void hang_up(const OfferMember& sender, const std::string& reason) = 0;
};

/// The pages through which the registry offers steps, at a single matcher: docs/design/offered-steps.md.
class OfferPages {
 public:
  explicit OfferPages(OfferClients& clients) : clients_(clients) {}

  [[nodiscard]] static std::uint64_t bytes_for(const matcher::OfferedGroup& group) noexcept;
  /// Tells the processes of the group of their page. `connections`: one of each process, by rank. Returns
  /// false when they cannot be told.
  [[nodiscard]] bool begin(const matcher::OfferedGroup& group, const std::vector<std::uint64_t>& connections);
  // As matcher::OfferBoard.
  [[nodiscard]] bool offer(matcher::SegmentId page, std::uint32_t slot, const matcher::StepOffer& offer);
  [[nodiscard]] bool withdraw(matcher::SegmentId page, std::uint32_t slot, matcher::StepId step) noexcept;
  void clear(matcher::SegmentId page, std::uint32_t slot) noexcept;
  void end(matcher::SegmentId page) noexcept { pages_.erase(page); }

  /// Handles all mail, as if each letter were a message of its sender that comes now. Call it before anything
  /// that depends on what processes have done: then a process that was told of a file finds it.
  void take_mail();
  [[nodiscard]] bool is_delivering() const noexcept { return is_delivering_; }

 private:
  struct Page {
    OfferPage memory;
    std::shared_ptr<const void> keeper;           ///< of the memory
    std::vector<OfferMember> members;             ///< by rank
    std::vector<std::vector<std::size_t>> taken;  ///< bytes of mail that were handled, by slot and rank
  };
  struct Mail {
    OfferMember sender;
    OfferPage::Letter letter;
    std::vector<OfferMember> group;  ///< of create_offered
    matcher::StepId step = 0;
  };
  void collect(Page& page, std::uint32_t slot, matcher::StepId step, std::vector<Mail>& mail);
  void deliver(Mail& mail);

  OfferClients& clients_;
  std::map<matcher::SegmentId, Page> pages_;
  bool is_delivering_ = false;
};

}  // namespace sluice::runtime
