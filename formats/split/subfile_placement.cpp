#include <algorithm>
#include <utility>

#include "file_runs.hpp"
#include "sluice/formats/subfiles.hpp"

namespace sluice::formats {
namespace {

/// The part of a hyperslab in one subfile: elements [first, last) of the divided dimension's count.
struct Piece {
  int subfile = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
};

/// The place of a variable in several subfiles.
class DividedPlace final : public VariablePlace {
 public:
  /// The data that describes the place, in the order of SubfilePlacement's arguments.
  struct Source {
    const Header& header;
    const Subfiling& subfiling;
    std::span<const FileSections> subfiles;
    const FileSpace& space;
  };

  DividedPlace(const Source& source, int varid)
      : VariablePlace(static_cast<std::int64_t>(size_of(source.header.variable(varid).type))),
        source_(source),
        division_(*source.subfiling.division_of(varid)),
        varid_(varid) {}

  [[nodiscard]] std::optional<FileRun> single_run(const HyperslabView& slab) const override {
    if (slab.elements() == 0) return FileRun{};
    const int subfile = subfile_of(slab.start[dimension()]);
    if (slab.end_of(division_.dimension) > division_.first[static_cast<std::size_t>(subfile) + 1])
      return std::nullopt;
    return place_in(subfile).single_run(slab);
  }

  [[nodiscard]] std::optional<Displacement> displacement_from(const VariablePlace& other) const override {
    const auto* divided = dynamic_cast<const DividedPlace*>(&other);
    const bool is_same = divided != nullptr && divided->division_.dimension == division_.dimension &&
                         divided->division_.first == division_.first;
    if (!is_same) return std::nullopt;
    Displacement result;
    result.record_size = source_.header.is_record_variable(varid_) ? source_.space.layout().record_size : 0;
    for (int i = 0; i < source_.subfiling.subfiles(); ++i) {
      const PlainPlace here = plain_place(i);
      const PlainPlace there = divided->plain_place(i);
      const std::int64_t first = division_.first[static_cast<std::size_t>(i)];
      if (!here.is_shaped_as(there)) return std::nullopt;
      result.begins.push_back(there.begin_of(dimension(), first));
      result.bytes.push_back(here.begin_of(dimension(), first) - result.begins.back());
    }
    return result;
  }

  void append(const HyperslabView& slab, std::vector<FileRun>& runs) const override {
    if (slab.elements() == 0) return;
    const auto pieces = pieces_of(slab);
    if (pieces.size() == 1) return place_in(pieces.front().subfile).append(slab, runs);
    append_rows(slab, pieces, runs);
  }

 private:
  [[nodiscard]] std::size_t dimension() const noexcept {
    return static_cast<std::size_t>(division_.dimension);
  }
  [[nodiscard]] int subfile_of(std::int64_t index) const {
    const auto& first = division_.first;
    return static_cast<int>(std::upper_bound(first.begin(), first.end(), index) - first.begin()) - 1;
  }

  /// The place in one subfile, shifted so that indexes of the whole variable give the right positions.
  [[nodiscard]] PlainPlace plain_place(int subfile) const {
    const auto& dimids = source_.header.variable(varid_).dimids;
    ElementSteps steps;
    steps.element_bytes = element_bytes();
    steps.step_bytes.resize(dimids.size());
    std::int64_t step = element_bytes();
    for (std::size_t d = dimids.size(); d-- > 0;) {
      const auto& length = source_.header.dimension(dimids[d]);
      steps.step_bytes[d] = length.is_record ? source_.space.layout().record_size : step;
      step *= d == dimension() ? division_.length_in(subfile) : length.length;
    }
    const auto i = static_cast<std::size_t>(subfile);
    const auto id = static_cast<std::size_t>(source_.subfiling.id_in_subfiles(varid_));
    const bool is_record = source_.header.is_record_variable(varid_);
    steps.begin = source_.space.placed(subfile + 1, source_.subfiles[i].begins[id], is_record) -
                  division_.first[i] * steps.step_bytes[dimension()];
    return PlainPlace(std::move(steps));
  }

  /// Cached between calls, because neighbours are usually in the same subfile.
  [[nodiscard]] const PlainPlace& place_in(int subfile) const {
    if (!place_ || subfile != place_subfile_) {
      place_.emplace(plain_place(subfile));
      place_subfile_ = subfile;
    }
    return *place_;
  }

  [[nodiscard]] std::vector<Piece> pieces_of(const HyperslabView& slab) const {
    std::vector<Piece> pieces;
    const std::int64_t start = slab.start[dimension()];
    const std::int64_t count = slab.count[dimension()];
    const std::int64_t stride = slab.stride_of(division_.dimension);
    for (std::int64_t first = 0; first < count;) {
      const int subfile = subfile_of(start + first * stride);
      const std::int64_t end = division_.first[static_cast<std::size_t>(subfile) + 1];
      const std::int64_t last = std::min(count, (end - start + stride - 1) / stride);
      pieces.push_back({subfile, first, last});
      first = last;
    }
    return pieces;
  }

  /// Appends the rows. The order of elements passes through all subfiles for each index of the dimensions
  /// before the divided one.
  void append_rows(const HyperslabView& slab, const std::vector<Piece>& pieces,
                   std::vector<FileRun>& runs) const {
    Hyperslab part{{slab.start.begin(), slab.start.end()},
                   {slab.count.begin(), slab.count.end()},
                   {slab.stride.begin(), slab.stride.end()}};
    std::vector<PlainPlace> places;
    places.reserve(pieces.size());
    for (const Piece& piece : pieces) places.push_back(plain_place(piece.subfile));
    const std::size_t d = dimension();
    std::int64_t rows = 1;
    for (std::size_t outer = 0; outer < d; ++outer) rows *= slab.count[outer];
    for (std::int64_t row = 0; row < rows; ++row) {
      std::int64_t rest = row;
      for (std::size_t outer = d; outer-- > 0;) {
        part.start[outer] =
            slab.start[outer] + rest % slab.count[outer] * slab.stride_of(static_cast<int>(outer));
        part.count[outer] = 1;
        rest /= slab.count[outer];
      }
      for (std::size_t i = 0; i < pieces.size(); ++i) {
        part.start[d] = slab.start[d] + pieces[i].first * slab.stride_of(division_.dimension);
        part.count[d] = pieces[i].last - pieces[i].first;
        places[i].append(part.view(), runs);
      }
    }
  }

  Source source_;
  const Division& division_;
  int varid_;
  mutable std::optional<PlainPlace> place_;
  mutable int place_subfile_ = -1;
};

}  // namespace

std::unique_ptr<VariablePlace> SubfilePlacement::place_of(int varid) const {
  if (subfiling_.division_of(varid) != nullptr)
    return std::make_unique<DividedPlace>(
        DividedPlace::Source{header_, subfiling_, files_.subspan(1), space_}, varid);
  auto steps = steps_of(header_, space_.layout(), varid);
  const std::int64_t begin = files_.front().begins[static_cast<std::size_t>(varid)];
  steps.begin = space_.placed(0, begin, header_.is_record_variable(varid));
  return std::make_unique<PlainPlace>(std::move(steps));
}

}  // namespace sluice::formats
