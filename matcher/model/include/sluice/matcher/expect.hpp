#pragma once
#include <cstddef>

namespace sluice::matcher {

/// The value is looked at soon: brings it into the cache. Null: does nothing.
/// Inline, because the compiler takes a call that has no effect but this one for useless.
template <class Value>
[[gnu::always_inline]] inline void expect_value(const Value* value) noexcept {
  constexpr std::size_t line_bytes = 64;
  const auto* const begin = reinterpret_cast<const char*>(value);
  if (begin == nullptr) return;
  for (std::size_t at = 0; at < sizeof(Value); at += line_bytes) __builtin_prefetch(begin + at);
}

}  // namespace sluice::matcher
