#include "exchange_protocol.hpp"
#include "wire_codec.hpp"
#include "wire_fields.hpp"

namespace sluice::runtime {

SLUICE_FIELDS(Outcome, m.status, m.text)
SLUICE_FIELDS(WriterRequests, m.writer, m.requests, m.lists)
SLUICE_FIELDS(Collect, m.step, m.round, m.is_growing, m.is_from_start, m.reach)
SLUICE_FIELDS(Collected, m.step, m.round, m.reach, m.outcome, m.writers)
SLUICE_FIELDS(PartAccess, m.access, m.varid, m.list)
SLUICE_FIELDS(MatchParts, m.ticket, m.step, m.lists, m.accesses)
SLUICE_FIELDS(PartUse, m.access, m.plan, m.shifts)
SLUICE_FIELDS(MatchedParts, m.ticket, m.outcome, m.plans, m.uses)
SLUICE_FIELDS(FetchItem, m.is_mirrored, m.element_bytes, m.fingerprint, m.copies)
SLUICE_FIELDS(FetchRun, m.bytes, m.parts)
SLUICE_FIELDS(Fetch, m.id, m.step, m.channel, m.runs)
SLUICE_FIELDS(FetchFailed, m.id, m.is_unknown, m.outcome)

SLUICE_FIELDS(Bring, m.ticket, m.step, m.reader, m.is_ahead, m.parts)
SLUICE_FIELDS(BroughtPart, m.places)
SLUICE_FIELDS(Brought, m.ticket, m.is_unknown, m.outcome, m.parts)

SLUICE_FIELDS(MemoryRange, m.segment, m.offset, m.bytes)
SLUICE_FIELDS(FileRange, m.step, m.file, m.offset, m.bytes)
SLUICE_FIELDS(FileFacts, m.bytes, m.mode, m.user, m.group, m.names, m.changed_s, m.changed_ns)
SLUICE_FIELDS(ReadMemory, m.ticket, m.ranges, m.tables, m.file)
SLUICE_FIELDS(MemoryRead, m.ticket, m.outcome, m.bytes, m.facts, m.tables)

SLUICE_MESSAGE(Collect)
SLUICE_MESSAGE(Collected)
SLUICE_MESSAGE(MatchParts)
SLUICE_MESSAGE(MatchedParts)
SLUICE_MESSAGE(Fetch)
SLUICE_MESSAGE(FetchFailed)
SLUICE_MESSAGE(Bring)
SLUICE_MESSAGE(Brought)
SLUICE_MESSAGE(ReadMemory)
SLUICE_MESSAGE(MemoryRead)

}  // namespace sluice::runtime
