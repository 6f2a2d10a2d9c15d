// The encoding of what goes between matchers and the registry.
#include "relay_protocol.hpp"
#include "sluice/matcher/registry_requests.hpp"
#include "wire_codec.hpp"
#include "wire_fields.hpp"

namespace sluice::runtime {

void fields(auto& a, Is<RelayItem> auto& m) {
  a(m.kind, m.matcher, m.connection, m.type, m.tag, m.number, m.bytes, m.wanted_bytes, m.text, m.fields);
}
void fields(auto& a, Is<matcher::LogSegment> auto& m) {
  a(m.segment, m.bytes);
}
void fields(auto& a, Is<matcher::LogView> auto& m) {
  a(m.tables, m.data, m.ranges, m.published, m.is_complete, m.is_cut, m.extent, m.begin, m.first_offset);
}
void fields(auto& a, Is<matcher::StepView> auto& m) {
  a(m.step, m.revision, m.is_final, m.rule, m.name, m.header_revision, m.record_count, m.header,
    m.first_own_log, m.pattern, m.logs, m.publish_at, m.partition, m.is_cut, m.control, m.is_apart);
}
void fields(auto& a, Is<DrainOrder> auto& m) {
  a(m.path, m.version, m.keep, m.part, m.parts, m.drained_logs, m.drained_records, m.run, m.run_begin_ns,
    m.origin);
}
void fields(auto& a, Is<TableCopy> auto& m) {
  a(m.segment, m.contents);
}
void fields(auto& a, Is<DrainTables> auto& m) {
  a(m.tables, m.partial);
}
void fields(auto& a, Is<DrainReport> auto& m) {
  a(m.status, m.text, m.bytes, m.partial);
}
void fields(auto& a, Is<matcher::LookRequest> auto& m) {
  a(m.number, m.node, m.index, m.component, m.processes);
}
void fields(auto& a, Is<LeaseReader> auto& m) {
  a(m.matcher, m.connection);
}

SLUICE_MESSAGE(RelayItem)
SLUICE_MESSAGE(matcher::LookRequest)
SLUICE_MESSAGE(LeaseReader)
SLUICE_MESSAGE(DrainOrder)
SLUICE_MESSAGE(DrainReport)
SLUICE_MESSAGE(DrainTables)
SLUICE_MESSAGE(matcher::StepView)

}  // namespace sluice::runtime
