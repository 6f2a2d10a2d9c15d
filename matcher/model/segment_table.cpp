#include "sluice/matcher/segment_table.hpp"

#include <bit>
#include <stdexcept>
#include <string>
#include <utility>

namespace sluice::matcher {

namespace {
constexpr ProcessId none{};
constexpr int kind_shift = std::countr_zero(spilled_bit);
constexpr int node_shift = 48;

std::uint64_t kind_of(SegmentId id) noexcept {
  constexpr std::uint64_t kinds = (std::uint64_t{1} << (node_shift - kind_shift)) - 1;
  return (id >> kind_shift) & kinds;
}
}  // namespace

void SegmentTable::Segment::note_mapped(ProcessId process) {
  if (process == none || is_mapped_by(process)) return;
  if (first_mapped_by() == none) {
    piece_->mapped_by.set(place_, static_cast<std::uint64_t>(process));
  } else {
    piece_->also_mapped_by[place_].insert(process);
  }
}

bool SegmentTable::Segment::is_mapped_by(ProcessId process) const noexcept {
  if (process == none) return false;
  if (first_mapped_by() == process) return true;
  if (piece_->also_mapped_by.empty()) return false;
  const auto others = piece_->also_mapped_by.find(place_);
  return others != piece_->also_mapped_by.end() && others->second.contains(process);
}

bool SegmentTable::Segment::forget(ProcessId process) noexcept {
  if (!is_mapped_by(process)) return false;
  if (first_mapped_by() == process) {
    piece_->mapped_by.set(place_, static_cast<std::uint64_t>(none));
  } else {
    piece_->also_mapped_by.at(place_).erase(process);
  }
  return true;
}

SegmentTable::Piece* SegmentTable::piece_of(SegmentId id) const noexcept {
  const std::uint64_t number = number_of(id) / piece_size;
  LastPiece& last = last_[number % last_.size()];
  if (last.piece == nullptr || last.number != number) last = {number, pieces_.find(number)};
  Piece* const piece = last.piece;
  const std::size_t place = place_of(id);
  const bool is_there = piece != nullptr && ((piece->present >> place) & 1U) != 0 && node_of(id) == node_ &&
                        piece->kind.at(place) == kind_of(id);
  return is_there ? piece : nullptr;
}

SegmentId SegmentTable::id_of(const Piece& piece, std::uint64_t number) const noexcept {
  const SegmentId kind = piece.kind.at(number % piece_size);
  return SegmentId{node_} << node_shift | kind << kind_shift | number;
}

SegmentTable::Segment SegmentTable::add(SegmentId id, std::uint64_t bytes) {
  const std::uint64_t number = number_of(id) / piece_size;
  last_ = {};
  Piece* const found = pieces_.find(number);
  Piece& piece = found != nullptr ? *found : pieces_.set(number, Piece{});
  const std::size_t place = place_of(id);
  piece.present |= std::uint64_t{1} << place;
  piece.bytes.set(place, bytes);
  piece.kind.set(place, kind_of(id));
  return {piece, place};
}

bool SegmentTable::contains(SegmentId id) const noexcept {
  return piece_of(id) != nullptr;
}

SegmentTable::Segment SegmentTable::at(SegmentId id) const {
  if (Piece* const piece = piece_of(id)) return {*piece, place_of(id)};
  throw std::out_of_range("there is no segment " + std::to_string(id));
}

/// A number is never used again, so what is left at its place does no harm.
void SegmentTable::erase(SegmentId id) {
  Piece* const piece = piece_of(id);
  if (piece == nullptr) return;
  piece->also_mapped_by.erase(place_of(id));
  piece->present &= ~(std::uint64_t{1} << place_of(id));
  if (piece->present != 0) return;
  last_ = {};
  pieces_.erase(number_of(id) / piece_size);
}

}  // namespace sluice::matcher
