#pragma once
// The fields of structs that are parts of messages between processes and matchers, and between matchers.
#include "sluice/matcher/dataset_key.hpp"
#include "sluice/matcher/log_range.hpp"
#include "sluice/matcher/log_shift.hpp"
#include "sluice/matcher/request_table.hpp"
#include "sluice/matcher/step_pattern.hpp"
#include "wire_codec.hpp"

namespace sluice::runtime {

void fields(auto& a, Is<matcher::LogRange> auto& m) {
  a(m.writer, m.log_offset, m.length_bytes, m.segment, m.segment_offset);
}
void fields(auto& a, Is<matcher::LogShift> auto& m) {
  a(m.writer, m.bytes);
}
void fields(auto& a, Is<matcher::Keep> auto& m) {
  a(m.keeps, m.variables);
}
void fields(auto& a, Is<matcher::TablePosition> auto& m) {
  a(m.chunks, m.bytes, m.lists);
}
void fields(auto& a, Is<matcher::Fingerprint> auto& m) {
  a(m.low, m.high);
}
void fields(auto& a, Is<matcher::LogExtent::Dimension> auto& m) {
  a(m.dimid, m.first, m.end);
}
void fields(auto& a, Is<matcher::LogExtent> auto& m) {
  a(m.is_known, m.variables, m.dimensions);
}
void fields(auto& a, Is<matcher::StepPattern> auto& m) {
  a(m.whole, m.latest, m.base_record, m.first_writer, m.last_put);
}

}  // namespace sluice::runtime
