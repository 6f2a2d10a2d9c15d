// The encoding of the control messages.
#include "control_protocol.hpp"
#include "wire_codec.hpp"
#include "wire_fields.hpp"

namespace sluice::runtime {

namespace {

template <class Body, class... Bodies>
constexpr std::size_t kind_of(const std::variant<Bodies...>* /*of*/) noexcept {
  constexpr bool is_same[] = {std::is_same_v<Body, Bodies>...};
  std::size_t kind = 0;
  while (!is_same[kind]) ++kind;
  return kind;
}
constexpr std::size_t round_done_kind = kind_of<RoundDone>(static_cast<const RegistryBody*>(nullptr));

}  // namespace

RegistryRequest registry_request(MessageType type, std::span<const std::byte> fields) {
  switch (type) {
#define SLUICE_REQUEST(number, name, Struct) \
  case MessageType::name:                    \
    return decode<Struct>(fields);
#include "sluice/runtime/messages.def"
    default:
      throw Error(NC_EIO, "it sent a message of type " + std::to_string(static_cast<unsigned>(type)));
  }
}

bool is_round_done(std::span<const std::byte> encoded) noexcept {
  return !encoded.empty() && encoded.front() == std::byte{round_done_kind};  // the body comes first
}

SLUICE_SOME_FIELDS(matcher::StepView, m.step, m.revision, m.is_final, m.rule, m.name, m.header_revision,
                   m.record_count, m.header, m.first_own_log, m.pattern, alike(m.logs, m.packed_logs.get()),
                   m.publish_at, m.partition, m.is_cut, m.control, m.is_apart)
SLUICE_FIELDS(matcher::DrainProgress, m.done_bytes, m.total_bytes)
SLUICE_FIELDS(matcher::LookRequest, m.number, m.node, m.index, m.component, m.processes, m.has_ended)

// To the registry
SLUICE_FIELDS(ClientRequest, m.connection, m.tag, m.request)
SLUICE_FIELDS(GroupCall::Caller, m.connection, m.tag, m.rank)
SLUICE_FIELDS(GroupCall, m.call, m.callers)
SLUICE_FIELDS(Closes::One, m.connection, m.tag, m.request)
SLUICE_FIELDS(SegmentCalls::Caller, m.connection, m.tag)
SLUICE_FIELDS(SegmentCalls::Call, m.request, m.callers)
SLUICE_FIELDS(SegmentCalls, m.calls)
SLUICE_FIELDS(Closes, alike(m.requests))
SLUICE_FIELDS(ConnectionEnded, m.connection)
SLUICE_FIELDS(TakeSent, m.component, m.path, m.key, m.remover, m.new_key, m.new_path, m.is_link, m.has_ended)
SLUICE_FIELDS(FileNames, m.connection, m.keys, m.is_closed, m.is_in_place)
SLUICE_FIELDS(SegmentsMapped::One, m.connection, m.segment)
SLUICE_FIELDS(SegmentsMapped, m.notes)
SLUICE_FIELDS(ViewQuery, m.connection, m.query, m.step)
SLUICE_FIELDS(RoundDone, m.round)
SLUICE_FIELDS(LeaseReader, m.matcher, m.connection)
SLUICE_FIELDS(LeaseQuery, m.query, m.step, m.bytes, m.wanted_bytes, m.reader)
SLUICE_FIELDS(GetWaits, m.connection, m.tag, m.step, m.text, m.is_over)
SLUICE_FIELDS(TableCopy, m.segment, m.contents)
SLUICE_FIELDS(DrainTables, m.tables, m.partial)
SLUICE_FIELDS(DrainReport, m.status, m.text, m.bytes, m.partial)
SLUICE_FIELDS(ImageReport, m.file, m.report)
SLUICE_FIELDS(CopyNote, m.step, m.what)
SLUICE_FIELDS(SpillDone, m.segment, m.is_gone, m.trouble)
SLUICE_FIELDS(Looked, m.number, m.is_nobody_able, m.host, m.process)

// To a matcher
SLUICE_FIELDS(Granted, m.segment)
SLUICE_FIELDS(FileSource, m.matcher, m.bytes, m.file)
SLUICE_FIELDS(ImageReady, m.step, m.file, m.bytes, m.source)
SLUICE_FIELDS(Answer, m.connection, m.tag, m.reply)
SLUICE_FIELDS(HangUp, m.connection, m.reason)
SLUICE_FIELDS(CreateSegment::InMemory)
SLUICE_FIELDS(CreateSegment, m.segment, m.bytes, m.is_image, m.place)
SLUICE_FIELDS(ClearSegment, m.segment, m.use)
SLUICE_FIELDS(GrantSeries::Grant, m.connection, m.tag, m.segment)
SLUICE_FIELDS(matcher::SegmentRow, m.first, m.distance, m.count)
SLUICE_FIELDS(GrantSeries::Made, m.row, m.bytes)
SLUICE_FIELDS(GrantSeries::Cleared, m.row, m.use)
SLUICE_FIELDS(GrantSeries, m.made, m.cleared, m.grants)
SLUICE_FIELDS(DestroySegment, m.segment)
SLUICE_FIELDS(KeepLog, m.segment, m.is_kept)
SLUICE_FIELDS(MarkGone, m.control, m.rank)
SLUICE_FIELDS(View, m.query, m.step, m.view, m.refusal)
SLUICE_FIELDS(StepOver, m.step, m.is_only_outdated)
SLUICE_FIELDS(DrainOrder, m.path, m.version, m.keep, m.part, m.parts, m.drained_logs, m.drained_records,
              m.run, m.run_begin_ns, m.origin)
SLUICE_FIELDS(DrainEnd, m.are_parts_written)
SLUICE_FIELDS(ImageOrder, m.file, m.version, m.source, m.shows_all)
SLUICE_FIELDS(MakeCopy, m.step, m.what)
SLUICE_FIELDS(Look, m.request)
SLUICE_FIELDS(StartServing, m.spill_directory, m.may_spill_elsewhere, m.prewarm_bytes, m.memory_bytes)
SLUICE_FIELDS(ShutDown)
SLUICE_FIELDS(BeginRound, m.round, m.task)

SLUICE_FIELDS(MessageToRegistry, m.body, m.matcher)
SLUICE_FIELDS(MessageToMatcher, m.body, m.matcher)

SLUICE_MESSAGE(MessageToRegistry)
SLUICE_MESSAGE(MessageToMatcher)

SharedMessage share(MatcherBody body) {
  return std::make_shared<const std::vector<std::byte>>(
      encode(MessageToMatcher{several_matchers, std::move(body)}));
}

}  // namespace sluice::runtime
