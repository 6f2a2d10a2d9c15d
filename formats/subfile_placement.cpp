#include <algorithm>

#include "sluice/formats/subfiles.hpp"

namespace sluice::formats {
namespace {

/// The part of a hyperslab that is in one subfile: elements [first, last) of the divided dimension's count.
struct Piece {
  int subfile = 0;
  std::int64_t first = 0;
  std::int64_t last = 0;
};

/// A variable in several subfiles. Its placed headers have been moved so that the indexes of the whole
/// variable lead to the right places.
class DividedPlace final : public VariablePlace {
 public:
  DividedPlace(const Division& division, std::span<const Header> placed, const Layout& layout, int varid)
      : VariablePlace(static_cast<std::int64_t>(size_of(placed.front().variable(varid).type))),
        division_(division),
        placed_(placed),
        layout_(layout),
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
    result.record_size = placed_.front().is_record_variable(varid_) ? layout_.record_size : 0;
    for (std::size_t i = 0; i < placed_.size(); ++i) {
      const PlainPlace here(placed_[i], layout_, varid_);
      const PlainPlace there(divided->placed_[i], layout_, divided->varid_);
      const std::int64_t first = division_.first[i];
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

  /// Kept from one call to the next: neighbours are mostly in the same subfile.
  [[nodiscard]] const PlainPlace& place_in(int subfile) const {
    if (!place_ || subfile != place_subfile_) {
      place_.emplace(placed_[static_cast<std::size_t>(subfile)], layout_, varid_);
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

  /// The elements' order goes through all subfiles for each index of the dimensions before the divided one.
  void append_rows(const HyperslabView& slab, const std::vector<Piece>& pieces,
                   std::vector<FileRun>& runs) const {
    Hyperslab part{{slab.start.begin(), slab.start.end()},
                   {slab.count.begin(), slab.count.end()},
                   {slab.stride.begin(), slab.stride.end()}};
    std::vector<PlainPlace> places;
    places.reserve(pieces.size());
    for (const Piece& piece : pieces)
      places.emplace_back(placed_[static_cast<std::size_t>(piece.subfile)], layout_, varid_);
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

  const Division& division_;
  std::span<const Header> placed_;  ///< of the subfiles
  const Layout& layout_;
  int varid_;  ///< in the subfiles
  mutable std::optional<PlainPlace> place_;
  mutable int place_subfile_ = -1;
};

/// Bytes between neighbours of dimension d of a fixed part of a variable.
std::int64_t step_bytes(const Header& header, int varid, std::size_t d) {
  const auto& variable = header.variable(varid);
  auto step = static_cast<std::int64_t>(size_of(variable.type));
  for (std::size_t inner = d + 1; inner < variable.dimids.size(); ++inner)
    step *= header.dimension(variable.dimids[inner]).length;
  return step;
}

}  // namespace

SubfilePlacement::SubfilePlacement(const Subfiling& subfiling, std::span<const FileDescription> files,
                                   const FileSpace& space)
    : subfiling_(subfiling), layout_(space.layout()) {
  for (std::size_t file = 0; file < files.size(); ++file)
    placed_.push_back(space.placed_header(files[file], static_cast<int>(file)));
  int id = 0;
  for (int varid = 0; varid < files.front().header.variable_count(); ++varid) {
    const Division* division = subfiling.division_of(varid);
    subfile_varids_.push_back(division != nullptr ? id++ : -1);
    if (division == nullptr) continue;
    for (std::size_t i = 0; i + 1 < files.size(); ++i) {
      auto& placed = placed_[i + 1];
      const auto d = static_cast<std::size_t>(division->dimension);
      placed.variable(subfile_varids_.back()).begin -=
          division->first[i] * step_bytes(placed, subfile_varids_.back(), d);
    }
  }
}

std::unique_ptr<VariablePlace> SubfilePlacement::place_of(int varid) const {
  const Division* division = subfiling_.division_of(varid);
  if (division == nullptr) return std::make_unique<PlainPlace>(placed_.front(), layout_, varid);
  return std::make_unique<DividedPlace>(*division, std::span(placed_).subspan(1), layout_,
                                        subfile_varids_[static_cast<std::size_t>(varid)]);
}

}  // namespace sluice::formats
