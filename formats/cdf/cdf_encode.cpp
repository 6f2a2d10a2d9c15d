#include <limits>
#include <string>

#include "cdf_constants.hpp"
#include "cdf_writer.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/formats/error.hpp"
#include "variable_sizes.hpp"

namespace sluice::formats {

namespace {

template <class Sink>
void put_variable(CdfWriter<Sink>& writer, const Variable& variable) {
  writer.put_name(variable.name);
  writer.put_ids(variable.dimids);
  writer.put_list_head(cdf::tag_attributes, variable.attributes.size());
  writer.put_each(variable.attributes);
  writer.put_place(variable.type, variable.vsize, variable.begin);
}

template <class Sink>
void put_header(CdfWriter<Sink> writer, const Header& header) {
  writer.put_start(header.record_count);
  writer.put_list_head(cdf::tag_dimensions, header.dimension_count());
  for (const auto& dimension : header.dimensions())
    writer.put_dimension(dimension.name, dimension.is_record ? 0 : dimension.length);
  writer.put_list_head(cdf::tag_attributes, header.attributes.size());
  writer.put_each(header.attributes);
  writer.put_list_head(cdf::tag_variables, header.variable_count());
  for (const auto& variable : header.variables()) put_variable(writer, variable);
}

void check_attributes(const Header& header, const Attributes& attributes, const std::string& owner) {
  for (const auto& attribute : attributes) {
    if (needs_cdf5(attribute.type) && header.version != Version::cdf5) {
      throw Error(NC_ESTRICTCDF2, "attribute " + owner + ":" + attribute.name + " has type " +
                                      type_name(attribute.type) + ", which only format CDF-5 has");
    }
  }
}

}  // namespace

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

std::vector<std::byte> encode_header(const Header& header, ByteOrder order) {
  check_version(header);
  std::vector<std::byte> bytes(static_cast<std::size_t>(encoded_size(header)));
  ByteWriter writer(bytes.data(), order);
  put_header(CdfWriter<ByteWriter>(header.version, writer), header);
  return bytes;
}

std::vector<std::byte> encode_record_count(Version version, std::int64_t records) {
  std::vector<std::byte> bytes(version == Version::cdf5 ? 8 : 4);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(records >> (8 * (bytes.size() - 1 - i)) & 0xFF);
  return bytes;
}

std::int64_t encoded_size(const Header& header) {
  ByteCounter counter;
  put_header(CdfWriter<ByteCounter>(header.version, counter), header);
  return counter.size_bytes;
}

}  // namespace sluice::formats
