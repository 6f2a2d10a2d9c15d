#include <algorithm>
#include <optional>

#include "sluice/formats/blobs.hpp"

namespace sluice::formats {
namespace {

/// Where a run of a map's elements is: in which file, from which element of the file's part on.
struct Entry {
  std::int64_t offset = 0;
  std::int64_t length = 0;
  int file = 0;
  std::int64_t position = 0;

  [[nodiscard]] std::int64_t end() const noexcept { return offset + length; }
};

/// The runs of all blobs in canonical order.
std::vector<Entry> entries_of(const Blobs& blobs, const DecompositionMap& map) {
  std::vector<Entry> entries;
  for (int file = 0; file < blobs.files; ++file) {
    std::int64_t position = 0;
    for (int process = blobs.first_process(file); process < blobs.first_process(file + 1); ++process) {
      for (const auto& run : map.runs[static_cast<std::size_t>(process)]) {
        entries.push_back({run.offset, run.length, file, position});
        position += run.length;
      }
    }
  }
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.offset < b.offset; });
  return entries;
}

/// A variable whose elements are in blobs.
class BlobPlace final : public VariablePlace {
 public:
  struct Shape {
    bool has_records = false;
    std::int64_t record_size = 0;      ///< in the space
    std::vector<std::int64_t> begins;  ///< of the variable, by file, in the space
  };

  BlobPlace(std::int64_t element_bytes, const std::vector<Entry>& entries, const Header& elements, int varid,
            Shape shape)
      : VariablePlace(element_bytes),
        entries_(entries),
        elements_(elements, layout_, varid),
        shape_(std::move(shape)) {}

  [[nodiscard]] std::optional<FileRun> single_run(const HyperslabView& slab) const override {
    if (slab.elements() == 0) return FileRun{};
    if (shape_.has_records && slab.count[0] != 1) return std::nullopt;
    const auto run = elements_.single_run(within_record(slab));
    if (!run) return std::nullopt;
    const Entry& entry = entry_at(run->offset_bytes);
    if (run->offset_bytes + run->length_bytes > entry.end()) return std::nullopt;
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

 private:
  [[nodiscard]] HyperslabView within_record(const HyperslabView& slab) const noexcept {
    if (!shape_.has_records) return slab;
    return {slab.start.subspan(1), slab.count.subspan(1),
            slab.stride.empty() ? slab.stride : slab.stride.subspan(1)};
  }

  /// The entry that has the element; neighbours are mostly asked for one after the other.
  [[nodiscard]] const Entry& entry_at(std::int64_t offset) const {
    const auto has = [&](std::size_t i) {
      return i < entries_.size() && entries_[i].offset <= offset && offset < entries_[i].end();
    };
    if (!has(last_) && !has(++last_)) {
      const auto behind =
          std::upper_bound(entries_.begin(), entries_.end(), offset,
                           [](std::int64_t at, const Entry& entry) { return at < entry.offset; });
      last_ = static_cast<std::size_t>(behind - entries_.begin()) - 1;
    }
    return entries_[last_];
  }

  [[nodiscard]] FileRun place(const Entry& entry, std::int64_t offset, std::int64_t length,
                              std::int64_t record) const {
    const std::int64_t element = entry.position + (offset - entry.offset);
    return {shape_.begins[static_cast<std::size_t>(entry.file)] + record * shape_.record_size +
                element * element_bytes(),
            length * element_bytes()};
  }

  void append_elements(const FileRun& elements, std::int64_t record, std::vector<FileRun>& runs) const {
    const std::int64_t end = elements.offset_bytes + elements.length_bytes;
    for (std::int64_t offset = elements.offset_bytes; offset < end;) {
      const Entry& entry = entry_at(offset);
      const std::int64_t next = std::min(end, entry.end());
      runs.push_back(place(entry, offset, next - offset, record));
      offset = next;
    }
  }

  const std::vector<Entry>& entries_;
  Layout layout_;
  PlainPlace elements_;  ///< offsets are elements of a record
  Shape shape_;
  mutable std::size_t last_ = 0;
};

}  // namespace

struct BlobPlacement::Parts {
  Header elements;
  Layout layout;
  std::vector<Header> placed;  ///< by file
  std::vector<std::vector<Entry>> maps;
  struct Variable {
    int kept = Blobs::undecided;
    Type type = Type::nat;
    BlobPlace::Shape shape;
    int varid = -1;  ///< in the first blob file, where it is whole
  };
  std::vector<Variable> variables;
};

BlobPlacement::BlobPlacement(const Header& header, const Blobs& blobs, std::span<const FileDescription> files,
                             const FileSpace& space) {
  auto parts = std::make_unique<Parts>();
  parts->elements = element_header(header);
  parts->layout = space.layout();
  for (std::size_t file = 0; file < files.size(); ++file)
    parts->placed.push_back(space.placed_header(files[file], static_cast<int>(file)));
  for (const auto& map : blobs.maps) parts->maps.push_back(entries_of(blobs, map));
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
                                     parts_->maps[static_cast<std::size_t>(variable.kept) - 1],
                                     parts_->elements, varid, variable.shape);
}

}  // namespace sluice::formats
