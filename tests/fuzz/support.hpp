#pragma once
// Tools that the fuzz targets of decoders share.
#include <span>

#include "require.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::fuzz {

inline std::span<const std::byte> as_bytes(const std::uint8_t* data, std::size_t size) {
  return std::as_bytes(std::span(data, size));
}

/// Damage gives a sluice::Error. Any other exception ends the run.
template <class Action>
void refuse_or(const Action& action) {
  try {
    action();
  } catch (const Error&) {
  }
}

}  // namespace sluice::fuzz
