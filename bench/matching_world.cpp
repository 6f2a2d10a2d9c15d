#include "matching_world.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <random>
#include <utility>

#include "sluice/formats/cdf.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/matcher/step_pattern.hpp"
#include "sluice/runtime/read_lists.hpp"

namespace sluice::bench {

void Boxes::add(std::initializer_list<std::int64_t> start, std::initializer_list<std::int64_t> count) {
  numbers_.insert(numbers_.end(), start);
  numbers_.insert(numbers_.end(), count);
}

std::vector<formats::HyperslabView> Boxes::views() const {
  std::vector<formats::HyperslabView> views;
  for (std::size_t at = 0; at < numbers_.size(); at += 2 * dimensions_) {
    const std::span<const std::int64_t> numbers(numbers_);
    views.push_back({numbers.subspan(at, dimensions_), numbers.subspan(at + dimensions_, dimensions_), {}});
  }
  return views;
}

namespace {

formats::Header header_with(const std::vector<std::int64_t>& lengths) {
  formats::Header header;
  header.version = formats::Version::cdf5;
  for (const std::int64_t length : lengths)
    header.add_dimension({.name = "d" + std::to_string(header.dimension_count()), .length = length});
  return header;
}

void add_variables(formats::Header& header, int count, const std::vector<int>& dimids) {
  for (int i = 0; i < count; ++i) {
    formats::Variable variable;
    variable.name = "v" + std::to_string(header.variable_count());
    variable.type = formats::Type::float32;
    variable.dimids = dimids;
    header.add_variable(std::move(variable));
  }
}

std::vector<std::int32_t> numbers_of(const std::string& file, const formats::Header& header,
                                     const std::string& name) {
  const formats::Variable& variable = header.variable(header.find_variable(name));
  const auto count = static_cast<std::size_t>(header.dimension(variable.dimids.at(0)).length);
  std::vector<std::int32_t> numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, file.data() + variable.begin + i * sizeof bits, sizeof bits);
    numbers[i] = static_cast<std::int32_t>(__builtin_bswap32(bits));
  }
  return numbers;
}

}  // namespace

Case shuffled(std::size_t pieces) {
  Case made{.name = std::to_string(pieces) + " shuffled pieces",
            .header = header_with({static_cast<std::int64_t>(pieces)}),
            .groups = {{0, 1, {}, false}},
            .part_of_reader = {},
            .reads = {}};
  add_variables(made.header, 1, {0});
  const auto deal = [&](unsigned seed) {
    std::vector<std::int64_t> order(pieces);
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
    std::vector<Boxes> parts(processes, Boxes(1));
    for (std::size_t i = 0; i < pieces; ++i) parts[i * processes / pieces].add({order[i]}, {1});
    return parts;
  };
  made.groups[0].of_process = deal(1);
  made.reads = deal(2);
  return made;
}

Case climate(const std::string& path) {
  constexpr std::int64_t columns = 866;
  std::ifstream stream(path, std::ios::binary);
  const std::string file((std::istreambuf_iterator<char>(stream)), {});
  const auto bytes = std::as_bytes(std::span(file));
  const formats::Header map = formats::decode_metadata(bytes, path);
  Case made{.name = "E3SM F case",
            .header = header_with({1, 72, columns}),
            .groups = {},
            .part_of_reader = [](std::size_t reader) { return (reader + 5) % processes; },
            .reads = {}};
  const auto add_group = [&](const std::string& name, int variables, const std::vector<int>& dimids) {
    Group group{made.header.variable_count(), 0, {}, true};
    add_variables(made.header, variables, dimids);
    group.end = made.header.variable_count();
    const auto parts = numbers_of(file, map, name + ".nreqs");
    const auto offsets = numbers_of(file, map, name + ".offsets");
    const auto lengths = numbers_of(file, map, name + ".lengths");
    std::size_t at = 0;
    for (const std::int32_t count : parts) {
      Boxes& boxes = group.of_process.emplace_back(dimids.size());
      for (std::int32_t i = 0; i < count; ++i, ++at) {
        const std::int64_t level = offsets[at] / columns;
        const std::int64_t column = offsets[at] % columns;
        if (dimids.size() == 3) boxes.add({0, level, column}, {1, 1, lengths[at]});
        if (dimids.size() == 2) boxes.add({0, column}, {1, lengths[at]});
        if (dimids.size() == 1) boxes.add({column}, {lengths[at]});
      }
    }
    made.groups.push_back(std::move(group));
  };
  add_group("D1", 1, {2});
  add_group("D2", 2, {2});
  add_group("D2", 321, {0, 2});
  add_group("D3", 63, {0, 1, 2});
  return made;
}

MatchingWorld::MatchingWorld(const Case& what, std::uint32_t nodes, std::uint32_t per_node)
    : per_node_(per_node), memories_(nodes * per_node), step_(what) {
  auto view = std::make_shared<matcher::StepView>();
  view->step = 1;
  view->is_final = true;
  view->header = formats::encode_header(what.header);
  for (std::uint32_t writer = 0; writer < processes; ++writer) put(*view, writer);
  view_ = std::move(view);
}

runtime::Get MatchingWorld::get_of(std::size_t reader) const {
  std::deque<std::vector<formats::HyperslabView>> lists;  // keeps its addresses until take()
  runtime::GetWriter writer(1);
  for (const Group& group : step_.groups) {
    const Boxes& boxes =
        step_.reads.empty() ? group.of_process[step_.part_of_reader(reader)] : step_.reads[reader];
    lists.push_back(boxes.views());
    if (lists.back().empty()) continue;
    for (int varid = group.first; varid < group.end; ++varid) writer.add(varid, lists.back());
  }
  return writer.take();
}

void MatchingWorld::put(matcher::StepView& view, std::uint32_t writer) {
  std::vector<matcher::TableEntry> entries;
  std::deque<std::vector<formats::HyperslabView>> lists;
  matcher::LogPatternBuilder pattern(0);
  std::uint64_t offset = 0;
  const auto take = [&](matcher::TableEntry entry, int varid, std::span<const formats::HyperslabView> boxes) {
    entry.varid = varid;
    entry.sequence = ++sequence_;
    entry.log_offset = offset;
    for (const formats::HyperslabView& box : boxes)
      offset += sizeof(float) * static_cast<std::uint64_t>(box.elements());
    entries.push_back(entry);
    pattern.add({varid, false, false, entry.log_offset, step_.header.variable(varid).dimids},
                matcher::summarize(boxes, false));
  };
  std::uint64_t known_lists = 0;
  for (const Group& group : step_.groups) {
    lists.push_back(group.of_process[writer].views());
    const auto& boxes = lists.back();
    if (boxes.empty()) continue;
    if (group.is_list) {
      matcher::TableEntry list;
      list.kind = matcher::EntryKind::list;
      list.boxes = boxes;
      entries.push_back(list);
      matcher::TableEntry request;
      request.kind = matcher::EntryKind::list_request;
      request.element_bytes = sizeof(float);
      request.dimensions = boxes.front().start.size();
      request.list = known_lists++;
      for (int varid = group.first; varid < group.end; ++varid) take(request, varid, boxes);
    } else {
      for (const formats::HyperslabView& box : boxes) {
        matcher::TableEntry request;
        request.box = box;
        take(request, group.first, std::span(&box, 1));
      }
    }
  }
  write_table(view, writer, entries, offset);
  view.logs.back().extent = pattern.extent();
}

void MatchingWorld::write_table(matcher::StepView& view, std::uint32_t writer,
                                std::vector<matcher::TableEntry>& entries, std::uint64_t data_bytes) {
  const std::uint32_t rank = rank_of_process(writer);
  const matcher::SegmentId table = matcher::segment_id(place(rank), 2 * writer + 1);
  const matcher::SegmentId data = matcher::segment_id(place(rank), 2 * writer + 2);
  matcher::TableEntry segment;
  segment.kind = matcher::EntryKind::segment;
  segment.length_bytes = data_bytes;
  segment.segment_id = data;
  entries.insert(entries.begin(), segment);
  std::uint64_t bytes = 8;
  for (const matcher::TableEntry& entry : entries) bytes += matcher::TableWriter::entry_bytes(entry);
  memories_[rank].create(table, bytes);
  matcher::TableWriter chunk(memories_[rank].writable(table));
  for (const matcher::TableEntry& entry : entries) {
    if (!chunk.append(entry)) throw Error(NC_EIO, "the table is too small");
  }
  chunk.commit();
  matcher::LogView& log = view.logs.emplace_back();
  log.tables.push_back({table, bytes});
  log.data.push_back({data, data_bytes});
  log.ranges.push_back({writer, 0, data_bytes, data, 0});
  log.published = {1, chunk.used_bytes()};
}

}  // namespace sluice::bench
