#include "segment_grants.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "registry_parts.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::matcher {

namespace {
MemoryKind kind_for(SegmentUse use) {
  return use == SegmentUse::table ? MemoryKind::table : MemoryKind::spare;
}
}  // namespace

bool MemoryWait::concerns(ProcessId process) const noexcept {
  return std::ranges::find(waiters, process, &InboundReader::process) != waiters.end();
}

bool SegmentGrants::try_grant(MemoryWait& wait) {
  if (wait.is_for_disk()) return offer_disk(wait);
  if (wait.is_being_served()) return false;
  const std::uint32_t node = wait.place.node;
  for (;;) {
    auto segment = goes_to_disk(wait) ? spill(wait) : take(wait);
    if (!segment && !wait.is_being_served()) segment = goes_to_disk(wait) ? take(wait) : spill(wait);
    if (segment) {
      hand_over(wait, std::move(*segment));
      return true;
    }
    if (std::exchange(wait.spill.tries_again, false) && !wait.is_being_served()) continue;
    // The disk space that is being returned may be enough.
    if (wait.is_being_served() || parts_.pools.at(node).is_giving_disk_back()) return false;
    if (!parts_.retention.erase_doubtful(node) && !parts_.retention.erase_given_up(node)) return false;
  }
}

std::size_t SegmentGrants::grant_again(const Series& series) {
  const auto& [step, request, place, tickets, processes, ranks] = series;
  const bool is_for_log = request.use == SegmentUse::data || request.use == SegmentUse::table;
  if (!is_for_log || request.is_ahead || !request.log.metadata_path.empty() || goes_to_disk(request, step))
    return 0;
  const SegmentPool::Request wanted{
      std::max(request.bytes, request.wanted_bytes), request.use, {}, place.index};
  const std::size_t count =
      parts_.memory.count_recyclable(place.node, wanted, processes, kind_for(request.use));
  if (count == 0) return 0;
  std::vector<SegmentLease> segments = parts_.pools.at(place.node).recycle(wanted, count);
  constexpr std::size_t ahead = 8;
  for (std::size_t i = 0; i < count; ++i) {
    if (i + ahead < count) step.expect_log(ranks[i + ahead]);
    parts_.answers.granted(tickets[i], add(step, ranks[i], request, std::move(segments[i])));
  }
  return count;
}

/// What is there already, and the data of a step that was begun when the queue was full.
bool SegmentGrants::goes_to_disk(const MemoryWait& wait) const {
  if (wait.is_inbound || wait.request.use == SegmentUse::table || !spills()) return false;
  return goes_to_disk(wait.request, parts_.datasets.step(wait.request.step));
}

bool SegmentGrants::goes_to_disk(const SegmentRequest& request, const Step& step) const {
  if (request.use == SegmentUse::table || !spills()) return false;
  return request.is_on_disk || step.goes_to_disk;
}

void SegmentGrants::grant_ahead(MemoryWait& wait) {
  const bool may_take = !goes_to_disk(wait) && parts_.memory.is_plenty(wait.place.node, wait.request.bytes);
  auto segment = may_take ? take(wait) : std::nullopt;
  if (!segment) return refuse(wait, NC_ENO_SPACE, "there is no memory for what is not put yet");
  hand_over(wait, std::move(*segment));
}

void SegmentGrants::lease_ahead(MemoryWait& wait) {
  const SegmentRequest& request = wait.request;
  auto segment = parts_.memory.take(
      wait.place, {std::max(request.bytes, request.wanted_bytes), request.use, {}, wait.place.index},
      MemoryKind::spare);
  if (!segment) throw Error(NC_ENO_SPACE, "there is no memory for what nobody waits for yet");
  hand_over(wait, std::move(*segment));
}

std::optional<SegmentLease> SegmentGrants::take(const MemoryWait& wait) {
  return wait.is_inbound ? take_inbound(wait) : take_for_put(wait);
}

std::optional<SegmentLease> SegmentGrants::take_for_put(const MemoryWait& wait) {
  const SegmentRequest& request = wait.request;
  const MemoryKind kind = kind_for(request.use);
  const auto take_bytes = [&](std::uint64_t bytes) {
    return parts_.memory.take(wait.place,
                              {bytes, request.use, wait.waiters.front().process, wait.place.index}, kind);
  };
  auto segment = take_bytes(std::max(request.bytes, request.wanted_bytes));
  if (!segment && request.wanted_bytes > request.bytes) segment = take_bytes(request.bytes);
  return segment;
}

std::optional<SegmentLease> SegmentGrants::take_inbound(const MemoryWait& wait) {
  const SegmentRequest& request = wait.request;
  const auto take_bytes = [&](std::uint64_t bytes, MemoryKind kind) {
    return parts_.memory.take(wait.place, {bytes, request.use, ProcessId{}, wait.place.index}, kind);
  };
  if (wait.is_for_image()) return take_bytes(request.bytes, MemoryKind::needed);
  auto segment = take_bytes(std::max(request.bytes, request.wanted_bytes), MemoryKind::spare);
  if (!segment) segment = take_bytes(request.bytes, MemoryKind::needed);
  return segment;
}

/// Makes a segment on disk. Returns nothing when the disk is full, or while the segment is being made
/// (`wait.spill`).
std::optional<SegmentLease> SegmentGrants::spill(MemoryWait& wait) {
  if (!spills()) return std::nullopt;
  const std::uint32_t node = wait.place.node;
  SegmentPool& memory = parts_.pools.at(node);
  while (parts_.retention.erase_spilled(node, false)) {
  }
  for (;;) {
    SpillAttempt& attempt = wait.spill;
    if (attempt.given_back != memory.spills_given_back()) attempt.refused_bytes = ~std::uint64_t{0};
    std::uint64_t bytes = std::max(wait.request.bytes, wait.request.wanted_bytes);
    if (bytes >= attempt.refused_bytes) bytes = wait.request.bytes;
    if (bytes >= attempt.refused_bytes) return std::nullopt;
    const ProcessId process = wait.waiters.empty() ? ProcessId{} : wait.waiters.front().process;
    attempt.keeps_reserve = !std::exchange(attempt.may_use_reserve, false) && parts_.retention.has_read(node);
    const DiskRoom room = attempt.keeps_reserve ? DiskRoom::beyond_reserve : DiskRoom::all;
    try {
      auto [segment, is_made] =
          memory.spill({bytes, wait.request.use, process, wait.place.index, wait.request.is_on_disk, room});
      if (is_made) return std::move(segment);
      attempt.segment = std::move(segment);
      attempt.asked_bytes = bytes;
      return std::nullopt;
    } catch (const Error& error) {
      note_spill_refused(wait, bytes, error.what());
      if (attempt.tries_again) return std::nullopt;
    }
  }
}

void SegmentGrants::note_spill_refused(MemoryWait& wait, std::uint64_t bytes, const std::string& trouble) {
  const std::uint32_t node = wait.place.node;
  if (std::exchange(wait.spill.keeps_reserve, false)) {
    wait.spill.may_use_reserve = !parts_.retention.erase_read(node);
    wait.spill.tries_again = true;
    return;
  }
  wait.spill.refused_bytes = bytes;
  wait.spill.given_back = parts_.pools.at(node).spills_given_back();
  wait.spill.trouble = trouble;
  while (parts_.retention.erase_spilled(node, true)) {
  }
}

void SegmentGrants::keep_reserve(std::uint32_t node) {
  constexpr std::uint64_t least_bytes = 4096;
  if (probes_.contains(node)) return;
  const auto is_refused = [&] {
    try {
      auto [segment, is_made] = parts_.pools.at(node).spill(
          {least_bytes, SegmentUse::data, {}, 0, false, DiskRoom::beyond_reserve});
      if (!is_made) probes_.emplace(node, std::move(segment));
      return false;
    } catch (const Error&) {
      return true;
    }
  };
  while (is_refused() && parts_.retention.erase_read_on_disk(node)) {
  }
}

bool SegmentGrants::probe_made(SegmentId segment, const std::string& trouble) {
  const std::uint32_t node = node_of(segment);
  const auto probe = probes_.find(node);
  if (probe == probes_.end() || probe->second.id() != segment) return false;
  SegmentLease made = std::move(probe->second);
  probes_.erase(probe);
  if (trouble.empty()) {
    parts_.pools.at(node).note_made(segment);
  } else {
    made.release();
    if (parts_.retention.erase_read_on_disk(node)) keep_reserve(node);
  }
  return true;
}

NodeBytes SegmentGrants::bytes_on_disk(const Step& step) const {
  bool is_any_used = false;
  for (std::uint32_t node = 0; spills() && node < parts_.pools.nodes(); ++node)
    is_any_used = is_any_used || parts_.pools.at(node).spilled_bytes() > 0;
  return is_any_used ? step.bytes_in(Medium::disk) : NodeBytes{};
}

/// The process tries again when the disk may have more space than at its last attempt. Otherwise one unneeded
/// step is erased: one may be enough.
bool SegmentGrants::offer_disk(const MemoryWait& wait) {
  if (parts_.pools.disk_given_back() == wait.seen && !parts_.pools.is_giving_disk_back())
    (void)parts_.retention.erase_on_disk();
  if (parts_.pools.disk_given_back() == wait.seen) return false;
  parts_.answers.disk_freed(wait.ticket, parts_.pools.disk_given_back());
  return true;
}

void SegmentGrants::hand_over(MemoryWait& wait, SegmentLease segment) {
  if (is_spilled(segment.id())) note_spilled(parts_.datasets.step(wait.request.step), segment.bytes());
  if (wait.is_for_image()) return begin_image(wait, std::move(segment));
  if (wait.is_inbound) {
    parts_.pools.at(wait.place.node).note_inbound(segment.id());
    return parts_.answers.granted(
        wait.ticket, parts_.datasets.step(wait.request.step).inbound_parts.emplace_back(std::move(segment)));
  }
  const Process& caller = parts_.processes.at(wait.waiters.front().process);
  const GroupMembership writer =
      wait.writer.group != nullptr ? wait.writer : parts_.datasets.writer(caller, wait.request.step);
  const SegmentLease& granted = add(*writer.group->step, writer.rank, wait.request, std::move(segment));
  parts_.pools.at(wait.place.node).note_mapped(granted.id(), caller.id);
  parts_.answers.granted(wait.ticket, granted);
}

/// The lease that is returned is valid until the next one is added.
const SegmentLease& SegmentGrants::add(Step& step, std::uint32_t rank, const SegmentRequest& request,
                                       SegmentLease&& segment) {
  ++step.revision;
  if (step.packed) return step.packed->grant(rank, request, std::move(segment));
  WriteLog& log = *step.logs[step.first_own_log + rank];
  if (request.is_ahead && request.use == SegmentUse::data) log.ahead = segment.id();
  WriteLog::Segments& of_use = request.use == SegmentUse::table ? log.tables : log.data;
  return *of_use.emplace_back(std::make_shared<SegmentLease>(std::move(segment)));
}

void SegmentGrants::begin_image(const MemoryWait& wait, SegmentLease file) {
  Step& step = parts_.datasets.step(wait.request.step);
  StepImage& image = step.images.at(wait.place.node);
  image.file = std::move(file);
  parts_.answers.make_image(step, image);
}

bool SegmentGrants::exceed_limit(MemoryWait& wait) {
  SegmentPool& memory = parts_.pools.at(wait.place.node);
  if (!wait.is_for_image() || wait.request.bytes > memory.limit_bytes()) return false;
  parts_.answers.event(
      parts_.pools.memory_text(wait.place.node, wait.request.bytes) + " beyond the limit for " +
      parts_.names.quoted(parts_.datasets.step(wait.request.step).key) +
      ", which is read as a file: nobody could go on otherwise. Raise staging.memory, or set "
      "staging.spill to a directory with free space");
  hand_over(wait, memory.image_beyond_limit({wait.request.bytes, SegmentUse::image, {}, wait.place.index}));
  return true;
}

void SegmentGrants::note_spilled(const Step& step, std::uint64_t bytes) {
  Dataset& dataset = parts_.datasets[step.key];
  if (dataset.bytes_spilled == 0)
    parts_.answers.event(parts_.names.quoted(step.key) + " goes on in " + spill_directory_ + ": " +
                         (step.goes_to_disk ? "its queue is full" : "staging.memory is used up"));
  dataset.bytes_spilled += bytes;
}

void SegmentGrants::refuse(const MemoryWait& wait, int status, const std::string& text) {
  if (wait.is_for_image()) return refuse_image(wait, status, text);
  parts_.answers.refused(wait.ticket, status, text);
}

void SegmentGrants::refuse_image(const MemoryWait& wait, int status, const std::string& text) {
  Step* const step = parts_.datasets.find_step(wait.request.step);
  if (step == nullptr) return;
  const auto found = step->images.find(wait.place.node);
  if (found == step->images.end()) return;
  const StepImage refused = std::move(found->second);
  step->images.erase(found);
  for (const StepImage::Reader& reader : refused.waiting) parts_.answers.refused(reader.ticket, status, text);
}

}  // namespace sluice::matcher
