#include "fetch_client.hpp"

#include <algorithm>
#include <utility>

#include "sluice/formats/error.hpp"

namespace sluice::runtime {

namespace {

/// Mirrored ranges of at least this size are separate runs, so that they can be sent without a copy. Smaller
/// ranges and packed data travel together.
constexpr std::uint64_t least_own_run_bytes = 65536;

}  // namespace

bool FetchClient::Fetching::has_come() const {
  return std::ranges::all_of(runs, [](const Run& run) { return run.landed_bytes == run.bytes; });
}

std::deque<FetchClient::Run> FetchClient::runs_of(std::span<const Part> parts) {
  std::deque<Run> runs;
  bool is_last_alone = true;
  for (const Part& part : parts) {
    const matcher::LogRange& range = part.range;
    const std::span<std::byte> memory = host_.inbound_memory(range.segment);
    if (memory.size() < range.segment_offset + range.length_bytes)
      throw Error(NC_EIO, "an inbound segment is missing");
    const bool is_alone = part.wanted->is_mirrored && range.length_bytes >= least_own_run_bytes;
    if (!runs.empty() && !is_alone && !is_last_alone) {
      Run& last = runs.back();
      const std::uint64_t begin = aligned_inbound(last.bytes);
      if (last.segment == range.segment && last.offset + begin == range.segment_offset &&
          begin + range.length_bytes <= PeerLink::max_data_piece_bytes) {
        last.bytes = begin + range.length_bytes;
        last.part_bytes += range.length_bytes;
        last.parts.push_back(part);
        continue;
      }
    }
    is_last_alone = is_alone;
    runs.push_back({.parts = {part},
                    .segment = range.segment,
                    .offset = range.segment_offset,
                    .bytes = range.length_bytes,
                    .part_bytes = range.length_bytes,
                    .memory = memory});
  }
  return runs;
}

void FetchClient::fetch(std::uint64_t step, matcher::MatcherPlace source, std::span<const Part> parts) {
  const std::uint64_t id = next_fetch_++;
  Fetching fetching;
  fetching.step = step;
  fetching.source = source;
  fetching.runs = runs_of(parts);
  fetches_.emplace(id, std::move(fetching));
  waiting_.push_back(id);
  start_fetches();
}

/// Starts as many fetches as are allowed, in the order of the requests, except for matchers that are busy.
void FetchClient::start_fetches() {
  for (auto next = waiting_.begin(); next != waiting_.end() && under_way_ < most_fetches;) {
    next = start_fetch(*next, fetches_.at(*next)) ? waiting_.erase(next) : std::next(next);
  }
}

bool FetchClient::start_fetch(std::uint64_t id, Fetching& fetching) {
  auto& channels = used_channels_[fetching.source];
  if (channels.all()) return false;
  while (channels.test(fetching.channel)) ++fetching.channel;
  channels.set(fetching.channel);
  fetching.is_started = true;
  ++under_way_;
  const std::uint32_t source = host_.rank_of(fetching.source);
  Fetch request{id, fetching.step, fetching.channel, {}};
  for (const Run& run : fetching.runs) {
    FetchRun& asked = request.runs.emplace_back();
    asked.bytes = run.bytes;
    for (const Part& part : run.parts)
      asked.parts.push_back(sent_specs_.ask(source, *part.wanted, fetching.form));
  }
  expect_more(id, fetching);
  send_message(host_, source, ExchangePacket::fetch, request);
  return true;
}

/// Names the places of the next pieces.
void FetchClient::expect_more(std::uint64_t id, Fetching& fetching) {
  while (fetching.expected_pieces < most_expected_pieces && fetching.next_run < fetching.runs.size()) {
    Run& run = fetching.runs[fetching.next_run];
    const std::size_t length =
        std::min<std::uint64_t>(run.bytes - run.expected_bytes, PeerLink::max_data_piece_bytes);
    const auto place = run.memory.subspan(run.offset + run.expected_bytes, length);
    run.expected_bytes += length;
    ++fetching.expected_pieces;
    const std::size_t number = fetching.next_run;
    if (run.expected_bytes == run.bytes) ++fetching.next_run;
    host_.expect_data(
        {host_.rank_of(fetching.source), fetching.channel}, place,
        [this, id, number, length](std::size_t bytes) { take_piece(id, number, length, bytes); });
  }
}

void FetchClient::take_piece(std::uint64_t id, std::size_t number, std::size_t expected_bytes,
                             std::size_t bytes) {
  Fetching& fetching = fetches_.at(id);
  --fetching.expected_pieces;
  expect_more(id, fetching);
  Run& run = fetching.runs[number];
  run.landed_bytes += expected_bytes;
  run.is_short = run.is_short || bytes != expected_bytes;
  if (run.landed_bytes == run.bytes && !run.is_short && !fetching.is_over) {
    landed_bytes_ += run.part_bytes;
    // may be erased while its gets are answered, and the fetch with it
    const std::uint64_t step = fetching.step;
    const std::vector<Part> parts = run.parts;
    for (const Part& part : parts) receiver_.land_part(step, part.id);
  }
  settle(id);
}

void FetchClient::take_failure(const FetchFailed& failure) {
  const auto found = fetches_.find(failure.id);
  if (found == fetches_.end()) return;
  found->second.failure = failure;
  if (!failure.outcome.is_failure())
    found->second.failure->outcome = {NC_EIO, "a matcher sent less data than it was asked for"};
  settle(failure.id);
}

/// Ends a fetch: all its pieces have arrived, and the reason for empty ones is known.
void FetchClient::settle(std::uint64_t id) {
  const auto found = fetches_.find(id);
  if (found == fetches_.end() || !found->second.is_started || !found->second.has_come()) return;
  const bool is_whole = std::ranges::none_of(found->second.runs, &Run::is_short);
  if (!is_whole && !found->second.is_over && !found->second.failure) return;
  Fetching done = std::move(found->second);
  fetches_.erase(found);
  --under_way_;
  used_channels_[done.source].reset(done.channel);
  const bool is_over = done.is_over;
  if (!is_whole && !is_over) {
    if (done.failure->is_unknown && done.form == SentSpecs::Form::shortest) {
      fetch_again(std::move(done));
    } else {
      fail(done);
    }
  }
  start_fetches();
  if (is_over) host_.on_release();
}

void FetchClient::fail(const Fetching& fetching) {
  for (const Run& run : fetching.runs) {
    if (!run.is_short) continue;
    for (const Part& part : run.parts) receiver_.fail_part(fetching.step, part.id, fetching.failure->outcome);
  }
}

/// Repeats the request with all copies: the other matcher has forgotten their names.
void FetchClient::fetch_again(Fetching fetching) {
  Fetching again;
  again.step = fetching.step;
  again.source = fetching.source;
  again.form = SentSpecs::Form::whole;
  for (Run& run : fetching.runs) {
    if (!run.is_short) continue;
    run.expected_bytes = run.landed_bytes = 0;
    run.is_short = false;
    again.runs.push_back(std::move(run));
  }
  const std::uint64_t id = next_fetch_++;
  fetches_.emplace(id, std::move(again));
  waiting_.push_front(id);
}

void FetchClient::forget(std::uint64_t step) {
  std::erase_if(waiting_, [&](std::uint64_t id) { return fetches_.at(id).step == step; });
  std::erase_if(fetches_,
                [&](const auto& entry) { return entry.second.step == step && !entry.second.is_started; });
  std::vector<std::uint64_t> under_way;
  for (auto& [id, fetching] : fetches_) {
    if (fetching.step != step || std::exchange(fetching.is_over, true)) continue;
    under_way.push_back(id);
    send_message(host_, host_.rank_of(fetching.source), ExchangePacket::fetch, Fetch{id, step, 0, {}});
  }
  for (const std::uint64_t id : under_way) settle(id);
}

bool FetchClient::is_receiving_into(matcher::SegmentId segment) const {
  return std::ranges::any_of(fetches_, [&](const auto& entry) {
    return entry.second.is_over && std::ranges::any_of(entry.second.runs, [&](const Run& run) {
             return run.segment == segment && run.landed_bytes < run.bytes;
           });
  });
}

}  // namespace sluice::runtime
