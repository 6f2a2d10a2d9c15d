#include "memory_reader.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "sluice/formats/error.hpp"

namespace sluice::api {

namespace {

/// The message for those accesses.
template <class Accesses>
runtime::Get get_message(std::uint64_t step, const Accesses& missing) {
  runtime::Get message{step, {}};
  message.accesses.reserve(missing.size());
  for (const auto& entry : missing) {
    const Access& access = *entry.access;
    auto& slabs = message.accesses.emplace_back(runtime::ReadAccess{access.varid, {}}).slabs;
    slabs.reserve(access.slabs.size());
    for (const formats::HyperslabView& slab : access.slabs) {
      slabs.push_back({{slab.start.begin(), slab.start.end()},
                       {slab.count.begin(), slab.count.end()},
                       {slab.stride.begin(), slab.stride.end()}});
    }
  }
  return message;
}

/// The logs of a step, seen by a plan that was made for another one: its writers are elsewhere in the list.
class MovedLogs final : public replay::LogReader {
 public:
  MovedLogs(replay::LogReader& logs, std::uint32_t shift) noexcept : logs_(logs), shift_(shift) {}
  [[nodiscard]] std::span<const std::byte> at(std::uint32_t writer, std::uint64_t log_offset) override {
    return logs_.at(writer + shift_, log_offset);
  }

 private:
  replay::LogReader& logs_;
  std::uint32_t shift_;
};

}  // namespace

bool byte_is_unsigned(const formats::Header& header) noexcept {
  return header.version != formats::Version::cdf5;
}

MemoryReader::MemoryReader(std::shared_ptr<runtime::Session> session, std::uint64_t step,
                           const runtime::StepPattern& pattern, Sight sight)
    : session_(std::move(session)),
      step_(step),
      pattern_(pattern),
      sight_(sight),
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

/// Runs all accesses whose plans and data are known; the others are returned.
std::vector<MemoryReader::Missing> MemoryReader::replay_all(const formats::Header& header,
                                                            std::span<Access> accesses) {
  std::vector<Missing> missing;
  summaries_.clear();
  runtime::StepLogs::Reader logs(*logs_);
  for (Access& access : accesses) {
    access.status = NC_NOERR;
    if (access.elements == 0) continue;
    const runtime::Fingerprint key = key_of(header, access);
    if (key.empty() || !replay(header, access, key, logs)) missing.push_back({&access, key});
  }
  return missing;
}

/// Records from the base on do not depend on earlier steps: docs/architecture.md, "Replay".
runtime::Fingerprint MemoryReader::key_of(const formats::Header& header, const Access& access) {
  if (pattern_.whole.empty()) return {};
  const bool has_records = header.is_record_variable(access.varid);
  const matcher::BoxesSummary& boxes = summaries_.of(access.slabs, has_records);
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
                          runtime::StepLogs::Reader& logs) const {
  const auto recorded = session_->plans().find(key);
  if (recorded == nullptr || recorded->plan.elements != access.elements) return false;
  const std::uint32_t shift = pattern_.first_writer - recorded->first_writer;
  const auto is_there = [&](const runtime::RecordedPlan::Source& source) {
    return logs.holds(source.writer + shift, source.first, source.end);
  };
  if (!std::ranges::all_of(recorded->sources, is_there)) return false;
  prefault(header, access, *recorded, shift, logs);
  if (shift == 0) {
    access.status = run(header, access, recorded->plan, logs);
  } else {
    MovedLogs moved(logs, shift);
    access.status = run(header, access, recorded->plan, moved);
  }
  return true;
}

/// Takes the page faults of what is about to be read, where that is most of the sources.
void MemoryReader::prefault(const formats::Header& header, const Access& access,
                            const runtime::RecordedPlan& recorded, std::uint32_t shift,
                            runtime::StepLogs::Reader& logs) {
  constexpr std::uint64_t least_bytes = std::uint64_t{1} << 20;
  const auto wanted =
      static_cast<std::uint64_t>(access.elements) * formats::size_of(header.variable(access.varid).type);
  if (wanted < least_bytes || wanted < recorded.source_bytes / 4) return;
  for (const runtime::RecordedPlan::Source& source : recorded.sources)
    logs.prefault(source.writer + shift, source.first, source.end);
}

/// In messages of a bounded size: a wait may have millions of hyperslabs.
void MemoryReader::match_all(const formats::Header& header, std::span<const Missing> missing) {
  constexpr std::size_t most_slabs = std::size_t{1} << 18;
  while (!missing.empty()) {
    std::size_t accesses = 0;
    std::size_t slabs = 0;
    do {
      slabs += missing[accesses].access->slabs.size();
      ++accesses;
    } while (accesses < missing.size() && slabs + missing[accesses].access->slabs.size() <= most_slabs);
    match(header, missing.first(accesses));
    missing = missing.subspan(accesses);
  }
}

/// One message for all of them. Their plans are kept, unless they hold for this step only.
void MemoryReader::match(const formats::Header& header, std::span<const Missing> missing) {
  runtime::Get message = get_message(step_, missing);
  message.is_by_writer = sight_ == Sight::own;
  const runtime::Plans answer =
      sight_ == Sight::awaited ? session_->get_when_put(message) : session_->get(message);
  logs_->add(answer.ranges);
  std::size_t position = 0;
  for (const Missing& entry : missing) {
    Access& access = *entry.access;
    replay::Plan plan = replay::decode_plan(answer.plans, position);
    if (plan.elements != access.elements) {
      throw Error(NC_EIO, "damaged answer: a plan of " + std::to_string(plan.elements) +
                              " elements for a get of " + std::to_string(access.elements));
    }
    const std::size_t element_bytes = formats::size_of(header.variable(access.varid).type);
    auto recorded =
        std::make_shared<runtime::RecordedPlan>(std::move(plan), pattern_.first_writer, element_bytes);
    runtime::StepLogs::Reader logs(*logs_);
    prefault(header, access, *recorded, 0, logs);
    access.status = run(header, access, recorded->plan, logs);
    if (entry.key.empty() || recorded->plan.depends_on_clock) continue;
    session_->plans().add(entry.key, std::move(recorded));
  }
  if (position != answer.plans.size()) throw Error(NC_EIO, "damaged answer: bytes behind the plans");
}

int MemoryReader::run(const formats::Header& header, const Access& access, const replay::Plan& plan,
                      replay::LogReader& logs) {
  std::array<std::byte, 8> fill{};
  header.fill_value(access.varid, fill.data());
  const formats::Type type = header.variable(access.varid).type;
  const replay::Conversion conversion{type, access.memory, byte_is_unsigned(header), fill.data()};
  return replay::execute(plan, logs, conversion, access.buffer);
}

}  // namespace sluice::api
