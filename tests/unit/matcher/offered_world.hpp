#pragma once
// A registry that offers steps and reads, and processes that take them.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sluice/matcher/registry.hpp"
#include "unit/matcher/registry_world.hpp"

namespace sluice::matcher::test {

/// Rank 0 takes the step, or the read at a page, that its group was offered.
inline void open_offered(Registry& registry, ProcessId process, SegmentId page, StepId step, Open open) {
  open.taken.page = page;
  open.taken.step = step;
  registry.open({}, process, std::move(open));
}

/// What processes would see. `taken`: steps whose offers rank 0 has taken, and the registry does not know it.
class Board final : public OfferBoard {
 public:
  struct Shown {
    StepId step = 0;
    SegmentId control = 0;
    std::vector<std::pair<SegmentId, SegmentId>> logs;
    std::vector<std::uint64_t> data_bytes;
  };
  using Place = std::pair<SegmentId, std::uint32_t>;

  std::uint64_t page_bytes(const OfferedGroup& group) const override {
    return kib * group.members.size() * group.slots;
  }
  bool begin(const OfferedGroup& group) override {
    if (is_deaf) return false;
    groups.push_back(group);
    return true;
  }
  bool offer(SegmentId page, std::uint32_t slot, const StepOffer& offer) override {
    if (is_deaf) return false;
    Shown& shown_here = shown[{page, slot}];
    is_overwritten = is_overwritten || shown_here.step != 0;
    shown_here = {offer.step, offer.control.id(), {}, {}};
    for (const StepOffer::Log& log : offer.logs) {
      shown_here.logs.push_back(
          {log.table.empty() ? 0 : log.table.id(), log.data.empty() ? 0 : log.data.id()});
      shown_here.data_bytes.push_back(log.data.empty() ? 0 : log.data.bytes());
    }
    return true;
  }
  bool withdraw(SegmentId page, std::uint32_t slot, StepId step) noexcept override {
    if (reads.contains({page, slot})) {
      if (taken_reads.contains({page, step})) return false;
      withdrawn_reads.insert(step);
      reads.erase({page, slot});
      return true;
    }
    if (taken.contains(step)) return false;
    withdrawn.insert(step);
    shown.erase({page, slot});
    return true;
  }
  void clear(SegmentId page, std::uint32_t slot) noexcept override {
    if (reads.erase({page, slot}) > 0) {
      ++cleared_reads;
      return;
    }
    ++cleared;
    shown.erase({page, slot});
  }
  bool is_used_up(SegmentId page) const noexcept override {
    return std::ranges::none_of(
        shown, [&](const auto& one) { return one.first.first == page && !taken.contains(one.second.step); });
  }
  void end(SegmentId page) noexcept override { ended.insert(page); }
  bool offer_read(SegmentId page, std::uint32_t slot, StepId step,
                  const std::vector<SegmentId>& data) override {
    if (is_deaf) return false;
    StepId& here = reads[{page, slot}];
    is_overwritten = is_overwritten || here != 0;
    here = step;
    data_of_read[step] = data;
    return true;
  }
  void make_loud(SegmentId page) noexcept override { loud.insert(page); }

  /// The offers that can be taken, the lowest step first.
  [[nodiscard]] std::vector<Shown> offers() const {
    std::vector<Shown> found;
    for (const auto& [place, offer] : shown)
      if (!used.contains(offer.step)) found.push_back(offer);
    std::ranges::sort(found, {}, &Shown::step);
    return found;
  }

  /// Whether the read of the step is offered, to any group.
  [[nodiscard]] bool is_read_offered(StepId step) const {
    return std::ranges::any_of(reads, [&](const auto& read) {
      return read.second == step && !taken_reads.contains({read.first.first, step});
    });
  }

  bool is_deaf = false;
  bool is_overwritten = false;
  std::vector<OfferedGroup> groups;
  std::map<Place, Shown> shown;
  std::set<StepId> withdrawn, taken, used;
  std::set<SegmentId> ended;
  int cleared = 0;
  std::map<Place, StepId> reads;
  std::map<StepId, std::vector<SegmentId>> data_of_read;
  std::set<std::pair<SegmentId, StepId>> taken_reads;  ///< by their groups
  std::set<StepId> withdrawn_reads;
  std::set<SegmentId> loud;
  int cleared_reads = 0;
};

struct Offered {
  explicit Offered(std::vector<FileRule> rules, std::uint64_t memory_bytes = 64 * mib)
      : world(std::move(rules), memory_bytes, 0, {}, 1, {}, {}, 10'000, 200'000, &board) {}

  /// Writes a step by messages. Each process puts so many bytes.
  StepId write(const std::vector<ProcessId>& p, const std::string& name, std::uint64_t bytes,
               std::uint64_t structure = 1) {
    const auto size = static_cast<std::uint32_t>(p.size());
    const std::uint64_t group = ++world.next_group;
    StepId step = 0;
    for (std::uint32_t rank = 0; rank < size; ++rank)
      step = world.answer(world.create(p[rank], name, world.member(group, rank, size))).step;
    put_and_publish(p, step, bytes, structure);
    return step;
  }
  void put_and_publish(const std::vector<ProcessId>& p, StepId step, std::uint64_t bytes,
                       std::uint64_t structure = 1) {
    header(p, step, structure);
    for (const ProcessId process : p) {
      const auto data = world.answer(world.need(process, step, bytes)).segment;
      publish(process, step, bytes, data);
    }
  }
  void header(const std::vector<ProcessId>& p, StepId step, std::uint64_t structure = 1) {
    world.ask([&](const Ticket& t) {
      world.registry.set_header(t, p[0], {step, std::vector<std::byte>(100), {structure, structure}});
    });
  }
  void publish(ProcessId process, StepId step, std::uint64_t bytes, SegmentId data) {
    PublishRequest request{step, 0, {}};
    if (bytes > 0) request.ranges = {{0, 0, bytes, data, 0}};
    request.position = {0, 0, 0};
    world.registry.close(process, {std::move(request)});
  }
  /// Rank 0 takes the first offer. Returns it.
  Board::Shown take(const std::vector<ProcessId>& p, const std::string& name) {
    const auto offers = board.offers();
    REQUIRE(!offers.empty());
    const Board::Shown offer = offers.front();
    board.taken.insert(offer.step);
    board.used.insert(offer.step);
    open_offered(world.registry, p[0], 0, offer.step, create_request(p, name));
    return offer;
  }
  Open create_request(const std::vector<ProcessId>& p, const std::string& name) {
    return {{world.rule, name},
            world.member(++world.next_group, 0, static_cast<std::uint32_t>(p.size())),
            "/files/" + name,
            Purpose::create,
            {},
            5};
  }
  /// Writes a step by an offer, with what was offered.
  StepId write_offered(const std::vector<ProcessId>& p, const std::string& name, std::uint64_t bytes) {
    const Board::Shown offer = take(p, name);
    header(p, offer.step);
    for (std::size_t rank = 0; rank < p.size(); ++rank)
      publish(p[rank], offer.step, bytes, offer.logs[rank].second);
    return offer.step;
  }
  int refused_create(ProcessId process, StepId step, const Open& request) {
    try {
      open_offered(world.registry, process, 0, step, request);
    } catch (const Error& error) {
      return error.status();
    }
    return NC_NOERR;
  }

  Board board;
  World world;
};

}  // namespace sluice::matcher::test
