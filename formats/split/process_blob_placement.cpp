#include <algorithm>
#include <optional>
#include <utility>

#include "sluice/formats/process_blobs.hpp"

namespace sluice::formats {
namespace {

/// The positions of a variable in the blobs of all processes.
struct BlobsOfVariable {
  std::vector<std::int64_t> begins;        ///< begin for each process, in the space
  std::vector<std::int64_t> record_bytes;  ///< for each process; set if only the variable has records
};

/// A variable whose elements are in blobs.
class BlobPlace final : public VariablePlace {
 public:
  struct Shape {
    bool has_records = false;  ///< of the variable
    bool is_map_with_records = false;
    std::int64_t records = 1;
    std::int64_t record_elements = 0;
  };

  /// `entries`: see EntryLookup.
  BlobPlace(std::int64_t element_bytes, std::shared_ptr<const MapEntries> entries, const Header& elements,
            int varid, Shape shape, BlobsOfVariable blobs)
      : VariablePlace(element_bytes),
        lookup_(std::move(entries)),
        elements_(elements, layout_, varid),
        shape_(shape),
        blobs_(std::move(blobs)) {}

  [[nodiscard]] std::optional<FileRun> single_run(const HyperslabView& slab) const override {
    if (slab.elements() == 0) return FileRun{};
    if (shape_.has_records && slab.count[0] != 1) return std::nullopt;
    const auto run = elements_.single_run(within_record(slab));
    if (!run) return std::nullopt;
    const std::int64_t at = shape_.has_records ? slab.start[0] : 0;
    if (at >= shape_.records) return nowhere(run->offset_bytes, run->length_bytes);
    const auto [record, first] = locate(at, run->offset_bytes);
    const auto& entry = lookup_(first);
    if (first + run->length_bytes > entry.end) return std::nullopt;
    return place(first, run->length_bytes, record);
  }

  void append(const HyperslabView& slab, std::vector<FileRun>& runs) const override {
    if (slab.elements() == 0) return;
    std::vector<FileRun> elements;
    elements_.append(within_record(slab), elements);
    const std::int64_t records = shape_.has_records ? slab.count[0] : 1;
    for (std::int64_t i = 0; i < records; ++i) {
      const std::int64_t at = shape_.has_records ? slab.start[0] + i * slab.stride_of(0) : 0;
      for (const auto& run : elements) {
        if (at >= shape_.records) {
          runs.push_back(nowhere(run.offset_bytes, run.length_bytes));
          continue;
        }
        const auto [record, first] = locate(at, run.offset_bytes);
        append_elements(first, first + run.length_bytes, record, runs);
      }
    }
  }

 private:
  /// An element of a record: the record, and the number of the element in the map.
  struct Element {
    std::int64_t record = 0;
    std::int64_t number = 0;
  };
  [[nodiscard]] Element locate(std::int64_t record, std::int64_t element) const noexcept {
    if (!shape_.is_map_with_records) return {record, element};
    return {0, record * shape_.record_elements + element};
  }

  [[nodiscard]] HyperslabView within_record(const HyperslabView& slab) const noexcept {
    if (!shape_.has_records) return slab;
    return {slab.start.subspan(1), slab.count.subspan(1),
            slab.stride.empty() ? slab.stride : slab.stride.subspan(1)};
  }

  /// A place that reads as zeros: process_blob_space has it at the begin of the space.
  [[nodiscard]] FileRun nowhere(std::int64_t element, std::int64_t length) const noexcept {
    return {element * element_bytes(), length * element_bytes()};
  }

  [[nodiscard]] FileRun place(std::int64_t offset, std::int64_t length, std::int64_t record) const {
    const auto& entry = lookup_(offset);
    if (entry.holder < 0) return nowhere(offset, length);
    const auto process = static_cast<std::size_t>(entry.holder);
    const std::int64_t element = entry.position + (offset - entry.offset);
    return {blobs_.begins[process] + record * blobs_.record_bytes[process] + element * element_bytes(),
            length * element_bytes()};
  }

  void append_elements(std::int64_t first, std::int64_t end, std::int64_t record,
                       std::vector<FileRun>& runs) const {
    while (first < end) {
      const std::int64_t next = std::min(end, lookup_(first).end);
      runs.push_back(place(first, next - first, record));
      first = next;
    }
  }

  mutable EntryLookup lookup_;
  Layout layout_;
  PlainPlace elements_;  ///< offsets are elements of a record
  Shape shape_;
  BlobsOfVariable blobs_;
};

}  // namespace

struct ProcessBlobPlacement::Parts {
  ProcessBlobDataset dataset;
  Header elements;
  std::vector<std::int64_t> file_begins;  ///< begins of the data_blobs in the space

  std::optional<MapCache> maps;

  [[nodiscard]] BlobsOfVariable blobs_of(int varid) const {
    BlobsOfVariable result;
    const auto& blobs = dataset.dataset.blobs;
    // The bytes of the preceding variables in a blob with one element of each map.
    BlobContents single;
    single.maps.assign(blobs.maps.size(), {0, 1, 0});
    std::vector<std::int64_t> before(blobs.maps.size());
    std::int64_t whole_before = 0;
    for (int id = 0; id < varid; ++id) {
      const int kept = blobs.kept[static_cast<std::size_t>(id)];
      const std::int64_t bytes = bytes_in_blob(dataset.dataset, id, 0, single).all;
      (kept > 0 ? before[static_cast<std::size_t>(kept) - 1] : whole_before) += bytes;
    }
    for (int process = 0; process < blobs.processes; ++process) {
      const auto& contents = dataset.contents[static_cast<std::size_t>(process)];
      const int file = blobs.file_of(process);
      const bool has_whole = process == blobs.first_process(file) && blobs.has(file, Blobs::whole);
      std::int64_t begin =
          file_begins[static_cast<std::size_t>(file)] + contents.data_begin + (has_whole ? whole_before : 0);
      for (std::size_t map = 0; map < before.size(); ++map)
        begin += contents.maps[map].elements * before[map];
      result.begins.push_back(begin);
      result.record_bytes.push_back(bytes_in_blob(dataset.dataset, varid, process, contents).one);
    }
    return result;
  }
};

ProcessBlobPlacement::ProcessBlobPlacement(ProcessBlobDataset dataset, BlobReader read,
                                           std::size_t most_map_bytes)
    : parts_(std::make_unique<Parts>()) {
  parts_->dataset = std::move(dataset);
  parts_->maps.emplace(
      [parts = parts_.get(), read = std::move(read)](int map) { return parts->dataset.read_map(map, read); },
      most_map_bytes);
  parts_->elements = element_header(parts_->dataset.dataset.header);
  const auto space = process_blob_space(parts_->dataset, 0);
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < space.size(); ++i) {
    if (i > 0) parts_->file_begins.push_back(begin);
    begin += space[i].layout.record_begin - space[i].layout.header_extent;
  }
}

ProcessBlobPlacement::~ProcessBlobPlacement() = default;

ByteOrder ProcessBlobPlacement::byte_order() const noexcept {
  return parts_->dataset.files.front().order;
}

const ProcessBlobDataset& ProcessBlobPlacement::dataset() const noexcept {
  return parts_->dataset;
}

std::unique_ptr<VariablePlace> ProcessBlobPlacement::place_of(int varid) const {
  const auto& [header, blobs] = parts_->dataset.dataset;
  const int kept = blobs.kept[static_cast<std::size_t>(varid)];
  BlobPlace::Shape shape;
  shape.has_records = header.is_record_variable(varid);
  shape.record_elements = header.elements_per_record(varid);
  if (shape.has_records) shape.records = header.record_count;
  std::shared_ptr<const MapEntries> entries;  // shared: see EntryLookup
  if (kept > Blobs::whole) {
    shape.is_map_with_records = has_records(header, blobs.maps[static_cast<std::size_t>(kept) - 1]);
    entries = parts_->maps->entries_of(kept);
  } else {
    // The first process's blob has the whole variable, or no blob has it.
    MapEntries one(shape.record_elements);
    one.append({0, shape.record_elements}, 0, kept == Blobs::whole ? 0 : -1);
    one.finish();
    entries = std::make_shared<const MapEntries>(std::move(one));
  }
  return std::make_unique<BlobPlace>(static_cast<std::int64_t>(size_of(header.variable(varid).type)),
                                     std::move(entries), parts_->elements, varid, shape,
                                     parts_->blobs_of(varid));
}

}  // namespace sluice::formats
