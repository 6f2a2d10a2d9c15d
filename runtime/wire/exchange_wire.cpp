#include "exchange_protocol.hpp"
#include "wire_codec.hpp"
#include "wire_fields.hpp"

namespace sluice::runtime {

void fields(auto& a, Is<Outcome> auto& m) {
  a(m.status, m.text);
}
void fields(auto& a, Is<WriterRequests> auto& m) {
  a(m.writer, m.requests, m.lists);
}
void fields(auto& a, Is<Collect> auto& m) {
  a(m.step, m.round, m.is_growing, m.is_from_start, m.reach);
}
void fields(auto& a, Is<Collected> auto& m) {
  a(m.step, m.round, m.reach, m.outcome, m.writers);
}
void fields(auto& a, Is<PartAccess> auto& m) {
  a(m.access, m.varid, m.list);
}
void fields(auto& a, Is<MatchParts> auto& m) {
  a(m.ticket, m.step, m.lists, m.accesses);
}
void fields(auto& a, Is<PartUse> auto& m) {
  a(m.access, m.plan, m.shifts);
}
void fields(auto& a, Is<MatchedParts> auto& m) {
  a(m.ticket, m.outcome, m.plans, m.uses);
}
void fields(auto& a, Is<FetchItem> auto& m) {
  a(m.is_mirrored, m.element_bytes, m.fingerprint, m.copies);
}
void fields(auto& a, Is<FetchRun> auto& m) {
  a(m.bytes, m.parts);
}
void fields(auto& a, Is<Fetch> auto& m) {
  a(m.id, m.step, m.channel, m.runs);
}
void fields(auto& a, Is<FetchOver> auto& m) {
  a(m.id);
}
void fields(auto& a, Is<FetchFailed> auto& m) {
  a(m.id, m.is_unknown, m.outcome);
}

void fields(auto& a, Is<Bring> auto& m) {
  a(m.ticket, m.step, m.reader, m.is_ahead, m.parts);
}
void fields(auto& a, Is<BroughtPart> auto& m) {
  a(m.places);
}
void fields(auto& a, Is<Brought> auto& m) {
  a(m.ticket, m.is_unknown, m.outcome, m.parts);
}

void fields(auto& a, Is<MemoryRange> auto& m) {
  a(m.segment, m.offset, m.bytes);
}
void fields(auto& a, Is<FileRange> auto& m) {
  a(m.step, m.offset, m.bytes);
}
void fields(auto& a, Is<ReadMemory> auto& m) {
  a(m.ticket, m.ranges, m.tables, m.file);
}
void fields(auto& a, Is<MemoryRead> auto& m) {
  a(m.ticket, m.outcome, m.bytes, m.tables);
}

SLUICE_MESSAGE(Collect)
SLUICE_MESSAGE(Collected)
SLUICE_MESSAGE(MatchParts)
SLUICE_MESSAGE(MatchedParts)
SLUICE_MESSAGE(Fetch)
SLUICE_MESSAGE(FetchOver)
SLUICE_MESSAGE(FetchFailed)
SLUICE_MESSAGE(Bring)
SLUICE_MESSAGE(Brought)
SLUICE_MESSAGE(ReadMemory)
SLUICE_MESSAGE(MemoryRead)

}  // namespace sluice::runtime
