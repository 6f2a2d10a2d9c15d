#include "memory_reader.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "known_lists.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/replay/copy_threads.hpp"
#include "sluice/runtime/read_lists.hpp"

namespace sluice::api {

namespace {

/// The plans of an answer, constructed at first use.
class SharedPlans {
 public:
  explicit SharedPlans(std::span<const std::byte> encoded) {
    for (std::size_t position = 0; position < encoded.size();)
      decoded_.push_back(replay::decode_plan(encoded, position));
    shared_.resize(decoded_.size());
  }

  [[nodiscard]] std::shared_ptr<const runtime::SharedPlan> at(std::size_t number, std::size_t element_bytes) {
    if (number >= shared_.size()) throw Error(NC_EIO, "damaged answer: it refers to a missing plan");
    auto& plan = shared_[number];
    if (plan == nullptr) {
      plan = std::make_shared<const runtime::SharedPlan>(std::move(decoded_[number]), element_bytes);
    }
    return plan;
  }

 private:
  std::vector<replay::Plan> decoded_;
  std::vector<std::shared_ptr<const runtime::SharedPlan>> shared_;  ///< shared with the cache of plans
};

/// The limit for a message with one list. The numbers take less than 1 GiB for any number of dimensions, and
/// the plans take about as much.
constexpr std::size_t most_slabs_in_a_message = std::size_t{1} << 21;

/// How many threads copy the data of the access.
int copy_threads(const formats::Header& header, const Access& access, int most) noexcept {
  if (most <= 1) return 1;
  const std::size_t element_bytes = formats::size_of(header.variable(access.varid).type);
  const auto bytes = static_cast<std::uint64_t>(access.elements) * element_bytes;
  if (replay::threads_for(bytes, most, most) == 1) return 1;
  return replay::threads_for(bytes, most, replay::count_idle_processors());
}

bool is_long(const Access& access) noexcept {
  return access.slabs.size() > most_slabs_in_a_message;
}

}  // namespace

bool byte_is_unsigned(const formats::Header& header) noexcept {
  return header.version != formats::Version::cdf5;
}

MemoryReader::MemoryReader(std::shared_ptr<runtime::Session> session, std::uint64_t step,
                           const runtime::StepPattern& pattern, Visibility visibility,
                           std::vector<std::uint64_t> first_offsets)
    : session_(std::move(session)),
      step_(step),
      pattern_(pattern),
      visibility_(visibility),
      first_offsets_(std::move(first_offsets)),
      logs_(session_->step_logs(step)) {}

void MemoryReader::get(const formats::Header& header, std::span<Access> accesses,
                       runtime::AccessCounters& counters) {
  const std::vector<Missing> missing = replay_all(header, accesses);
  match_all(header, missing);
  for (const Access& access : accesses) {
    if (access.elements == 0) continue;
    ++counters.gets;
    counters.get_bytes +=
        static_cast<std::uint64_t>(access.elements) * formats::size_of(header.variable(access.varid).type);
    ++counters.replayed_gets;
  }
  counters.replayed_gets -= missing.size();
}

/// Runs all accesses whose plans and data are known, and returns the other accesses.
std::vector<MemoryReader::Missing> MemoryReader::replay_all(const formats::Header& header,
                                                            std::span<Access> accesses) {
  std::vector<Missing> missing;
  summaries_.clear();
  runtime::LogRangeMap::Reader logs(*logs_);
  for (Access& access : accesses) {
    access.status = NC_NOERR;
    if (access.elements == 0) continue;
    const runtime::Fingerprint key = key_of(header, access);
    if (key.empty() || !replay(header, access, key, logs)) missing.push_back({&access, key});
  }
  return missing;
}

/// Records from the base record on do not depend on earlier steps: see docs/design/replay-plans.md.
runtime::Fingerprint MemoryReader::key_of(const formats::Header& header, const Access& access) {
  if (pattern_.whole.empty()) return {};
  const bool has_records = header.is_record_variable(access.varid);
  const auto known = known_lists().summary_of(access.slabs, has_records);
  const matcher::BoxesSummary& boxes = known ? *known : summaries_.of(access.slabs, has_records);
  const bool is_latest =
      has_records && !pattern_.latest.empty() && boxes.lowest_record >= pattern_.base_record;
  matcher::FingerprintBuilder key;
  key.add(is_latest ? pattern_.latest : pattern_.whole);
  key.add(std::int64_t{access.varid} * 2 + (is_latest ? 1 : 0),
          boxes.lowest_record - (is_latest ? pattern_.base_record : 0));
  key.add(boxes.boxes);
  return key.value();
}

bool MemoryReader::replay(const formats::Header& header, Access& access, const runtime::Fingerprint& key,
                          runtime::LogRangeMap::Reader& logs) const {
  const auto recorded = session_->plans().find(key);
  if (recorded == nullptr || recorded->shared->plan.elements != access.elements) return false;
  if (!may_move(*recorded)) return false;
  const std::vector<replay::PlanSource> sources = sources_here(*recorded);
  const auto is_there = [&](const replay::PlanSource& source) {
    return logs.holds(source.writer, source.first, source.end);
  };
  if (!std::ranges::all_of(sources, is_there)) return false;
  run(header, access, *recorded, logs);
  return true;
}

/// The ranges of this step's logs that a plan reads.
std::vector<replay::PlanSource> MemoryReader::sources_here(const runtime::RecordedPlan& recorded) const {
  std::vector<replay::PlanSource> sources = recorded.shared->sources;
  const auto shifts = shifts_here(recorded);
  for (replay::PlanSource& source : sources) {
    const auto moved = static_cast<std::uint64_t>(replay::shift_of(shifts, source.writer));
    source.writer += pattern_.first_writer - recorded.first_writer;
    source.first += moved;
    source.end += moved;
  }
  return sources;
}

/// The distances between a plan's log offsets and this step's log offsets. Logs that continue those of an
/// earlier step can each have another distance.
std::vector<runtime::LogShift> MemoryReader::shifts_here(const runtime::RecordedPlan& recorded) const {
  if (first_offsets_ == recorded.first_offsets) return recorded.shifts;
  const auto at = [](const std::vector<std::uint64_t>& offsets, std::size_t i) {
    return i < offsets.size() ? static_cast<std::int64_t>(offsets[i]) : 0;
  };
  std::vector<runtime::LogShift> shifts;
  for (std::size_t i = 0; i < std::max(first_offsets_.size(), recorded.first_offsets.size()); ++i) {
    const auto writer = static_cast<std::uint32_t>(recorded.first_writer + i);
    shifts.push_back({writer, replay::shift_of(recorded.shifts, writer) + at(first_offsets_, i) -
                                  at(recorded.first_offsets, i)});
  }
  for (const runtime::LogShift& shift : recorded.shifts) {
    if (shift.writer < recorded.first_writer || shift.writer - recorded.first_writer >= shifts.size())
      shifts.push_back(shift);
  }
  std::ranges::sort(shifts, {}, &runtime::LogShift::writer);
  return shifts;
}

/// Data packed by another node is known by its original log offsets. A plan that reads this data is valid
/// only for the same offsets.
bool MemoryReader::may_move(const runtime::RecordedPlan& recorded) const {
  if (first_offsets_ == recorded.first_offsets && first_offsets_.empty()) return true;
  return std::ranges::none_of(recorded.shared->sources, [](const replay::PlanSource& source) {
    return source.writer >= runtime::first_inbound_log;
  });
}

/// Takes the page faults of the memory to be read, if the get reads most of the sources.
void MemoryReader::prefault(const formats::Header& header, const Access& access,
                            const runtime::RecordedPlan& recorded, runtime::LogRangeMap::Reader& logs) const {
  constexpr std::uint64_t least_bytes = std::uint64_t{1} << 20;
  const auto wanted =
      static_cast<std::uint64_t>(access.elements) * formats::size_of(header.variable(access.varid).type);
  if (wanted < least_bytes || wanted < recorded.shared->source_bytes / 4) return;
  for (const replay::PlanSource& source : sources_here(recorded))
    logs.prefault(source.writer, source.first, source.end);
}

/// Limits the size of messages and answers: a wait may have millions of hyperslabs. A list that several
/// accesses share is sent once.
void MemoryReader::match_all(const formats::Header& header, std::span<const Missing> missing) {
  constexpr std::size_t most_slabs_sent = std::size_t{1} << 18;
  constexpr std::size_t most_slabs = std::size_t{1} << 23;
  while (!missing.empty()) {
    if (is_long(*missing.front().access)) {
      match_in_parts(header, *missing.front().access);
      missing = missing.subspan(1);
      continue;
    }
    std::set<const formats::HyperslabView*> lists;
    std::size_t accesses = 0;
    std::size_t slabs_sent = 0;
    std::size_t slabs = 0;
    while (accesses < missing.size()) {
      const auto& list = missing[accesses].access->slabs;
      if (is_long(*missing[accesses].access)) break;
      if (lists.insert(list.data()).second) slabs_sent += list.size();
      slabs += list.size();
      const bool is_too_much = slabs_sent > most_slabs_sent || slabs > most_slabs;
      if (accesses > 0 && is_too_much) break;
      ++accesses;
    }
    match(header, missing.first(accesses));
    missing = missing.subspan(accesses);
  }
}

/// Divides a list that is too long for a message or its answer into several messages. Their plans are not
/// kept.
void MemoryReader::match_in_parts(const formats::Header& header, Access& access) {
  const auto element_bytes = static_cast<std::int64_t>(formats::size_of(access.memory));
  auto* to = static_cast<std::byte*>(access.buffer);
  int status = NC_NOERR;
  for (std::size_t first = 0; first < access.slabs.size(); first += most_slabs_in_a_message) {
    Access part = access;
    part.slabs = access.slabs.subspan(first, std::min(most_slabs_in_a_message, access.slabs.size() - first));
    part.elements = 0;
    for (const formats::HyperslabView& slab : part.slabs) part.elements += slab.elements();
    part.buffer = to;
    to += part.elements * element_bytes;
    if (part.elements == 0) continue;
    const Missing missing{&part, {}};
    match(header, std::span(&missing, 1));
    if (status == NC_NOERR) status = part.status;
  }
  access.status = status;
}

/// Sends one message for all missing accesses. Keeps their plans, unless they are valid for this step only.
void MemoryReader::match(const formats::Header& header, std::span<const Missing> missing) {
  runtime::GetWriter message(step_);
  for (const Missing& entry : missing) message.add(entry.access->varid, entry.access->slabs);
  runtime::Get request = message.take();
  request.is_by_writer = visibility_ == Visibility::own;
  const runtime::Plans answer =
      visibility_ == Visibility::awaited ? session_->get_when_put(request) : session_->get(request);
  if (answer.uses.size() != missing.size()) throw Error(NC_EIO, "damaged answer: not a plan for each access");
  SharedPlans plans(answer.plans);
  runtime::LogRangeMap::Reader logs(*logs_);
  for (std::size_t i = 0; i < missing.size(); ++i) {
    Access& access = *missing[i].access;
    const runtime::PlanUse& use = answer.uses[i];
    const std::size_t element_bytes = formats::size_of(header.variable(access.varid).type);
    auto recorded = std::make_shared<const runtime::RecordedPlan>(runtime::RecordedPlan{
        plans.at(use.plan, element_bytes), pattern_.first_writer, use.shifts, first_offsets_});
    const replay::Plan& plan = recorded->shared->plan;
    if (plan.elements != access.elements) {
      throw Error(NC_EIO, "damaged answer: a plan of " + std::to_string(plan.elements) +
                              " elements for a get of " + std::to_string(access.elements));
    }
    run(header, access, *recorded, logs);
    if (missing[i].key.empty() || plan.depends_on_clock) continue;
    session_->plans().add(missing[i].key, std::move(recorded));
  }
}

/// Fills the access's buffer and sets its status.
void MemoryReader::run(const formats::Header& header, Access& access, const runtime::RecordedPlan& recorded,
                       runtime::LogRangeMap::Reader& logs) const {
  prefault(header, access, recorded, logs);
  std::array<std::byte, 8> fill{};
  header.fill_value(access.varid, fill.data());
  const formats::Type type = header.variable(access.varid).type;
  const replay::Conversion conversion{type, access.memory, byte_is_unsigned(header), fill.data()};
  const auto shifts = shifts_here(recorded);
  replay::MovedLogs moved(logs, pattern_.first_writer - recorded.first_writer, shifts);
  access.status = replay::execute(recorded.shared->plan, moved, conversion, access.buffer,
                                  copy_threads(header, access, session_->copy_threads()));
}

}  // namespace sluice::api
