#include "sluice/formats/blob_placement.hpp"

#include <algorithm>
#include <optional>
#include <string>

#include "sluice/formats/error.hpp"

namespace sluice::formats {
namespace {

/// A variable whose elements are in blobs.
class BlobPlace final : public VariablePlace {
 public:
  struct Shape {
    bool has_records = false;
    std::int64_t record_size = 0;      ///< in the space
    std::vector<std::int64_t> begins;  ///< begin of the variable in each file, in the space
  };

  /// `entries`: see EntryLookup.
  BlobPlace(std::int64_t element_bytes, std::shared_ptr<const MapEntries> entries, const Header& elements,
            int varid, Shape shape)
      : VariablePlace(element_bytes),
        lookup_(std::move(entries)),
        elements_(elements, layout_, varid),
        shape_(std::move(shape)) {}

  [[nodiscard]] std::optional<FileRun> single_run(const HyperslabView& slab) const override {
    if (slab.elements() == 0) return FileRun{};
    if (shape_.has_records && slab.count[0] != 1) return std::nullopt;
    const auto run = elements_.single_run(within_record(slab));
    if (!run) return std::nullopt;
    const MapEntries::Entry& entry = lookup_(run->offset_bytes);
    if (run->offset_bytes + run->length_bytes > entry.end) return std::nullopt;
    return place(entry, run->offset_bytes, run->length_bytes, shape_.has_records ? slab.start[0] : 0);
  }

  void append(const HyperslabView& slab, std::vector<FileRun>& runs) const override {
    if (slab.elements() == 0) return;
    std::vector<FileRun> elements;
    elements_.append(within_record(slab), elements);
    const std::int64_t records = shape_.has_records ? slab.count[0] : 1;
    for (std::int64_t i = 0; i < records; ++i) {
      const std::int64_t record = shape_.has_records ? slab.start[0] + i * slab.stride_of(0) : 0;
      for (const auto& run : elements) append_elements(run, record, runs);
    }
  }

  [[nodiscard]] std::optional<Displacement> displacement_from(const VariablePlace& other) const override {
    const auto* blob = dynamic_cast<const BlobPlace*>(&other);
    const bool is_same = blob != nullptr && !lookup_.has_holes() &&
                         blob->element_bytes() == element_bytes() && blob->lookup_.has_entries_of(lookup_) &&
                         elements_.is_shaped_as(blob->elements_) &&
                         blob->shape_.has_records == shape_.has_records;
    if (!is_same) return std::nullopt;
    Displacement result{blob->shape_.begins, {}, shape_.has_records ? shape_.record_size : 0};
    for (std::size_t file = 0; file < shape_.begins.size(); ++file)
      result.bytes.push_back(shape_.begins[file] - blob->shape_.begins[file]);
    return result;
  }

 private:
  [[nodiscard]] HyperslabView within_record(const HyperslabView& slab) const noexcept {
    if (!shape_.has_records) return slab;
    return {slab.start.subspan(1), slab.count.subspan(1),
            slab.stride.empty() ? slab.stride : slab.stride.subspan(1)};
  }

  [[nodiscard]] FileRun place(const MapEntries::Entry& entry, std::int64_t offset, std::int64_t length,
                              std::int64_t record) const {
    // A hole: room_for_holes places it at the begin of the space.
    if (entry.holder < 0) return {offset * element_bytes(), length * element_bytes()};
    const std::int64_t element = entry.position + (offset - entry.offset);
    const std::int64_t begin = shape_.begins[static_cast<std::size_t>(entry.holder)];
    // A damaged header can claim 2^60 records, which the layout of a single file may represent.
    std::int64_t place = 0;
    if (__builtin_mul_overflow(record, shape_.record_size, &place) ||
        __builtin_add_overflow(place, begin + element * element_bytes(), &place)) {
      throw Error(NC_EINTOVERFLOW, "record " + std::to_string(record) + " of blobs is beyond 2^63 - 1 bytes");
    }
    return {place, length * element_bytes()};
  }

  void append_elements(const FileRun& elements, std::int64_t record, std::vector<FileRun>& runs) const {
    const std::int64_t end = elements.offset_bytes + elements.length_bytes;
    for (std::int64_t offset = elements.offset_bytes; offset < end;) {
      const MapEntries::Entry& entry = lookup_(offset);
      const std::int64_t next = std::min(end, entry.end);
      runs.push_back(place(entry, offset, next - offset, record));
      offset = next;
    }
  }

  mutable EntryLookup lookup_;
  Layout layout_;
  PlainPlace elements_;  ///< offsets are elements of a record
  Shape shape_;
};

}  // namespace

MapEntries entries_of_map(const Header& header, const Blobs& blobs, int map) {
  const auto& decomposition = blobs.maps[static_cast<std::size_t>(map) - 1];
  struct Held {
    ElementRun run;
    std::int64_t position = 0;
    int file = 0;
  };
  std::vector<Held> all;
  for (int file = 0; file < blobs.files; ++file) {
    std::int64_t position = 0;
    for (int process = blobs.first_process(file); process < blobs.first_process(file + 1); ++process) {
      for (const auto& run : decomposition.runs[static_cast<std::size_t>(process)]) {
        all.push_back({run, position, file});
        position += run.length;
      }
    }
  }
  std::sort(all.begin(), all.end(), [](const Held& a, const Held& b) { return a.run.offset < b.run.offset; });
  MapEntries entries(elements_of_map(header, decomposition));
  for (const auto& held : all) entries.append(held.run, held.position, held.file);
  entries.finish();
  return entries;
}

struct BlobPlacement::Parts {
  Header elements;
  Layout layout;
  std::vector<Header> placed;  ///< header of each file
  std::optional<MapCache> maps;
  struct Variable {
    int kept = Blobs::undecided;
    Type type = Type::nat;
    BlobPlace::Shape shape;
    int varid = -1;  ///< id in the first blob file, for a variable that is whole there
  };
  std::vector<Variable> variables;
};

BlobPlacement::BlobPlacement(const Header& header, const Blobs& blobs, std::span<const FileDescription> files,
                             const FileSpace& space, MapLoader load, std::size_t most_map_bytes) {
  auto parts = std::make_unique<Parts>();
  parts->elements = element_header(header);
  parts->layout = space.layout();
  for (std::size_t file = 0; file < files.size(); ++file)
    parts->placed.push_back(space.placed_header(files[file], static_cast<int>(file)));
  parts->maps.emplace(std::move(load), most_map_bytes);
  for (int id = 0; id < header.variable_count(); ++id) {
    Parts::Variable variable;
    variable.kept = blobs.kept[static_cast<std::size_t>(id)];
    variable.type = header.variable(id).type;
    variable.shape.has_records = header.is_record_variable(id);
    variable.shape.record_size = space.layout().record_size;
    const auto& name = header.variable(id).name;
    if (variable.kept == Blobs::whole) variable.varid = parts->placed[1].find_variable(name);
    for (std::size_t file = 1; variable.kept > 0 && file < files.size(); ++file) {
      const auto& placed = parts->placed[file];
      variable.shape.begins.push_back(placed.variable(placed.find_variable(name)).begin);
    }
    parts->variables.push_back(std::move(variable));
  }
  parts_ = std::move(parts);
}

BlobPlacement::~BlobPlacement() = default;

std::unique_ptr<VariablePlace> BlobPlacement::place_of(int varid) const {
  const auto& variable = parts_->variables[static_cast<std::size_t>(varid)];
  if (variable.kept == Blobs::undecided) return nullptr;
  if (variable.kept == Blobs::whole)
    return std::make_unique<PlainPlace>(parts_->placed[1], parts_->layout, variable.varid);
  return std::make_unique<BlobPlace>(static_cast<std::int64_t>(size_of(variable.type)),
                                     parts_->maps->entries_of(variable.kept), parts_->elements, varid,
                                     variable.shape);
}

}  // namespace sluice::formats
