#include "offer_maker.hpp"

#include <algorithm>
#include <utility>

#include "registry_parts.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::matcher {

namespace {
// A run with more kinds of groups has the others go by messages.
constexpr std::size_t most_pages = 64, most_groups = 256;
// The registry's turn takes a fifth of a step of 8 MiB: it should be woken only once for a few steps.
constexpr std::size_t offers_at_a_time = 3, small_offers_at_a_time = 5, most_offers_at_a_time = 64;
constexpr std::uint64_t small_step_bytes = std::uint64_t{12} << 20;
// To writers that have run out of offers. Fewer buffers are warmer ones.
constexpr std::uint64_t most_offered_bytes = std::uint64_t{64} << 20;
// Readers may be so far behind, where a page takes a small part of the memory.
constexpr std::uint32_t least_slots = 8, most_slots = 512, pages_in_half = 32;
constexpr std::uint64_t largest_data_bytes = std::uint64_t{1} << 28;  // as in runtime's WriteLog
}  // namespace

void OfferMaker::note_written(const Step& step, const Group& group) {
  if (!parts_.offers.offers_steps() || !may_have_offers(step, group)) return;
  const auto key = key_of(group);
  if (!key) return;
  const auto kind = kind_of(step);
  OfferBook::Page* page = parts_.offers.find(key->rule, key->members);
  const auto last = last_.find(*key);
  const bool is_alike = kind && last != last_.end() && last->second == *kind;
  if (!is_alike) {
    if (page != nullptr) (void)parts_.offers.withdraw(*page);
    if (last_.size() >= most_groups) last_.clear();
    if (kind) last_.insert_or_assign(*key, *kind);
    if (!kind) last_.erase(*key);
    return;
  }
  if (page == nullptr) page = begin_page(*key, step.header.size());
  if (page != nullptr && page->ended.empty()) fill(*page, *kind);
}

void OfferMaker::end_process(ProcessId process) {
  const auto concerns = [&](const auto& entry) {
    return std::ranges::find(entry.first.members, process) != entry.first.members.end();
  };
  std::erase_if(last_, concerns);
  std::erase_if(last_read_, concerns);
}

void OfferMaker::note_read(const Step& step, const Group& group) {
  if (!parts_.offers.offers_steps() || group.is_offered || !may_have_reads(step, group)) return;
  const auto key = key_of(group);
  const OfferBook::Page* const written = parts_.offers.find(step.offered_by);
  if (!key || written == nullptr) return;
  const auto last = last_read_.find(*key);
  const bool is_alike = last != last_read_.end() && last->second == step.offered_by;
  if (!is_alike) {
    if (last_read_.size() >= most_groups) last_read_.clear();
    last_read_.insert_or_assign(*key, step.offered_by);
    return;
  }
  if (parts_.reads.find(step.offered_by, key->members) != nullptr || parts_.reads.pages() >= most_pages)
    return;
  OfferedGroup readers{0, key->rule, key->members, 0, 0, written->slots};
  const std::uint64_t bytes = parts_.offers.page_bytes(readers);
  const Process& first = parts_.processes.processes().at(key->members.front());
  if (!parts_.memory.is_plenty(first.place.node, bytes)) return;
  if (auto memory = take(first.id, SegmentUse::control, bytes))
    parts_.reads.begin(std::move(readers), std::move(*memory), written->memory);
}

/// Whether reads of the rule may be offered, and publications start no job.
bool OfferMaker::is_plain(std::uint32_t number) const {
  const FileRule& rule = parts_.rules.at(number);
  return rule.may_offer_reads() && std::ranges::none_of(rule.readers, [&](const std::string& reader) {
           return parts_.jobs.find(reader) != nullptr;
         });
}

bool OfferMaker::may_have_reads(const Step& step, const Group& group) const {
  return is_plain(step.key.rule) && step.offered_by != 0 && group.purpose == Purpose::read &&
         group.component->name != parts_.rules.of(step.key).writer && !group.component->is_attached() &&
         !group.is_look() && !group.member.spans_nodes && group.member.size <= OfferBoard::most_ranks &&
         group.has_all_arrived() && step.state == StepState::published && !step.is_cut;
}

bool OfferMaker::may_have_offers(const Step& step, const Group& group) const {
  return parts_.rules.of(step.key).may_offer_steps() && group.purpose == Purpose::create &&
         !group.is_import && !group.member.spans_nodes && group.member.size <= OfferBoard::most_ranks &&
         group.has_all_arrived() && step.state == StepState::published && !step.is_cut && step.version != 0;
}

/// Empty when not all of its processes can go on.
std::optional<OfferMaker::GroupKey> OfferMaker::key_of(const Group& group) const {
  GroupKey key{group.key.rule, {}};
  for (const auto& [rank, member] : group.members) {
    const Process* const process = parts_.processes.processes().find(member.process);
    const bool may_go_on = process != nullptr && !member.has_died && process->files == 0 &&
                           std::ranges::find(key.members, member.process) == key.members.end();
    if (!may_go_on) return std::nullopt;
    key.members.push_back(member.process);
  }
  return key;
}

/// Empty when its next step will not fit in one segment for each use, or has very many processes.
std::optional<OfferMaker::Kind> OfferMaker::kind_of(const Step& step) {
  if (step.packed) return std::nullopt;
  Kind kind{step.structure, {}};
  for (std::size_t i = step.first_own_log; i < step.logs.size(); ++i) {
    const WriteLog& log = *step.logs[i];
    const TablePosition& end = log.contents->end;
    const LogRanges& ranges = log.contents->ranges;
    if (!log.burst_log->empty() || end.chunks > log.tables.size()) return std::nullopt;
    Kind::Log sizes;
    for (std::size_t chunk = 0; chunk + 1 < end.chunks; ++chunk)
      sizes.table_bytes += log.tables[chunk]->bytes();
    if (end.chunks > 0) sizes.table_bytes += sizeof(std::uint64_t) + end.bytes;
    if (!ranges.empty()) sizes.data_bytes = ranges.back().log_offset + ranges.back().length_bytes;
    if (sizes.data_bytes > largest_data_bytes) return std::nullopt;
    kind.logs.push_back(sizes);
  }
  return kind;
}

OfferBook::Page* OfferMaker::begin_page(const GroupKey& key, std::uint64_t header_bytes) {
  if (parts_.offers.pages() >= most_pages) return nullptr;
  OfferedGroup group{0, key.rule, key.members, header_bytes, 0, most_slots};
  const Process& first = parts_.processes.processes().at(key.members.front());
  const auto page_bytes = [&] { return parts_.offers.page_bytes(group); };
  const auto has_memory = [&](auto pages) {
    return parts_.memory.is_plenty(first.place.node, pages * page_bytes());
  };
  while (group.slots > least_slots && !has_memory(pages_in_half)) group.slots /= 2;
  if (!has_memory(1U)) return nullptr;
  auto memory = take(first.id, SegmentUse::control, page_bytes());
  OfferBook::Page* const page = memory ? parts_.offers.begin(std::move(group), std::move(*memory)) : nullptr;
  if (page != nullptr && !is_plain(page->rule)) parts_.offers.make_loud(*page);
  return page;
}

/// Offers memory only while there is plenty.
void OfferMaker::fill(OfferBook::Page& page, const Kind& kind) {
  std::uint64_t bytes = 0;
  for (const Kind::Log& log : kind.logs) bytes += log.table_bytes + log.data_bytes;
  const std::size_t least = bytes <= small_step_bytes ? small_offers_at_a_time : offers_at_a_time;
  const std::size_t most = std::min({most_offers_at_a_time, std::size_t{page.slots} * 5 / 8,
                                     static_cast<std::size_t>(most_offered_bytes / std::max(bytes, 1UL))});
  if (page.current() > 0 && parts_.offers.is_used_up(page)) page.wanted *= 2;
  page.wanted = std::max(least, std::min(page.wanted, most));
  while (page.current() < page.wanted && parts_.offers.has_free_slot(page)) {
    auto offer = make(page, kind, bytes);
    if (!offer) return;
    const StepId step = offer->step;
    std::vector<SegmentId> data;
    for (const StepOffer::Log& log : offer->logs)
      if (!log.data.empty()) data.push_back(log.data.id());
    if (!parts_.offers.offer(page, std::move(*offer))) return;
    if (parts_.offers.is_only_page_of(page.rule)) parts_.reads.offer(page.memory->id(), step, data);
  }
}

std::optional<StepOffer> OfferMaker::make(const OfferBook::Page& page, const Kind& kind,
                                          std::uint64_t bytes) {
  const std::uint64_t block_bytes = control_bytes(static_cast<std::uint32_t>(page.members.size()));
  const std::uint32_t node = parts_.processes.processes().at(page.members.front()).place.node;
  if (!parts_.memory.is_plenty(node, block_bytes + bytes)) return std::nullopt;
  StepOffer offer;
  auto control = take(page.members.front(), SegmentUse::control, block_bytes);
  if (!control) return std::nullopt;
  offer.control = std::move(*control);
  for (std::size_t rank = 0; rank < page.members.size(); ++rank) {
    StepOffer::Log& log = offer.logs.emplace_back();
    const auto take_for = [&](SegmentUse use, std::uint64_t size, SegmentLease& lease) {
      if (size == 0) return true;
      auto segment = take(page.members[rank], use, size);
      if (segment) lease = std::move(*segment);
      return segment.has_value();
    };
    if (!take_for(SegmentUse::table, kind.logs[rank].table_bytes, log.table) ||
        !take_for(SegmentUse::data, kind.logs[rank].data_bytes, log.data))
      return std::nullopt;
  }
  offer.step = parts_.datasets.new_step();
  return offer;
}

std::optional<SegmentLease> OfferMaker::take(ProcessId process, SegmentUse use, std::uint64_t bytes) {
  const Process& asker = parts_.processes.processes().at(process);
  try {
    return parts_.memory.take_for_offer(asker.place, {bytes, use, process, asker.place.index});
  } catch (const Error&) {  // the system has no memory
    return std::nullopt;
  }
}

}  // namespace sluice::matcher
