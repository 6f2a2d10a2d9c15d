// Joins plans of parts of an access that several matchers have made.
#include <limits>

#include "sluice/formats/error.hpp"
#include "sluice/matcher/ownership.hpp"
#include "sluice/replay/plan.hpp"

namespace sluice::replay {

void PlanBuilder::add(const PartOfRead& part, matcher::WriteIndex& index) {
  matcher::PartOfSlab cutter;
  const formats::HyperslabView cut = cutter.cut(part.read, part.dimension, {0, part.first, part.count});
  matcher::Piece in_whole;
  const matcher::Match match = index.match(cut, [&](const matcher::Piece& piece) {
    in_whole = piece;
    if (part.dimension >= 0) in_whole.ranges[static_cast<std::size_t>(part.dimension)].a_first += part.first;
    const Copy copy = compile(part.read, in_whole, part.destination);
    append(copy, piece_dimensions_);
  });
  finish(cut, match);
}

void join(Plan& plan, const Plan& part) {
  if (plan.dimensions.size() + part.dimensions.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(NC_ENOMEM, "a copy plan has more than 4294967295 dimensions");
  }
  const auto shift = static_cast<std::uint32_t>(plan.dimensions.size());
  plan.needs_fill = plan.needs_fill || part.needs_fill;
  plan.depends_on_clock = plan.depends_on_clock || part.depends_on_clock;
  plan.dimensions.insert(plan.dimensions.end(), part.dimensions.begin(), part.dimensions.end());
  plan.copies.reserve(plan.copies.size() + part.copies.size());
  for (Copy copy : part.copies) {
    copy.first_dimension += shift;
    plan.copies.push_back(copy);
  }
}

}  // namespace sluice::replay
