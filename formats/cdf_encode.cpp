#include <cstring>
#include <limits>
#include <string>

#include "cdf_constants.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/formats/convert.hpp"
#include "sluice/formats/error.hpp"
#include "variable_sizes.hpp"

namespace sluice::formats {

namespace {

/// Where encoded bytes go when only their number is asked for.
class ByteCounter {
 public:
  void append(const void*, std::size_t n) { size_bytes += static_cast<std::int64_t>(n); }
  void append_elements(const void*, std::size_t element_bytes, std::int64_t n) {
    size_bytes += static_cast<std::int64_t>(element_bytes) * n;
  }
  std::int64_t size_bytes = 0;
};

class ByteVector {
 public:
  explicit ByteVector(ByteOrder order) : order_(order) {}
  void append(const void* data, std::size_t n) {
    const auto* first = static_cast<const std::byte*>(data);
    bytes.insert(bytes.end(), first, first + n);
  }
  /// From this machine's byte order.
  void append_elements(const void* data, std::size_t element_bytes, std::int64_t n) {
    const auto at = bytes.size();
    bytes.resize(at + element_bytes * static_cast<std::size_t>(n));
    copy_ordered(bytes.data() + at, data, element_bytes, n, order_);
  }
  std::vector<std::byte> bytes;

 private:
  ByteOrder order_;
};

template <class Sink>
class Encoder {
 public:
  Encoder(const Header& header, Sink& sink) : header_(header), sink_(sink) {}

  void encode() {
    sink_.append(cdf::magic.data(), cdf::magic.size());
    const auto version = static_cast<std::uint8_t>(header_.version);
    sink_.append(&version, sizeof version);
    put_count(header_.record_count);
    put_list_head(cdf::tag_dimensions, header_.dimension_count());
    for (const auto& dimension : header_.dimensions()) put_dimension(dimension);
    put_attributes(header_.attributes);
    put_list_head(cdf::tag_variables, header_.variable_count());
    for (int id = 0; id < header_.variable_count(); ++id) put_variable(header_.variable(id));
  }

 private:
  void put_integer(std::uint64_t value, int bytes) {
    const auto narrow = static_cast<std::uint32_t>(value);
    if (bytes == 4)
      sink_.append_elements(&narrow, sizeof narrow, 1);
    else
      sink_.append_elements(&value, sizeof value, 1);
  }

  /// Counts, lengths and ids: 32 bits in CDF-1 and CDF-2.
  void put_count(std::int64_t value) {
    put_integer(static_cast<std::uint64_t>(value), cdf::count_bytes(header_.version));
  }

  void put_padding(std::int64_t bytes) {
    constexpr std::array<std::byte, cdf::padding_bytes> zeros{};
    sink_.append(zeros.data(), static_cast<std::size_t>(cdf::padded(bytes) - bytes));
  }

  void put_name(const std::string& name) {
    const auto length = static_cast<std::int64_t>(name.size());
    put_count(length);
    sink_.append(name.data(), name.size());
    put_padding(length);
  }

  void put_list_head(std::uint32_t tag, int elements) {
    put_integer(elements == 0 ? cdf::tag_absent : tag, 4);
    put_count(elements);
  }

  void put_dimension(const Dimension& dimension) {
    put_name(dimension.name);
    put_count(dimension.is_record ? 0 : dimension.length);
  }

  void put_attributes(const Attributes& attributes) {
    put_list_head(cdf::tag_attributes, attributes.size());
    for (const auto& attribute : attributes) {
      put_name(attribute.name);
      put_integer(static_cast<std::uint64_t>(attribute.type), 4);
      put_count(attribute.count);
      sink_.append_elements(attribute.values.data(), size_of(attribute.type), attribute.count);
      put_padding(attribute.count * static_cast<std::int64_t>(size_of(attribute.type)));
    }
  }

  void put_variable(const Variable& variable) {
    put_name(variable.name);
    put_count(static_cast<std::int64_t>(variable.dimids.size()));
    for (const int id : variable.dimids) put_count(id);
    put_attributes(variable.attributes);
    put_integer(static_cast<std::uint64_t>(variable.type), 4);
    const bool fits = header_.version == Version::cdf5 || variable.vsize <= cdf::max_vsize;
    put_count(fits ? variable.vsize : cdf::vsize_too_large);
    put_integer(static_cast<std::uint64_t>(variable.begin), cdf::offset_bytes(header_.version));
  }

  const Header& header_;
  Sink& sink_;
};

void check_attributes(const Header& header, const Attributes& attributes, const std::string& owner) {
  for (const auto& attribute : attributes) {
    if (needs_cdf5(attribute.type) && header.version != Version::cdf5) {
      throw Error(NC_ESTRICTCDF2, "attribute " + owner + ":" + attribute.name + " has type " +
                                      type_name(attribute.type) + ", which only format CDF-5 has");
    }
  }
}

/// Whether the version can say everything that is in the header.
void check_version(const Header& header) {
  if (header.version == Version::cdf5) return;
  constexpr std::int64_t max_length = std::numeric_limits<std::uint32_t>::max();
  if (header.record_count > max_length) {
    throw Error(NC_EINTOVERFLOW, "more than 2^32 - 1 records need format CDF-5");
  }
  for (const auto& dimension : header.dimensions()) {
    if (dimension.length > max_length) {
      throw Error(NC_EDIMSIZE, "dimension " + dimension.name + " is too long for any format but CDF-5");
    }
  }
  check_attributes(header, header.attributes, "");
  for (const auto& variable : header.variables()) {
    check_attributes(header, variable.attributes, variable.name);
    if (needs_cdf5(variable.type)) {
      throw Error(NC_ESTRICTCDF2, "variable " + variable.name + " has type " + type_name(variable.type) +
                                      ", which only format CDF-5 has");
    }
    if (variable.begin > max_begin(header.version)) {
      throw Error(NC_EVARSIZE, "variable " + variable.name + " starts beyond what format CDF-1 can say");
    }
  }
}

}  // namespace

std::vector<std::byte> encode_header(const Header& header, ByteOrder order) {
  check_version(header);
  ByteVector sink(order);
  sink.bytes.reserve(static_cast<std::size_t>(encoded_size(header)));
  Encoder<ByteVector>(header, sink).encode();
  return std::move(sink.bytes);
}

std::vector<std::byte> encode_record_count(Version version, std::int64_t records) {
  std::vector<std::byte> bytes(version == Version::cdf5 ? 8 : 4);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(records >> (8 * (bytes.size() - 1 - i)) & 0xFF);
  return bytes;
}

std::int64_t encoded_size(const Header& header) {
  ByteCounter sink;
  Encoder<ByteCounter>(header, sink).encode();
  return sink.size_bytes;
}

}  // namespace sluice::formats
