#pragma once

namespace sluice::api {

/// Stores a result of an inquiry where the caller wants it; nothing if the pointer is null.
template <class T, class Value>
void give(T* result, const Value& value) {
  if (result != nullptr) *result = static_cast<T>(value);
}

}  // namespace sluice::api
