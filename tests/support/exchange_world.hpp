#pragma once
// A step whose writers belong to several matchers in one process. Each matcher has the tables of its writers
// in its own memory. The data is kept separately. A dense array has the values that readers must get.
#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <vector>

#include "sluice/formats/cdf.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/formats/slab_list.hpp"
#include "sluice/matcher/request_table.hpp"
#include "sluice/matcher/segment_pool.hpp"
#include "sluice/matcher/step_pattern.hpp"
#include "sluice/matcher/step_view.hpp"
#include "support/dense_reference.hpp"

namespace sluice::test {

/// The segments of one matcher, in plain memory.
class RankMemory final : public matcher::SegmentMemory {
 public:
  void create(matcher::SegmentId segment, std::uint64_t bytes) override { segments_[segment].resize(bytes); }
  bool create_spilled(matcher::SegmentId segment, std::uint64_t bytes, matcher::DiskRoom /*room*/) override {
    create(segment, bytes);
    return true;
  }
  void clear(matcher::SegmentId, matcher::SegmentUse) override {}
  bool destroy(matcher::SegmentId segment) noexcept override {
    segments_.erase(segment);
    return true;
  }
  std::span<const std::byte> contents(matcher::SegmentId segment) override { return writable(segment); }
  void mark_gone(matcher::SegmentId, std::uint32_t) noexcept override {}

  [[nodiscard]] std::span<std::byte> writable(matcher::SegmentId segment) {
    const auto found = segments_.find(segment);
    if (found == segments_.end()) throw Error(NC_EIO, "this rank has no such segment");
    return found->second;
  }

 private:
  std::map<matcher::SegmentId, std::vector<std::byte>> segments_;
};

/// A step of int32 variables. Each writer's log belongs to one matcher.
class SpreadStep {
 public:
  static constexpr std::int32_t fill = -7;
  static constexpr std::size_t element_bytes = sizeof(std::int32_t);

  /// `writers[i]`: the matcher of writer i. `ranks`: the memories of the matchers; they must outlive this
  /// object.
  SpreadStep(formats::Header header, std::vector<matcher::MatcherPlace> writers,
             std::function<RankMemory&(matcher::MatcherPlace)> memory)
      : header_(std::move(header)), places_(std::move(writers)), memory_(std::move(memory)) {
    view_.step = 1;
    view_.header = formats::encode_header(header_);
    view_.record_count = header_.record_count;
    view_.logs.resize(places_.size());
    logs_.resize(places_.size());
    for (int varid = 0; varid < header_.variable_count(); ++varid) {
      dense_.emplace_back(static_cast<std::size_t>(elements_of(header_.shape(varid))), fill);
    }
  }

  /// Puts values that no other put has.
  void put(std::uint32_t writer, int varid, const formats::Hyperslab& box) {
    const std::int64_t elements = elements_of(box.count);
    const std::uint64_t offset = reserve(writer, static_cast<std::uint64_t>(elements) * element_bytes);
    store(writer, varid, offset, box);
    note(writer, varid, {box});
    append(writer, entry_of(matcher::EntryKind::request, varid, offset, box));
  }
  /// Puts a list of boxes. The writer's table stores a list once, however often it is put.
  void put_list(std::uint32_t writer, int varid, const std::vector<formats::Hyperslab>& boxes) {
    std::vector<formats::HyperslabView> views;
    std::int64_t elements = 0;
    for (const formats::Hyperslab& box : boxes) {
      views.push_back(box.view());
      elements += elements_of(box.count);
    }
    auto& lists = logs_[writer].lists;
    const auto is_it = [&](const formats::SlabList& list) { return list.holds(views); };
    const auto known = std::ranges::find_if(lists, is_it);
    matcher::TableEntry entry;
    entry.list = static_cast<std::uint64_t>(known - lists.begin());
    if (known == lists.end()) {
      lists.emplace_back(views);
      entry.kind = matcher::EntryKind::list;
      entry.boxes = views;
      append(writer, entry);
    }
    entry.kind = matcher::EntryKind::list_request;
    entry.varid = varid;
    entry.sequence = ++sequence_;
    entry.log_offset = reserve(writer, static_cast<std::uint64_t>(elements) * element_bytes);
    entry.element_bytes = element_bytes;
    entry.dimensions = boxes.front().start.size();
    note(writer, varid, boxes);
    std::uint64_t offset = entry.log_offset;
    for (const formats::Hyperslab& box : boxes) {
      store(writer, varid, offset, box);
      offset += static_cast<std::uint64_t>(elements_of(box.count)) * element_bytes;
    }
    append(writer, entry);
  }
  void fill_box(std::uint32_t writer, int varid, const formats::Hyperslab& box) {
    const std::vector<std::int64_t> shape = header_.shape(varid);
    for_each_element(box.view(), [&](const std::vector<std::int64_t>& index, std::int64_t) {
      dense_[static_cast<std::size_t>(varid)][position_of(shape, index)] = fill;
    });
    note(writer, varid, {box});
    append(writer, entry_of(matcher::EntryKind::fill, varid, 0, box));
  }
  void publish() {
    view_.is_final = true;
    for (std::uint32_t writer = 0; writer < writers(); ++writer) {
      view_.logs[writer].extent = logs_[writer].pattern.extent();
      for (const auto& [offset, segment] : logs_[writer].ranges) {
        const std::uint64_t bytes = memory_(places_[writer]).contents(segment).size();
        view_.logs[writer].ranges.push_back({writer, offset, bytes, segment, 0});
      }
    }
    ++view_.revision;
  }
  /// Overwrites a word of a writer's table.
  void damage(std::uint32_t writer, std::size_t word, std::uint64_t value) {
    const auto chunk = memory_(places_[writer]).writable(view_.logs[writer].tables.front().segment);
    std::memcpy(chunk.data() + word * sizeof value, &value, sizeof value);
  }

  /// The values that a read of these hyperslabs, one after another, must give.
  [[nodiscard]] std::vector<std::int32_t> expected(int varid,
                                                   const std::vector<formats::Hyperslab>& reads) const {
    std::vector<std::int32_t> values;
    const std::vector<std::int64_t> shape = header_.shape(varid);
    for (const formats::Hyperslab& read : reads) {
      for_each_element(read.view(), [&](const std::vector<std::int64_t>& index, std::int64_t) {
        values.push_back(dense_[static_cast<std::size_t>(varid)][position_of(shape, index)]);
      });
    }
    return values;
  }

  [[nodiscard]] const matcher::StepView& view() const noexcept { return view_; }
  [[nodiscard]] const formats::Header& header() const noexcept { return header_; }
  [[nodiscard]] std::uint32_t writers() const noexcept { return static_cast<std::uint32_t>(places_.size()); }
  [[nodiscard]] matcher::MatcherPlace place_of(std::uint32_t writer) const { return places_[writer]; }

  /// The bytes of a writer's log from an offset to the end of its segment.
  [[nodiscard]] std::span<std::byte> at(std::uint32_t writer, std::uint64_t log_offset) {
    const Log& log = logs_[writer];
    const auto next = log.ranges.upper_bound(log_offset);
    if (next == log.ranges.begin()) return {};
    const auto range = std::prev(next);
    auto bytes = memory_(places_[writer]).writable(range->second);
    if (next != log.ranges.end()) bytes = bytes.first(std::min(bytes.size(), next->first - range->first));
    if (log_offset - range->first >= bytes.size()) return {};
    return bytes.subspan(log_offset - range->first);
  }

 private:
  static constexpr std::size_t table_chunk_bytes = 512;
  static constexpr std::size_t data_segment_bytes = 4096;

  struct Log {
    matcher::TableWriter table;
    std::vector<formats::SlabList> lists;
    matcher::LogPatternBuilder pattern{0};
    std::uint64_t next_offset = 0;
    std::map<std::uint64_t, matcher::SegmentId> ranges;  ///< by log offset
    std::uint64_t end = 0;                               ///< the end of the last data segment
  };

  void note(std::uint32_t writer, int varid, const std::vector<formats::Hyperslab>& boxes) {
    std::vector<formats::HyperslabView> views;
    for (const formats::Hyperslab& box : boxes) views.push_back(box.view());
    logs_[writer].pattern.add({varid, false, false, 0, header_.variable(varid).dimids},
                              matcher::summarize(views, false));
  }

  void store(std::uint32_t writer, int varid, std::uint64_t offset, const formats::Hyperslab& box) {
    auto* const values = reinterpret_cast<std::int32_t*>(at(writer, offset).data());
    const std::vector<std::int64_t> shape = header_.shape(varid);
    for_each_element(box.view(), [&](const std::vector<std::int64_t>& index, std::int64_t position) {
      values[position] = next_value_;
      dense_[static_cast<std::size_t>(varid)][position_of(shape, index)] = next_value_++;
    });
  }

  [[nodiscard]] matcher::TableEntry entry_of(matcher::EntryKind kind, int varid, std::uint64_t offset,
                                             const formats::Hyperslab& box) {
    matcher::TableEntry entry;
    entry.kind = kind;
    entry.varid = varid;
    entry.sequence = ++sequence_;
    entry.log_offset = offset;
    entry.box = box.view();
    return entry;
  }

  void append(std::uint32_t writer, const matcher::TableEntry& entry) {
    Log& log = logs_[writer];
    if (view_.logs[writer].tables.empty() || !log.table.append(entry)) {
      const std::uint64_t bytes =
          std::max<std::uint64_t>(table_chunk_bytes, 8 + matcher::TableWriter::entry_bytes(entry));
      const matcher::SegmentId segment = make(writer, bytes);
      view_.logs[writer].tables.push_back({segment, bytes});
      log.table = matcher::TableWriter(memory_(places_[writer]).writable(segment));
      if (!log.table.append(entry)) throw Error(NC_EIO, "too large for this test");
    }
    log.table.commit();
    ++view_.revision;
  }

  [[nodiscard]] std::uint64_t reserve(std::uint32_t writer, std::uint64_t bytes) {
    Log& log = logs_[writer];
    std::uint64_t offset = (log.next_offset + 7) / 8 * 8;
    if (offset + bytes > log.end) {
      const std::uint64_t size = std::max<std::uint64_t>(bytes, data_segment_bytes);
      const matcher::SegmentId segment = make(writer, size);
      view_.logs[writer].data.push_back({segment, size});
      log.ranges[offset] = segment;
      log.end = offset + size;
      matcher::TableEntry entry;
      entry.kind = matcher::EntryKind::segment;
      entry.log_offset = offset;
      entry.length_bytes = size;
      entry.segment_id = segment;
      append(writer, entry);
    }
    log.next_offset = offset + bytes;
    return offset;
  }

  [[nodiscard]] matcher::SegmentId make(std::uint32_t writer, std::uint64_t bytes) {
    const matcher::SegmentId segment = matcher::segment_id(places_[writer], next_segment_++);
    memory_(places_[writer]).create(segment, bytes);
    return segment;
  }

  formats::Header header_;
  std::vector<matcher::MatcherPlace> places_;
  std::function<RankMemory&(matcher::MatcherPlace)> memory_;
  matcher::StepView view_;
  std::deque<Log> logs_;
  std::vector<std::vector<std::int32_t>> dense_;
  std::uint64_t sequence_ = 0;
  std::uint64_t next_segment_ = 1;
  std::int32_t next_value_ = 1;
};

/// A header of int32 variables of these shapes. A shape that begins with -1 has `records` records.
[[nodiscard]] inline formats::Header header_of_shapes(const std::vector<std::vector<std::int64_t>>& shapes,
                                                      std::int64_t records) {
  formats::Header header;
  header.version = formats::Version::cdf5;
  header.record_count = records;
  int record_dimension = -1;
  for (const auto& shape : shapes) {
    formats::Variable variable;
    variable.name = "v" + std::to_string(header.variable_count());
    variable.type = formats::Type::int32;
    for (const std::int64_t length : shape) {
      const bool is_record = length < 0;
      if (is_record && record_dimension >= 0) {
        variable.dimids.push_back(record_dimension);
        continue;
      }
      formats::Dimension dimension;
      dimension.name = "d" + std::to_string(header.dimension_count());
      dimension.length = is_record ? 0 : length;
      dimension.is_record = is_record;
      variable.dimids.push_back(header.add_dimension(dimension));
      if (is_record) record_dimension = variable.dimids.back();
    }
    header.add_variable(variable);
  }
  return header;
}

}  // namespace sluice::test
