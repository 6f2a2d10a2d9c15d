#include "known_parts.hpp"

#include "sluice/formats/error.hpp"

namespace sluice::runtime {

namespace {

/// A name is shorter than the encoding of so many copies.
constexpr std::size_t least_named_copies = 4;

bool can_be_named(const WantedPart& part) noexcept {
  return part.copies.copies.size() >= least_named_copies;
}

std::size_t bytes_of(const WantedPart& part) noexcept {
  return part.copies.copies.size() * sizeof(replay::Copy) +
         part.copies.dimensions.size() * sizeof(replay::CopyDimension) + sizeof part;
}

}  // namespace

WantedPartPointer KnownParts::take(const AskedPart& asked) {
  if (asked.copies.empty()) {
    const auto known = parts_.find(asked.fingerprint);
    if (known == parts_.end()) return nullptr;
    order_.splice(order_.begin(), order_, known->second);
    return order_.front();
  }
  std::size_t position = 0;
  WantedPartPointer part = checked_wanted_part(replay::decode_plan(asked.copies, position),
                                               asked.element_bytes, asked.is_mirrored);
  if (!can_be_named(*part) || bytes_of(*part) > most_bytes_ || parts_.contains(part->fingerprint))
    return part;
  order_.push_front(part);
  parts_.emplace(part->fingerprint, order_.begin());
  bytes_ += bytes_of(*part);
  while (bytes_ > most_bytes_) {
    bytes_ -= bytes_of(*order_.back());
    parts_.erase(order_.back()->fingerprint);
    order_.pop_back();
  }
  return part;
}

AskedPart ToldParts::ask(std::uint32_t rank, const WantedPart& wanted, Form form) {
  AskedPart asked;
  asked.is_mirrored = wanted.is_mirrored;
  asked.element_bytes = wanted.element_bytes;
  if (can_be_named(wanted)) {
    asked.fingerprint = wanted.fingerprint;
    if (told_.size() >= most_parts) told_.clear();
    const bool is_new = told_.insert({rank, wanted.fingerprint}).second;
    if (!is_new && form == Form::shortest) return asked;
  }
  replay::encode(wanted.copies, asked.copies);
  return asked;
}

}  // namespace sluice::runtime
