#include "spec_cache.hpp"

#include "sluice/formats/error.hpp"

namespace sluice::runtime {

namespace {

/// From this number of copies on, a name is shorter than their encoding.
constexpr std::size_t least_named_copies = 4;

bool can_be_named(const FetchSpec& part) noexcept {
  return part.copies.copies.size() >= least_named_copies;
}

std::size_t bytes_of(const FetchSpec& part) noexcept {
  return part.copies.copies.size() * sizeof(replay::Copy) +
         part.copies.dimensions.size() * sizeof(replay::CopyDimension) + sizeof part;
}

}  // namespace

FetchSpecPointer SpecCache::take(const FetchItem& asked) {
  if (asked.copies.empty()) {
    const auto known = parts_.find(asked.fingerprint);
    if (known == parts_.end()) return nullptr;
    order_.splice(order_.begin(), order_, known->second);
    return order_.front();
  }
  std::size_t position = 0;
  FetchSpecPointer part = checked_wanted_part(replay::decode_plan(asked.copies, position),
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

FetchItem SentSpecs::ask(std::uint32_t rank, const FetchSpec& wanted, Form form) {
  FetchItem asked;
  asked.is_mirrored = wanted.is_mirrored;
  asked.element_bytes = wanted.element_bytes;
  if (can_be_named(wanted)) {
    asked.fingerprint = wanted.fingerprint;
    if (sent_.size() >= most_parts) sent_.clear();
    const bool is_new = sent_.insert({rank, wanted.fingerprint}).second;
    if (!is_new && form == Form::shortest) return asked;
  }
  replay::encode(wanted.copies, asked.copies);
  return asked;
}

}  // namespace sluice::runtime
