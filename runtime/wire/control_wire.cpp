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
    case MessageType::create:
      return decode<CreateRequest>(fields);
    case MessageType::create_offered:
      return decode<CreateOffered>(fields);
    case MessageType::open_offered:
      return decode<OpenOffered>(fields);
    case MessageType::open_write:
      return OpenForWriting{decode<OpenRequest>(fields)};
    case MessageType::open_read:
      return OpenForReading{decode<OpenRequest>(fields)};
    case MessageType::inquire:
      return Inquiry{decode<OpenRequest>(fields)};
    case MessageType::image:
      return decode<ImageRequest>(fields);
    case MessageType::need_segment:
      return decode<SegmentRequest>(fields);
    case MessageType::await_disk:
      return decode<DiskRequest>(fields);
    case MessageType::header:
      return decode<HeaderRequest>(fields);
    case MessageType::sync:
      return decode<SyncRequest>(fields);
    case MessageType::remove:
      return decode<Remove>(fields);
    case MessageType::change_file:
      return decode<ChangeFile>(fields);
    case MessageType::list:
      return decode<ListRequest>(fields);
    case MessageType::watch:
      return decode<WatchRequest>(fields);
    case MessageType::publish:
      return decode<PublishRequest>(fields);
    case MessageType::discard:
      return decode<Discard>(fields);
    case MessageType::close_read:
      return decode<CloseRequest>(fields);
    case MessageType::ordinary_file:
      return decode<OrdinaryFile>(fields);
    case MessageType::gathering:
      return decode<Gathering>(fields);
    case MessageType::complaint:
      return decode<Complaint>(fields);
    case MessageType::copy_notice:
      return decode<CopyNotice>(fields);
    default:
      throw Error(NC_EIO, "it sent a message of type " + std::to_string(static_cast<unsigned>(type)));
  }
}

bool is_round_done(std::span<const std::byte> encoded) noexcept {
  return !encoded.empty() && encoded.front() == std::byte{round_done_kind};  // the body comes first
}

void fields(auto& a, Is<matcher::StepView> auto& m) {
  a(m.step, m.revision, m.is_final, m.rule, m.name, m.header_revision, m.record_count, m.header,
    m.first_own_log, m.pattern, alike(m.logs, m.packed_logs.get()), m.publish_at, m.partition, m.is_cut,
    m.control, m.is_apart);
}
void fields(auto& a, Is<matcher::DrainProgress> auto& m) {
  a(m.done_bytes, m.total_bytes);
}
void fields(auto& a, Is<matcher::LookRequest> auto& m) {
  a(m.number, m.node, m.index, m.component, m.processes, m.has_ended);
}

// To the registry
void fields(auto& a, Is<OpenForWriting> auto& m) {
  a(m.open);
}
void fields(auto& a, Is<OpenForReading> auto& m) {
  a(m.open);
}
void fields(auto& a, Is<Inquiry> auto& m) {
  a(m.open);
}
void fields(auto& a, Is<ClientRequest> auto& m) {
  a(m.connection, m.tag, m.request);
}
void fields(auto& a, Is<GroupCall::Caller> auto& m) {
  a(m.connection, m.tag, m.rank);
}
void fields(auto& a, Is<GroupCall> auto& m) {
  a(m.call, m.callers);
}
template <class Archive, class Message>
requires(Is<Message, Publications::One> || Is<Message, Closes::One>) void fields(Archive& a, Message& m) {
  a(m.connection, m.tag, m.request);
}
void fields(auto& a, Is<SegmentCalls::Caller> auto& m) {
  a(m.connection, m.tag);
}
void fields(auto& a, Is<SegmentCalls::Call> auto& m) {
  a(m.request, m.callers);
}
void fields(auto& a, Is<SegmentCalls> auto& m) {
  a(m.calls);
}
template <class Archive, class Message>
requires(Is<Message, Publications> || Is<Message, Closes>) void fields(Archive& a, Message& m) {
  a(alike(m.requests));
}
void fields(auto& a, Is<ConnectionEnded> auto& m) {
  a(m.connection);
}
void fields(auto& a, Is<FileNames> auto& m) {
  a(m.connection, m.keys, m.is_closed);
}
void fields(auto& a, Is<SegmentMapped> auto& m) {
  a(m.connection, m.segment);
}
void fields(auto& a, Is<SegmentsMapped> auto& m) {
  a(m.notes);
}
void fields(auto& a, Is<ViewQuery> auto& m) {
  a(m.connection, m.query, m.step);
}
void fields(auto& a, Is<RoundDone> auto& m) {
  a(m.round);
}
void fields(auto& a, Is<LeaseReader> auto& m) {
  a(m.matcher, m.connection);
}
void fields(auto& a, Is<LeaseQuery> auto& m) {
  a(m.query, m.step, m.bytes, m.wanted_bytes, m.reader);
}
void fields(auto& a, Is<LeaseJoined> auto& m) {
  a(m.step, m.reader);
}
void fields(auto& a, Is<GetWaits> auto& m) {
  a(m.connection, m.tag, m.step, m.text);
}
void fields(auto& a, Is<GetGoesOn> auto& m) {
  a(m.connection, m.tag);
}
void fields(auto& a, Is<DrainAdvanced> auto& m) {
  a(m.step, m.progress);
}
void fields(auto& a, Is<TableCopy> auto& m) {
  a(m.segment, m.contents);
}
void fields(auto& a, Is<DrainTables> auto& m) {
  a(m.tables, m.partial);
}
void fields(auto& a, Is<DrainReady> auto& m) {
  a(m.step, m.tables);
}
void fields(auto& a, Is<DrainReport> auto& m) {
  a(m.status, m.text, m.bytes, m.partial);
}
void fields(auto& a, Is<Drained> auto& m) {
  a(m.step, m.report);
}
void fields(auto& a, Is<ImageDone> auto& m) {
  a(m.step, m.file, m.report);
}
void fields(auto& a, Is<SpillMade> auto& m) {
  a(m.segment, m.trouble);
}
void fields(auto& a, Is<SpillGone> auto& m) {
  a(m.segment);
}
void fields(auto& a, Is<StartTrouble> auto& m) {
  a(m.text);
}
void fields(auto& a, Is<Looked> auto& m) {
  a(m.number, m.is_nobody_able);
}
void fields(auto& a, Is<Pong> auto& m) {
  a(m.host, m.process);
}

// To a matcher
void fields(auto& a, Is<Granted> auto& m) {
  a(m.segment);
}
void fields(auto& a, Is<ImageReady> auto& m) {
  a(m.step, m.file, m.bytes);
}
void fields(auto& /*a*/, Is<Done> auto& /*m*/) {}
void fields(auto& a, Is<Answer> auto& m) {
  a(m.connection, m.tag, m.reply);
}
void fields(auto& a, Is<HangUp> auto& m) {
  a(m.connection, m.reason);
}
void fields(auto& a, Is<CreateSegment> auto& m) {
  a(m.segment, m.bytes, m.is_image);
}
void fields(auto& a, Is<ClearSegment> auto& m) {
  a(m.segment, m.use);
}
void fields(auto& a, Is<GrantSeries::Grant> auto& m) {
  a(m.connection, m.tag, m.segment);
}
void fields(auto& a, Is<matcher::SegmentRow> auto& m) {
  a(m.first, m.distance, m.count);
}
void fields(auto& a, Is<GrantSeries::Made> auto& m) {
  a(m.row, m.bytes);
}
void fields(auto& a, Is<GrantSeries::Cleared> auto& m) {
  a(m.row, m.use);
}
void fields(auto& a, Is<GrantSeries> auto& m) {
  a(m.made, m.cleared, m.grants);
}
void fields(auto& a, Is<DestroySegment> auto& m) {
  a(m.segment);
}
void fields(auto& a, Is<SpillSegment> auto& m) {
  a(m.segment, m.bytes, m.is_image, m.room);
}
void fields(auto& a, Is<CreateLogSegment> auto& m) {
  a(m.segment, m.bytes, m.place);
}
void fields(auto& a, Is<KeepLog> auto& m) {
  a(m.segment, m.is_kept);
}
void fields(auto& /*a*/, Is<DropWarm> auto& /*m*/) {}
void fields(auto& a, Is<MarkGone> auto& m) {
  a(m.control, m.rank);
}
void fields(auto& a, Is<View> auto& m) {
  a(m.query, m.step, m.view);
}
void fields(auto& a, Is<ViewRefused> auto& m) {
  a(m.query, m.reason);
}
void fields(auto& a, Is<StepErased> auto& m) {
  a(m.step);
}
void fields(auto& a, Is<FileOutdated> auto& m) {
  a(m.step);
}
void fields(auto& a, Is<Lease> auto& m) {
  a(m.query, m.segment, m.bytes);
}
void fields(auto& a, Is<LeaseRefused> auto& m) {
  a(m.query, m.reason);
}
void fields(auto& a, Is<DrainOrder> auto& m) {
  a(m.path, m.version, m.keep, m.part, m.parts, m.drained_logs, m.drained_records, m.run, m.run_begin_ns,
    m.origin);
}
void fields(auto& a, Is<BeginDrain> auto& m) {
  a(m.step, m.order);
}
void fields(auto& a, Is<DrainPart> auto& m) {
  a(m.step, m.tables);
}
void fields(auto& a, Is<FinishDrain> auto& m) {
  a(m.step, m.are_parts_written);
}
void fields(auto& a, Is<FileSource> auto& m) {
  a(m.matcher, m.bytes);
}
void fields(auto& a, Is<MakeImage> auto& m) {
  a(m.step, m.file, m.version, m.source);
}
void fields(auto& a, Is<Look> auto& m) {
  a(m.request);
}
void fields(auto& /*a*/, Is<Ping> auto& /*m*/) {}
void fields(auto& a, Is<StartServing> auto& m) {
  a(m.spill_directory, m.may_spill_elsewhere, m.prewarm_bytes, m.memory_bytes);
}
void fields(auto& a, Is<DrainComponent> auto& m) {
  a(m.component);
}
void fields(auto& /*a*/, Is<ShutDown> auto& /*m*/) {}
void fields(auto& a, Is<TakeSent> auto& m) {
  a(m.component);
}
void fields(auto& a, Is<BeginRound> auto& m) {
  a(m.round, m.task);
}

void fields(auto& a, Is<MessageToRegistry> auto& m) {
  a(m.body, m.matcher);
}
void fields(auto& a, Is<MessageToMatcher> auto& m) {
  a(m.body, m.matcher);
}

SLUICE_MESSAGE(MessageToRegistry)
SLUICE_MESSAGE(MessageToMatcher)

SharedMessage share(MatcherBody body) {
  return std::make_shared<const std::vector<std::byte>>(
      encode(MessageToMatcher{several_matchers, std::move(body)}));
}

}  // namespace sluice::runtime
