#pragma once
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "gets.hpp"
#include "offer_pages.hpp"
#include "sluice/runtime/send_time.hpp"
#include "written_files.hpp"

namespace sluice::runtime {

/// Handles the requests of client processes: answers some, and passes the others to the registry.
class ClientRequests final : public ClientHandler, private OfferClients {
 public:
  /// `is_ready`: whether the registry accepts processes yet.
  ClientRequests(GetParts parts, Gets& gets, WrittenFiles& written, std::function<bool()> is_ready)
      : parts_(parts),
        gets_(gets),
        written_(written),
        is_ready_(std::move(is_ready)),
        mail_timer_(parts.base.loop) {}

  void handle(Client& client, ReceivedMessage& message) override;
  void take_mail() override { offers_.take_mail(shared_clock()); }
  void ended(ClientId client, matcher::ProcessId process, EndKind kind) override;

  /// The pages of offers of this matcher's clients.
  [[nodiscard]] OfferPages& offers() noexcept { return offers_; }
  /// The number of messages so far, without mail.
  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

 private:
  void handle_one(Client& client, ReceivedMessage& message);
  void greet(Client& client, std::uint32_t tag, const Hello& hello);
  void take_notice(const Client& client, const PutNotice& notice);
  void take_notice(const Client& client, const LogNotice& notice);
  void take_batch(ClientId sender, Batch batch);
  void pass_on(Client& client, std::uint32_t tag, RegistryRequest request);
  void open(Client& client, std::uint32_t tag, Open open);
  void begin_image(Client& client, std::uint32_t tag, const Open& open);
  void list(Client& client, std::uint32_t tag, ListRequest request);
  void note_close(Client& client, Close& close);

  // OfferClients
  [[nodiscard]] PageMemory memory_of(matcher::SegmentId page) override;
  [[nodiscard]] OfferMember member_of(std::uint64_t connection) override;
  void introduce(const OfferMember& member, matcher::SegmentId segment) override;
  bool is_behind(const OfferMember& member) override;
  void tell(const OfferMember& member, const OffersNotice& notice) override;
  void note_open(const OfferMember& member, matcher::StepId step) override;
  void look_for_messages() override { parts_.clients.look_for_messages(); }
  bool handle_earlier(std::uint64_t time) override { return parts_.clients.handle_earlier(time); }
  void take_mail_later() override;
  void take_mail_now_and_then();
  void handle(const OfferMember& sender, OfferPage::Letter letter) override;
  void hang_up(const OfferMember& sender, const std::string& reason) override;
  [[nodiscard]] Client* client_of(const OfferMember& member);

  GetParts parts_;
  Gets& gets_;
  WrittenFiles& written_;
  OfferPages offers_{*this};
  const std::function<bool()> is_ready_;
  std::uint64_t count_ = 0;
  boost::asio::steady_timer mail_timer_;
  bool is_looking_ = false;  ///< for mail, now and then
};

}  // namespace sluice::runtime
