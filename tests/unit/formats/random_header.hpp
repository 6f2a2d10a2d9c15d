#pragma once
#include <random>
#include <string>

#include "sluice/formats/header.hpp"

namespace sluice::tests {

/// Random legal headers of one version: few dimensions, all types, scalars, record variables, attributes.
class RandomHeader {
 public:
  RandomHeader(std::mt19937_64& random, formats::Version version) : random_(random) {
    header_.version = version;
  }

  formats::Header make() {
    header_.record_count = pick(0, 5);
    const auto dimensions = pick(0, 5);
    const auto record = pick(-1, dimensions);
    for (int i = 0; i < dimensions; ++i) {
      header_.add_dimension(
          {.name = name('d', i), .length = i == record ? 0 : pick(1, 9), .is_record = i == record});
    }
    add_attributes(header_.attributes);
    const auto variables = pick(0, 6);
    for (int i = 0; i < variables; ++i) add_variable(i);
    return header_;
  }

  [[nodiscard]] int pick(int least, int largest) {
    return std::uniform_int_distribution<int>(least, largest)(random_);
  }

 private:
  std::string name(char kind, int i) {
    static const char* const tails[] = {"", "_long", "é", " with space", "+-", "水位"};
    return kind + std::to_string(i) + tails[pick(0, 5)];
  }

  formats::Type type() {
    return static_cast<formats::Type>(pick(1, header_.version == formats::Version::cdf5 ? 11 : 6));
  }

  void add_attributes(formats::Attributes& attributes) {
    const auto count = pick(0, 3);
    for (int i = 0; i < count; ++i) {
      formats::Attribute attribute{.name = name('a', i), .type = type(), .count = pick(0, 7), .values = {}};
      attribute.values.resize(static_cast<std::size_t>(attribute.count) * size_of(attribute.type));
      for (auto& byte : attribute.values) byte = static_cast<std::byte>(pick(0, 255));
      attributes.put(attribute);
    }
  }

  void add_variable(int i) {
    formats::Variable variable;
    variable.name = name('v', i);
    variable.type = type();
    const auto rank = header_.dimension_count() == 0 ? 0 : pick(0, 4);
    for (int d = 0; d < rank; ++d) {
      const auto id = pick(0, header_.dimension_count() - 1);
      if (d == 0 || !header_.dimension(id).is_record) variable.dimids.push_back(id);
    }
    add_attributes(variable.attributes);
    header_.add_variable(variable);
  }

  std::mt19937_64& random_;
  formats::Header header_;
};

inline bool same(const formats::Attributes& a, const formats::Attributes& b) {
  if (a.size() != b.size()) return false;
  for (int i = 0; i < a.size(); ++i) {
    if (a[i].name != b[i].name || a[i].type != b[i].type || a[i].count != b[i].count ||
        a[i].values != b[i].values) {
      return false;
    }
  }
  return true;
}

/// Whether two headers are equal in everything that a file has.
inline bool same(const formats::Header& a, const formats::Header& b) {
  if (a.version != b.version || a.record_count != b.record_count ||
      a.dimension_count() != b.dimension_count() || a.variable_count() != b.variable_count() ||
      !same(a.attributes, b.attributes)) {
    return false;
  }
  for (int i = 0; i < a.dimension_count(); ++i) {
    const auto &x = a.dimension(i), &y = b.dimension(i);
    if (x.name != y.name || x.length != y.length || x.is_record != y.is_record) return false;
  }
  for (int i = 0; i < a.variable_count(); ++i) {
    const auto &x = a.variable(i), &y = b.variable(i);
    if (x.name != y.name || x.type != y.type || x.dimids != y.dimids || x.begin != y.begin ||
        x.vsize != y.vsize || !same(x.attributes, y.attributes)) {
      return false;
    }
  }
  return true;
}

}  // namespace sluice::tests
