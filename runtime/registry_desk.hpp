#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "relay_protocol.hpp"
#include "sluice/matcher/registry.hpp"
#include "sluice/runtime/node_map.hpp"

namespace sluice::runtime {

/// The registry behind a desk: takes what the matchers pass on from their processes, in the order in which it
/// comes, and sends them its answers and what to do with memory. At matcher 0 only.
class RegistryDesk final : private matcher::RegistryAnswers, private matcher::SegmentMemory {
 public:
  struct Environment {
    const NodeMap* nodes = nullptr;  ///< outlives the desk
    /// To `item.matcher`. For that of this rank it is carried out at once, and may throw Error when a segment
    /// cannot be made.
    std::function<void(RelayItem item)> send;
    std::function<void(const std::string& text)> event;   ///< a line for the event log
    std::function<void(const std::string& text)> detail;  ///< one that few want to see
    /// Whether a segment of this matcher goes only when what is under way has landed in it.
    std::function<bool(matcher::SegmentId segment)> is_held = {};
  };

  RegistryDesk(CoordinatorHello hello, Environment environment);

  void take(const RelayItem& item);
  /// Every process of the component has ended, and what they sent has been taken.
  void component_exited(const ComponentExited& exit);
  /// Tells of waits that look hopeless, ahead of a status.
  void look_again();
  [[nodiscard]] StatusReport status() const;
  /// Ahead of the end of the run.
  void keep_unfinished_logs() { registry_.keep_unfinished_logs(); }

 private:
  /// Where a connection is: at which matcher, and its number there.
  struct ConnectionId {
    std::uint32_t matcher = 0;
    std::uint64_t connection = 0;
    auto operator<=>(const ConnectionId&) const = default;
  };
  struct Connection {
    matcher::ProcessId process{};
    std::string component;
  };

  void take_item(const RelayItem& item);
  void take_request(const RelayItem& item);
  void greet(const RelayItem& item);
  void dispatch(const RelayItem& item, const Connection& connection);
  void take_close(const RelayItem& item, matcher::ProcessId process);
  void end_connection(const ConnectionId& id);
  void take_get_wait(const RelayItem& item);
  void answer_view_query(const RelayItem& item);
  void take_lease_query(const RelayItem& item);
  void take_lease_joined(const RelayItem& item);
  [[nodiscard]] std::optional<matcher::LandingReader> reader_of(const RelayItem& item) const;
  void tell_news();
  void tell_published();
  void order_looks();
  // desk_drains.cpp
  void order_drains();
  void order_drain(const matcher::Step& step);
  [[nodiscard]] std::vector<std::uint32_t> drainers_of(const matcher::Step& step) const;
  void take_drain_item(const RelayItem& item);
  void go_on_with_drain();
  [[nodiscard]] const matcher::Step& step_of_query(const RelayItem& item);
  [[nodiscard]] bool is_writer(const matcher::Ticket& ticket, const matcher::Step& step) const;
  void tell_view(std::uint32_t to, std::uint32_t tag, const matcher::Step& step);
  void answer(const matcher::Ticket& ticket, MessageType type, std::vector<std::byte> fields,
              matcher::SegmentId introduced = 0);

  // Of the registry.
  void created(const matcher::Ticket& ticket, const matcher::Step& step) override;
  void opened(const matcher::Ticket& ticket, const matcher::Step& step) override;
  void opened_file(const matcher::Ticket& ticket, const std::string& path) override;
  void described(const matcher::Ticket& ticket, std::uint8_t version) override;
  void granted(const matcher::Ticket& ticket, const matcher::SegmentLease& segment) override;
  void room(const matcher::Ticket& ticket, std::uint64_t given_back) override;
  void leased(const matcher::Ticket& ticket, const matcher::SegmentLease& segment) override;
  void lease_refused(const matcher::Ticket& ticket, int status, const std::string& text) override;
  void done(const matcher::Ticket& ticket) override;
  void refused(const matcher::Ticket& ticket, int status, const std::string& text) override;
  void published(const matcher::Step& step) override { published_.push_back(step.id); }
  void drain(const matcher::Step& step) override { drains_.push_back(step.id); }
  void look(const matcher::LookRequest& request) override { looks_.push_back(request); }
  void erased(matcher::StepId step) override;
  void event(const std::string& text) override { environment_.event(text); }
  void detail(const std::string& text) override {
    environment_.detail ? environment_.detail(text) : environment_.event(text);
  }

  // Memory, which is that of the matchers.
  void create(matcher::SegmentId segment, std::uint64_t bytes) override;
  [[nodiscard]] bool create_spilled(matcher::SegmentId segment, std::uint64_t bytes) override;
  void drop_warm(matcher::MatcherPlace matcher) noexcept override;
  void create_logged(matcher::SegmentId segment, std::uint64_t bytes,
                     const matcher::LogPlace& place) override;
  void keep_log(matcher::SegmentId segment, bool is_kept) noexcept override;
  void clear(matcher::SegmentId segment, matcher::SegmentUse use) override;
  bool destroy(matcher::SegmentId segment) noexcept override;
  [[nodiscard]] std::span<const std::byte> contents(matcher::SegmentId segment) override;
  void mark_gone(matcher::SegmentId control, std::uint32_t rank) noexcept override;
  void command(RelayItemKind kind, matcher::SegmentId segment, std::uint64_t bytes);

  Environment environment_;
  /// What each matcher has been told of a step: the revisions.
  struct Told {
    std::uint64_t revision = 0;
    std::uint64_t header_revision = 0;
  };
  std::map<matcher::StepId, std::map<std::uint32_t, Told>> told_;
  std::vector<matcher::StepId> published_;   ///< of these nobody was told yet
  std::vector<matcher::StepId> drains_;      ///< likewise
  std::vector<matcher::LookRequest> looks_;  ///< likewise
  std::vector<matcher::FileRule> rules_;
  /// The drain that is under way, by several matchers.
  struct SharedDrain {
    enum class Stage { preparing, writing, finishing } stage = Stage::preparing;
    matcher::StepId step = 0;
    std::vector<std::uint32_t> drainers;
    std::size_t missing = 0;  ///< that have not told yet
    DrainTables tables;
    DrainReport outcome;                                    ///< the first failure
    std::map<std::uint32_t, matcher::DrainProgress> parts;  ///< by matcher
  };
  SharedDrain drain_;
  /// By rule: the nodes to which data of its last steps was brought.
  std::map<std::uint32_t, std::set<std::uint32_t>> fetched_by_;
  std::map<ConnectionId, Connection> connections_;
  std::map<std::uint32_t, MatcherStatus> counters_;  ///< by rank
  bool is_ending_ = false;                           ///< nobody is there to be told any more
  matcher::Registry registry_;                       ///< last: its end still tells what it erases

 public:
  ~RegistryDesk() override { is_ending_ = true; }
  RegistryDesk(const RegistryDesk&) = delete;
  RegistryDesk& operator=(const RegistryDesk&) = delete;
};

}  // namespace sluice::runtime
