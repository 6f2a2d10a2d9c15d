#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
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
  /// The process does not read what it is told.
  [[nodiscard]] virtual bool is_behind(const OfferMember& member) = 0;
  virtual void tell(const OfferMember& member, const OffersNotice& notice) = 0;
  /// The process has the step open.
  virtual void note_open(const OfferMember& member, matcher::StepId step) = 0;
  /// Looks which messages are in the sockets by now.
  virtual void look_for_messages() = 0;
  /// Of these, handles the earliest one, if it was sent before the time. Returns false when there is none.
  [[nodiscard]] virtual bool handle_earlier(std::uint64_t time) = 0;
  /// Calls take_mail() when what goes on now is over.
  virtual void take_mail_later() = 0;
  /// Handles the letter as a message that has no answer. Nothing, if the sender has ended.
  virtual void handle(const OfferMember& sender, OfferPage::Letter letter) = 0;
  /// The process has left damaged mail.
  virtual void hang_up(const OfferMember& sender, const std::string& reason) = 0;
};

/// The pages through which the registry offers steps, at a single matcher: docs/design/offers.md.
class OfferPages final : public matcher::OfferBoard {
 public:
  /// A connection of a process of the registry's number; empty: it has none here.
  using ConnectionOf = std::function<std::optional<std::uint64_t>(matcher::ProcessId)>;

  explicit OfferPages(OfferClients& clients) : clients_(clients) {}
  /// Before the first begin().
  void find_connections_by(ConnectionOf connection_of) { connection_of_ = std::move(connection_of); }

  [[nodiscard]] std::uint64_t page_bytes(const matcher::OfferedGroup& group) const override;
  [[nodiscard]] bool begin(const matcher::OfferedGroup& group) override;
  [[nodiscard]] bool offer(matcher::SegmentId page, std::uint32_t slot,
                           const matcher::StepOffer& offer) override;
  [[nodiscard]] bool offer_read(matcher::SegmentId page, std::uint32_t slot, matcher::StepId step,
                                const std::vector<matcher::SegmentId>& data) override;
  [[nodiscard]] bool withdraw(matcher::SegmentId page, std::uint32_t slot,
                              matcher::StepId step) noexcept override;
  void clear(matcher::SegmentId page, std::uint32_t slot) noexcept override;
  [[nodiscard]] bool is_used_up(matcher::SegmentId page) const noexcept override;
  void end(matcher::SegmentId page) noexcept override { pages_.erase(page); }
  void make_loud(matcher::SegmentId page) noexcept override;

  /// Whether nobody waits for news of the pages. When somebody begins to wait, what was left before is found
  /// soon.
  void set_quiet(bool is_quiet);

  /// Handles all letters that were posted until then, in the order of their times, each as a message of its
  /// sender, and before each letter all messages that were sent before it. Call this before anything that
  /// depends on what processes have done.
  void take_mail(std::uint64_t until);

 private:
  struct Page {
    OfferPage memory;
    std::shared_ptr<const void> keeper;           ///< of the memory
    std::vector<OfferMember> members;             ///< by rank
    std::vector<std::vector<std::size_t>> taken;  ///< bytes of mail that were handled, by slot and rank
    bool is_loud = false;                         ///< for good
  };
  struct Mail {
    OfferMember sender;
    OfferPage::Letter letter;
    std::vector<OfferMember> group;  ///< of an open
    matcher::StepId step = 0;
  };
  [[nodiscard]] bool collect(Page& page, std::uint32_t slot, matcher::StepId step, std::uint64_t until);
  void deliver(Mail& mail);

  OfferClients& clients_;
  ConnectionOf connection_of_;
  std::map<matcher::SegmentId, Page> pages_;
  /// Letters by time that were found, and are not handled yet. A message that is handled before one of them
  /// may lead to take_mail() again.
  std::multimap<std::uint64_t, Mail> found_;
  bool is_quiet_ = false;
};

}  // namespace sluice::runtime
