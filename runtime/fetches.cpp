// How parts come from other nodes: straight into the segments that were leased for them.
#include <algorithm>
#include <utility>

#include "node_exchange_state.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::runtime {

namespace {

/// Mirrored ranges from this size on are runs of their own, so that they can be sent from where they are;
/// smaller ones, and what is packed in any case, travel together.
constexpr std::uint64_t least_own_run_bytes = 65536;

}  // namespace

bool NodeExchange::Fetching::has_come() const {
  return std::ranges::all_of(runs, [](const Run& run) { return run.landed_bytes == run.bytes; });
}

NodeExchange::Fetching NodeExchange::fetching_of(Step& step, matcher::MatcherPlace source,
                                                 const std::vector<Landing::PartId>& parts) {
  Fetching fetching;
  fetching.step = step.id;
  fetching.source = source;
  bool is_last_alone = true;
  for (const Landing::PartId id : parts) {
    const LandingPart& part = *step.landing.find(id);
    const matcher::LogRange& range = part.ranges.front();
    const std::span<std::byte> memory = environment_.landing_memory(range.segment);
    if (memory.size() < range.segment_offset + range.length_bytes)
      throw Error(NC_EIO, "a landing segment is not there");
    const bool is_alone = part.wanted->is_mirrored && range.length_bytes >= least_own_run_bytes;
    if (!fetching.runs.empty() && !is_alone && !is_last_alone) {
      Fetching::Run& last = fetching.runs.back();
      const std::uint64_t begin = aligned_landing(last.bytes);
      if (last.segment == range.segment && last.offset + begin == range.segment_offset &&
          begin + range.length_bytes <= PeerLink::max_data_piece_bytes) {
        last.bytes = begin + range.length_bytes;
        last.part_bytes += range.length_bytes;
        last.parts.push_back(id);
        continue;
      }
    }
    is_last_alone = is_alone;
    fetching.runs.push_back({.parts = {id},
                             .segment = range.segment,
                             .offset = range.segment_offset,
                             .bytes = range.length_bytes,
                             .part_bytes = range.length_bytes,
                             .memory = memory});
  }
  return fetching;
}

void NodeExchange::fetch_parts(Step& step, matcher::MatcherPlace source,
                               const std::vector<Landing::PartId>& parts) {
  const std::uint64_t id = next_fetch_++;
  fetching_.emplace(id, fetching_of(step, source, parts));
  waiting_fetches_.push_back(id);
  start_fetches();
}

/// As many as may be under way, in the order in which they were wanted, but for those of matchers that are
/// busy.
void NodeExchange::start_fetches() {
  for (auto next = waiting_fetches_.begin();
       next != waiting_fetches_.end() && fetches_under_way_ < most_fetches;) {
    next = start_fetch(*next, fetching_.at(*next)) ? waiting_fetches_.erase(next) : std::next(next);
  }
}

bool NodeExchange::start_fetch(std::uint64_t id, Fetching& fetching) {
  auto& channels = used_channels_[fetching.source];
  if (channels.all()) return false;
  while (channels.test(fetching.channel)) ++fetching.channel;
  channels.set(fetching.channel);
  fetching.is_started = true;
  ++fetches_under_way_;
  Step& step = *steps_.at(fetching.step);
  const std::uint32_t source = environment_.rank_of(fetching.source);
  Fetch request{id, fetching.step, fetching.channel, {}};
  for (const Fetching::Run& run : fetching.runs) {
    FetchRun& asked = request.runs.emplace_back();
    asked.bytes = run.bytes;
    for (const Landing::PartId part : run.parts)
      asked.parts.push_back(told_parts_.ask(source, *step.landing.find(part)->wanted, fetching.form));
  }
  expect_more(id, fetching);
  environment_.send(source, packet_of(ExchangePacket::fetch, request));
  return true;
}

/// Names the places of the next pieces.
void NodeExchange::expect_more(std::uint64_t id, Fetching& fetching) {
  while (fetching.expected_pieces < most_expected_pieces && fetching.next_run < fetching.runs.size()) {
    Fetching::Run& run = fetching.runs[fetching.next_run];
    const std::size_t length =
        std::min<std::uint64_t>(run.bytes - run.expected_bytes, PeerLink::max_data_piece_bytes);
    const auto place = run.memory.subspan(run.offset + run.expected_bytes, length);
    run.expected_bytes += length;
    ++fetching.expected_pieces;
    const std::size_t number = fetching.next_run;
    if (run.expected_bytes == run.bytes) ++fetching.next_run;
    environment_.expect_data(
        {environment_.rank_of(fetching.source), fetching.channel}, place,
        [this, id, number, length](std::size_t bytes) { take_piece(id, number, length, bytes); });
  }
}

void NodeExchange::take_piece(std::uint64_t id, std::size_t number, std::size_t expected_bytes,
                              std::size_t bytes) {
  Fetching& fetching = fetching_.at(id);
  --fetching.expected_pieces;
  expect_more(id, fetching);
  Fetching::Run& run = fetching.runs[number];
  run.landed_bytes += expected_bytes;
  run.is_short = run.is_short || bytes != expected_bytes;
  if (run.landed_bytes == run.bytes && !run.is_short && !fetching.is_over) {
    landed_bytes_ += run.part_bytes;
    const std::uint64_t step = fetching.step;  // which may go while its gets are told, and the fetch with it
    const std::vector<Landing::PartId> parts = run.parts;
    for (const Landing::PartId part : parts) land_part(step, part);
  }
  settle(id);
}

void NodeExchange::take_failure(const FetchFailed& failure) {
  const auto found = fetching_.find(failure.id);
  if (found == fetching_.end()) return;
  found->second.failure = failure;
  if (!failure.outcome.is_failure())
    found->second.failure->outcome = {NC_EIO, "a matcher sent less data than was asked for"};
  settle(failure.id);
}

/// The end of a fetch: all of its pieces have come, and it is known why where some are empty.
void NodeExchange::settle(std::uint64_t id) {
  const auto found = fetching_.find(id);
  if (found == fetching_.end() || !found->second.is_started || !found->second.has_come()) return;
  const bool is_whole = std::ranges::none_of(found->second.runs, &Fetching::Run::is_short);
  if (!is_whole && !found->second.is_over && !found->second.failure) return;
  Fetching done = std::move(found->second);
  fetching_.erase(found);
  --fetches_under_way_;
  used_channels_[done.source].reset(done.channel);
  const bool is_over = done.is_over;
  if (!is_whole && !is_over) {
    if (done.failure->is_unknown && done.form == ToldParts::Form::shortest) {
      fetch_again(std::move(done));
    } else {
      fail(done);
    }
  }
  start_fetches();
  if (is_over && environment_.on_release) environment_.on_release();
}

void NodeExchange::fail(const Fetching& fetching) {
  for (const Fetching::Run& run : fetching.runs) {
    if (!run.is_short) continue;
    for (const Landing::PartId part : run.parts) {
      const auto step = steps_.find(fetching.step);  // may go while its gets are told
      if (step != steps_.end()) fail_part(*step->second, part, fetching.failure->outcome);
    }
  }
}

/// With all copies: the other matcher has forgotten what they are called.
void NodeExchange::fetch_again(Fetching fetching) {
  Fetching again;
  again.step = fetching.step;
  again.source = fetching.source;
  again.form = ToldParts::Form::whole;
  for (Fetching::Run& run : fetching.runs) {
    if (!run.is_short) continue;
    run.expected_bytes = run.landed_bytes = 0;
    run.is_short = false;
    again.runs.push_back(std::move(run));
  }
  const std::uint64_t id = next_fetch_++;
  fetching_.emplace(id, std::move(again));
  waiting_fetches_.push_front(id);
}

/// What is under way still comes, into memory that is given to nobody else until then.
void NodeExchange::end_fetches_of(std::uint64_t step) {
  std::erase_if(waiting_fetches_, [&](std::uint64_t id) { return fetching_.at(id).step == step; });
  std::erase_if(fetching_,
                [&](const auto& entry) { return entry.second.step == step && !entry.second.is_started; });
  std::vector<std::uint64_t> under_way;
  for (auto& [id, fetching] : fetching_) {
    if (fetching.step != step || std::exchange(fetching.is_over, true)) continue;
    under_way.push_back(id);
    environment_.send(environment_.rank_of(fetching.source),
                      packet_of(ExchangePacket::fetch_over, FetchOver{id}));
  }
  for (const std::uint64_t id : under_way) settle(id);
}

bool NodeExchange::is_receiving_into(matcher::SegmentId segment) const {
  return std::ranges::any_of(fetching_, [&](const auto& entry) {
    return entry.second.is_over && std::ranges::any_of(entry.second.runs, [&](const Fetching::Run& run) {
             return run.segment == segment && run.landed_bytes < run.bytes;
           });
  });
}

}  // namespace sluice::runtime
