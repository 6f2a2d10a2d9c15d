#include "fields.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "json_writer.hpp"
#include "sluice/formats/convert.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::coordinator {
namespace {

using formats::Type;

static_assert(std::endian::native == std::endian::little, "values are sent as they are in memory");

std::vector<double> numbers_of(const formats::Attribute& attribute) {
  std::vector<double> numbers(attribute.type == Type::text ? 0 : static_cast<std::size_t>(attribute.count));
  if (!numbers.empty())
    (void)formats::convert_casting(Type::float64, numbers.data(), attribute.type, attribute.values.data(),
                                   attribute.count);
  return numbers;
}

std::vector<double> numbers_of(const formats::Variable& variable, const char* attribute) {
  const int id = variable.attributes.find(attribute);
  return id < 0 ? std::vector<double>() : numbers_of(variable.attributes[id]);
}

void write_attributes(JsonWriter& json, const formats::Attributes& attributes) {
  constexpr std::size_t most_letters = 400, most_numbers = 8;
  constexpr int most_attributes = 60;
  json.key("attributes").begin_object();
  for (int i = 0; i < std::min(attributes.size(), most_attributes); ++i) {
    const formats::Attribute& attribute = attributes[i];
    json.key(attribute.name);
    if (attribute.type == Type::text) {
      json.value(std::string_view(reinterpret_cast<const char*>(attribute.values.data()),
                                  std::min(attribute.values.size(), most_letters)));
      continue;
    }
    json.begin_list();
    const std::vector<double> numbers = numbers_of(attribute);
    for (std::size_t n = 0; n < std::min(numbers.size(), most_numbers); ++n)
      std::isfinite(numbers[n]) ? json.value(numbers[n]) : json.value("not a number");
    json.end_list();
  }
  json.end_object();
}

/// The values that stand for none, as they are stored.
std::vector<double> missing_of(const formats::Variable& variable) {
  std::vector<double> missing = numbers_of(variable, "missing_value");
  std::vector<double> fill = numbers_of(variable, "_FillValue");
  if (fill.empty() && formats::size_of(variable.type) > 1) {  // a byte may have any value
    std::array<std::byte, 8> usual{};
    fill.resize(1);
    formats::default_fill(variable.type, usual.data());
    (void)formats::convert_casting(Type::float64, fill.data(), variable.type, usual.data(), 1);
  }
  missing.insert(missing.end(), fill.begin(), fill.end());
  return missing;
}

/// The least and the greatest value that is valid, as they are stored.
std::array<double, 2> valid_range_of(const formats::Variable& variable) {
  std::vector<double> range = numbers_of(variable, "valid_range");
  if (range.size() != 2)
    range = {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  if (const auto least = numbers_of(variable, "valid_min"); least.size() == 1) range[0] = least[0];
  if (const auto greatest = numbers_of(variable, "valid_max"); greatest.size() == 1) range[1] = greatest[0];
  return {range[0], range[1]};
}

/// Scales stored values, and makes missing ones NaN.
void unpack(std::vector<double>& values, const formats::Variable& variable) {
  const std::vector<double> missing = missing_of(variable);
  const auto [least, greatest] = valid_range_of(variable);
  const std::vector<double> scales = numbers_of(variable, "scale_factor");
  const std::vector<double> offsets = numbers_of(variable, "add_offset");
  const double scale = scales.size() == 1 ? scales[0] : 1, offset = offsets.size() == 1 ? offsets[0] : 0;
  const bool is_float32 = variable.type == Type::float32;  // and its attribute may be a double
  for (double& value : values) {
    const bool is_missing =
        value < least || value > greatest || std::ranges::any_of(missing, [&](double each) {
          return value == each || (is_float32 && static_cast<float>(value) == static_cast<float>(each));
        });
    value = is_missing ? std::numeric_limits<double>::quiet_NaN() : value * scale + offset;
  }
}

/// The words between commas.
std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size(); begin = std::min(text.find(',', begin), text.size()) + 1)
    words.push_back(text.substr(begin, text.find(',', begin) - begin));
  return words;
}

std::int64_t index_of(const std::string& word, std::int64_t length) {
  std::int64_t index = -1;
  if (word == "last") return length - 1;
  const auto end = std::from_chars(word.data(), word.data() + word.size(), index);
  if (end.ec != std::errc() || end.ptr != word.data() + word.size() || index < 0)
    throw Error(NC_EINVAL, "'" + word + "' is no index, nor 'last' or '*'");
  return index;
}

/// `words`: an index, "last" or "*" for each dimension.
formats::Hyperslab slab_of(const std::vector<std::int64_t>& shape, const std::vector<std::string>& words) {
  constexpr std::int64_t most_along_an_axis = 1000;
  if (words.size() != shape.size())
    throw Error(NC_EINVAL, "an entry for each of " + std::to_string(shape.size()) + " dimensions is needed");
  if (std::ranges::count(words, "*") > 2)
    throw Error(NC_EINVAL, "at most two dimensions can be shown at once");
  formats::Hyperslab slab;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const bool is_shown = words[d] == "*";
    const std::int64_t stride = is_shown ? (shape[d] - 1) / most_along_an_axis + 1 : 1;
    slab.start.push_back(is_shown ? 0 : index_of(words[d], shape[d]));
    slab.count.push_back(is_shown ? (shape[d] + stride - 1) / stride : 1);
    slab.stride.push_back(stride);
  }
  return slab;
}

std::string head_of(const StepFile& file, int varid, const formats::Hyperslab& slab,
                    const std::vector<std::string>& words) {
  const formats::Variable& variable = file.header().variable(varid);
  const std::vector<std::int64_t> shape = file.header().shape(varid);
  JsonWriter json;
  json.begin_object()
      .member("file", file.name())
      .member("variable", variable.name)
      .key("dimensions")
      .begin_list();
  for (std::size_t d = 0; d < shape.size(); ++d) {
    json.begin_object()
        .member("name", file.header().dimension(variable.dimids[d]).name)
        .member("length", shape[d])
        .member("start", slab.start[d])
        .member("count", slab.count[d])
        .member("stride", slab.stride[d])
        .member("is_shown", words[d] == "*")
        .end_object();
  }
  return json.end_list().end_object().text();
}

template <class Number>
void append(std::string& bytes, const std::vector<double>& values) {
  const std::vector<Number> sent(values.begin(), values.end());
  bytes.append(reinterpret_cast<const char*>(sent.data()), sent.size() * sizeof(Number));
}

}  // namespace

std::string describe_file(const StepFile& file) {
  constexpr int most_variables = 1000;
  const formats::Header& header = file.header();
  JsonWriter json;
  json.begin_object()
      .member("file", file.name())
      .member("format",
              file.is_netcdf4() ? "netCDF-4" : "CDF-" + std::to_string(static_cast<int>(header.version)));
  json.key("variables").begin_list();
  for (int id = 0; id < std::min(header.variable_count(), most_variables); ++id) {
    const formats::Variable& variable = header.variable(id);
    if (variable.type == Type::text) continue;
    json.begin_object().member("name", variable.name).member("type", formats::type_name(variable.type));
    json.key("dimensions").begin_list();
    for (const int dimid : variable.dimids) json.value(header.dimension(dimid).name);
    json.end_list().key("shape").begin_list();
    for (const std::int64_t length : header.shape(id)) json.value(length);
    json.end_list().member("has_records", header.is_record_variable(id));
    write_attributes(json, variable.attributes);
    json.end_object();
  }
  json.end_list();
  write_attributes(json, header.attributes);
  return json.end_object().text();
}

std::string field_of(const StepFile& file, const std::string& variable, const std::string& at) {
  const int varid = file.header().find_variable(variable);
  if (varid < 0) throw Error(NC_ENOTVAR, file.name() + " has no variable '" + variable + "'");
  if (file.header().variable(varid).type == Type::text) throw Error(NC_ECHAR, variable + " is text");
  const std::vector<std::string> words = words_of(at);
  const formats::Hyperslab slab = slab_of(file.header().shape(varid), words);
  std::vector<double> values = file.values(varid, slab);
  unpack(values, file.header().variable(varid));
  std::string head = head_of(file, varid, slab, words);
  head.resize((head.size() + 4 + 7) / 8 * 8 - 4, ' ');
  const auto length = static_cast<std::uint32_t>(head.size());
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  bytes += head;
  std::ranges::count(words, "*") == 2 ? append<float>(bytes, values) : append<double>(bytes, values);
  return bytes;
}

}  // namespace sluice::coordinator
