#include "sluice/matcher/write_index.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "box_list.hpp"
#include "coverage.hpp"
#include "index_level.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/matcher/box.hpp"

namespace sluice::matcher {
namespace {

bool is_before(const Hit& a, const Hit& b) noexcept {
  return a.sequence != b.sequence ? a.sequence < b.sequence : a.order < b.order;
}

bool is_empty(const formats::HyperslabView& box) noexcept {
  return std::ranges::find(box.count, 0) != box.count.end();
}

void require_sound(const formats::HyperslabView& box, int dimensions, const char* what) {
  if (box.dimensions() != dimensions || !is_sound(box)) {
    throw Error(NC_EIO, std::string(what) +
                            " has another number of dimensions than its variable, or numbers out of range");
  }
}

}  // namespace

/// Levels of requests and the requests added since. Each level is indexed in bulk, and later levels are
/// smaller (the logarithmic method of Bentley and Saxe).
struct WriteIndex::Impl {
  Impl(int n, std::size_t bytes)
      : dimensions(n), element_bytes(static_cast<std::int64_t>(bytes)), pending(n) {}

  void index_pending();
  void start_hits(const formats::HyperslabView& read);
  Match collect(const formats::HyperslabView& read);
  [[nodiscard]] std::uint32_t writer(const Hit& hit) const noexcept {
    return levels[hit.level].id(hit).writer;
  }
  [[nodiscard]] bool are_of_one_writer() const noexcept;
  [[nodiscard]] bool has_overlapping_writers();
  /// The parts of the read that the hits cover: one progression per dimension, hit after hit.
  [[nodiscard]] std::vector<Progression> parts_of(const formats::HyperslabView& read);
  [[nodiscard]] bool is_put(const formats::HyperslabView& read);

  int dimensions;
  std::int64_t element_bytes;
  std::size_t size = 0;
  BoxList pending;
  std::vector<IndexLevel> levels;
  Hits hits;    ///< of the current read
  Piece piece;  ///< scratch
};

void WriteIndex::Impl::index_pending() {
  if (pending.size() == 0) return;
  while (!levels.empty() && levels.back().size() <= 2 * pending.size()) {
    levels.back().append_to(pending);
    levels.pop_back();
  }
  pending.shrink();
  levels.emplace_back(pending);
  pending = BoxList(dimensions);
}

void WriteIndex::Impl::start_hits(const formats::HyperslabView& read) {
  hits.list.clear();
  hits.read_elements = read.elements();
  hits.elements = 0;
  hits.may_overlap = false;
}

/// Finds the hits of a read that has elements, and sorts them. Leaves out hits that a later one hides
/// completely.
Match WriteIndex::Impl::collect(const formats::HyperslabView& read) {
  start_hits(read);
  if (levels.size() == 1 && levels.front().collect_next(read, 0, hits)) return {true, false};
  for (std::size_t i = 0; i < levels.size(); ++i)
    levels[i].collect(read, static_cast<std::uint16_t>(i), hits);
  if (hits.list.empty()) return {};
  if (levels.size() == 1) levels.front().note_hit(hits.list.front());
  if (!std::ranges::is_sorted(hits.list, is_before)) std::ranges::sort(hits.list, is_before);
  const auto last_whole =
      std::find_if(hits.list.rbegin(), hits.list.rend(), [](const Hit& hit) { return hit.covers_read; });
  if (last_whole != hits.list.rend()) {
    const bool has_rivals = hits.list.size() > 1 && !are_of_one_writer();
    hits.list.erase(hits.list.begin(), std::prev(last_whole.base()));
    return {true, has_rivals};
  }
  if (!hits.may_overlap) return {hits.elements >= hits.read_elements, false};
  const bool is_covered = hits.elements >= hits.read_elements && covers(read.count, parts_of(read));
  const bool are_disjoint = is_covered && hits.elements == hits.read_elements;
  return {is_covered, !are_disjoint && has_overlapping_writers()};
}

bool WriteIndex::Impl::are_of_one_writer() const noexcept {
  const std::uint32_t first = writer(hits.list.front());
  return std::ranges::all_of(hits.list, [&](const Hit& hit) { return writer(hit) == first; });
}

/// Whether hits of different writers may overlap. With very many hits, does not compare each pair.
bool WriteIndex::Impl::has_overlapping_writers() {
  constexpr std::size_t most_hits = 64;
  if (are_of_one_writer()) return false;
  if (hits.list.size() > most_hits) return true;
  std::array<Indexes, 2> starts;
  std::array<Indexes, 2> counts;
  for (std::size_t i = 0; i < hits.list.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Hit& a = hits.list[i];
      const Hit& b = hits.list[j];
      if (writer(a) == writer(b)) continue;
      const auto box_of_a = levels[a.level].box(a, starts[0], counts[0]);
      const auto box_of_b = levels[b.level].box(b, starts[1], counts[1]);
      if (count_common(box_of_a, box_of_b) > 0) return true;
    }
  }
  return false;
}

std::vector<Progression> WriteIndex::Impl::parts_of(const formats::HyperslabView& read) {
  std::vector<Progression> parts;
  parts.reserve(hits.list.size() * read.start.size());
  for (const Hit& hit : hits.list) {
    levels[hit.level].describe(hit, read, piece);
    for (const formats::CommonRange& range : piece.ranges)
      parts.push_back({range.a_first, range.count, range.a_step});
  }
  return parts;
}

bool WriteIndex::Impl::is_put(const formats::HyperslabView& read) {
  start_hits(read);
  for (std::size_t i = 0; i < levels.size(); ++i)
    levels[i].collect(read, static_cast<std::uint16_t>(i), hits);
  const bool had_fills = std::erase_if(hits.list, [&](const Hit& hit) {
                           return (levels[hit.level].id(hit).log_offset & RequestId::fill_bit) != 0;
                         }) > 0;
  if (std::ranges::any_of(hits.list, &Hit::covers_read)) return true;
  if (hits.list.empty() || hits.elements < hits.read_elements) return false;
  if (!had_fills && !hits.may_overlap) return true;
  return covers_exactly(read.count, parts_of(read));
}

WriteIndex::WriteIndex(int dimensions, std::size_t element_bytes)
    : impl_(std::make_unique<Impl>(dimensions, element_bytes)) {}
WriteIndex::~WriteIndex() = default;
WriteIndex::WriteIndex(WriteIndex&&) noexcept = default;
WriteIndex& WriteIndex::operator=(WriteIndex&&) noexcept = default;

std::size_t WriteIndex::size() const noexcept {
  return impl_->size;
}

void WriteIndex::add(const WriteRequest& request) {
  require_sound(request.box, impl_->dimensions, "a write request");
  if (is_empty(request.box)) return;
  std::int64_t bytes = 0;
  if (request.log_offset > max_log_offset ||
      __builtin_mul_overflow(request.box.elements(), impl_->element_bytes, &bytes) || bytes > index_limit) {
    throw Error(NC_EIO, "a write request has a log offset or a size out of range");
  }
  if (impl_->size == std::numeric_limits<std::uint32_t>::max()) {
    throw Error(NC_ENOMEM, "a variable has more than 4294967295 write requests in one step");
  }
  impl_->pending.add(request.box,
                     {.sequence = request.sequence,
                      .log_offset = request.log_offset | (request.is_fill ? RequestId::fill_bit : 0),
                      .writer = request.writer,
                      .order = static_cast<std::uint32_t>(impl_->size)});
  ++impl_->size;
}

Match WriteIndex::match(const formats::HyperslabView& read, const PieceSink& sink) {
  require_sound(read, impl_->dimensions, "a read request");
  if (is_empty(read)) return {.is_covered = true, .depends_on_clock = false};
  impl_->index_pending();
  const Match match = impl_->collect(read);
  for (const Hit& hit : impl_->hits.list) {
    impl_->levels[hit.level].describe(hit, read, impl_->piece);
    sink(impl_->piece);
  }
  return match;
}

Match WriteIndex::match(const formats::HyperslabView& read, std::vector<Piece>& pieces) {
  return match(read, [&](const Piece& piece) { pieces.push_back(piece); });
}

bool WriteIndex::is_put(const formats::HyperslabView& read) {
  require_sound(read, impl_->dimensions, "a read request");
  if (is_empty(read)) return true;
  impl_->index_pending();
  return impl_->is_put(read);
}

}  // namespace sluice::matcher
