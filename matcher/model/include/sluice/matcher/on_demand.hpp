#pragma once
#include <memory>

namespace sluice::matcher {

/// A value that most owners never set, and of which there may be very many: it takes memory from its first
/// change on. Before, it reads as a new value.
template <class Value>
class OnDemand {
 public:
  [[nodiscard]] const Value& operator*() const noexcept { return value_ != nullptr ? *value_ : unset(); }
  [[nodiscard]] const Value* operator->() const noexcept { return &**this; }
  [[nodiscard]] Value& change() {
    if (value_ == nullptr) value_ = std::make_unique<Value>();
    return *value_;
  }

 private:
  [[nodiscard]] static const Value& unset() noexcept {
    static const Value value{};
    return value;
  }
  std::unique_ptr<Value> value_;
};

}  // namespace sluice::matcher
