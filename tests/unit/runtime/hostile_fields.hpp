#pragma once
// Messages that the codec takes, with values that no sound client sends.
#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "wire_fields.hpp"

namespace sluice::runtime {

/// What a hostile client can know: numbers that mean something to the server, and names.
struct HostileWords {
  std::vector<std::uint64_t> numbers{0, 1, 2, 3};
  std::vector<std::string> names;
  void add(std::uint64_t number) {
    constexpr std::size_t most = 64;
    if (numbers.size() == most) numbers.erase(numbers.begin() + 4);
    numbers.push_back(number);
  }
};

/// Changes some of the fields of a message, by the same `fields` that encode it. So each message that there
/// will be is covered.
class HostileFields {
 public:
  /// One field of `odds` is changed.
  HostileFields(std::mt19937_64& random, const HostileWords& words, std::uint64_t odds)
      : random_(random), words_(words), odds_(odds) {}

  template <class... Fields>
  void operator()(Fields&&... values) {
    (spoil(values), ...);
  }

 private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  bool is_hit() { return below(odds_) == 0; }

  std::uint64_t number() {
    constexpr std::array<std::uint64_t, 16> edges{1,
                                                  4095,
                                                  4096,
                                                  4097,
                                                  std::numeric_limits<std::int32_t>::max(),
                                                  std::uint64_t{1} << 31,
                                                  std::numeric_limits<std::uint32_t>::max(),
                                                  std::uint64_t{1} << 32,
                                                  std::uint64_t{1} << 40,
                                                  std::uint64_t{1} << 62,
                                                  std::numeric_limits<std::int64_t>::max(),
                                                  std::uint64_t{1} << 63,
                                                  (std::uint64_t{1} << 63) + 1,
                                                  ~std::uint64_t{0} - 4095,
                                                  ~std::uint64_t{0} - 1,
                                                  ~std::uint64_t{0}};
    switch (below(4)) {
      case 0:
        return words_.numbers[below(words_.numbers.size())];
      case 1:
        return random_() >> below(64);
      default:
        return edges[below(edges.size())];
    }
  }

  void spoil(bool& value) {
    if (is_hit()) value = !value;
  }
  template <IsNumber T>
  void spoil(T& value) {
    if (!is_hit()) return;
    if constexpr (std::is_same_v<T, SegmentUse>)
      value = static_cast<SegmentUse>(below(static_cast<std::uint64_t>(SegmentUse::file) + 1));
    else
      value = static_cast<T>(number());
  }
  void spoil(std::string& value) {
    if (is_hit()) value = words_.names[below(words_.names.size())];
  }
  void spoil(std::vector<std::byte>& value) {
    if (is_hit()) value.resize(below(value.size() + 2));
    for (std::byte& byte : value) {
      constexpr std::uint64_t rarely = 8;
      if (below(rarely * odds_) == 0) byte = static_cast<std::byte>(random_());
    }
  }
  template <class T>
  void spoil(std::vector<T>& value) {
    spoil_list(value);
  }
  template <class T, std::size_t inline_elements>
  void spoil(boost::container::small_vector<T, inline_elements>& value) {
    spoil_list(value);
  }
  template <class List>
  void spoil(const Alike<List>& value) {
    spoil_list(value.list);
  }
  template <class T>
  void spoil(std::optional<T>& value) {
    if (is_hit()) value.has_value() ? value.reset() : void(value.emplace());
    if (value) spoil(*value);
  }
  template <class... Alternatives>
  void spoil(std::variant<Alternatives...>& value) {
    std::visit([this](auto& alternative) { spoil(alternative); }, value);
  }
  template <class T>
  requires std::is_class_v<T>
  void spoil(T& value) { fields(*this, value); }

  void spoil_list(auto& list) {
    constexpr std::uint64_t longest = 6;
    if (is_hit()) list.resize(below(longest));
    for (auto& element : list) spoil(element);
  }

  std::mt19937_64& random_;
  const HostileWords& words_;
  std::uint64_t odds_;
};

}  // namespace sluice::runtime
