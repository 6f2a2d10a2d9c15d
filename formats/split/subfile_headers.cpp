#include "sluice/formats/subfile_headers.hpp"

#include <array>
#include <limits>
#include <string>
#include <unordered_set>
#include <utility>

#include "attribute_values.hpp"
#include "cdf_writer.hpp"
#include "sluice/formats/error.hpp"
#include "subfile_names.hpp"
#include "variable_sizes.hpp"

namespace sluice::formats {
namespace {

/// Writes an attribute of integers: int, or int64 if a value needs it.
template <class Writer>
void put_integers(Writer& writer, std::string_view name, std::span<const std::int64_t> values) {
  constexpr std::size_t most_at_once = 4;
  std::array<std::int32_t, most_at_once> narrow{};
  bool is_small = values.size() <= most_at_once;
  for (std::size_t i = 0; is_small && i < values.size(); ++i) {
    is_small = values[i] <= std::numeric_limits<std::int32_t>::max();
    narrow[i] = static_cast<std::int32_t>(values[i]);
  }
  if (is_small) return writer.put_attribute(name, std::span(narrow).first(values.size()));
  const auto attribute = integer_attribute(std::string(name), values);
  writer.put_attribute(name, attribute.type, attribute.count, attribute.values.data());
}

template <class Writer>
void put_integer(Writer& writer, std::string_view name, std::int64_t value) {
  put_integers(writer, name, {&value, 1});
}

std::int64_t begin_of(std::span<const std::int64_t> begins, std::size_t id) {
  return begins.empty() ? 0 : begins[id];  // while sizes are counted
}

/// Bytes of a divided variable's part in a subfile (of one record of it).
std::int64_t bytes_in(const Header& header, int varid, const Division& division, int subfile) {
  const auto& variable = header.variable(varid);
  const auto& dimension = header.dimension(variable.dimids[static_cast<std::size_t>(division.dimension)]);
  return data_bytes(header, variable) / dimension.length * division.length_in(subfile);
}

/// The extents of a file's variables, without begins.
std::vector<VariableExtent> extents_in(const Header& header, const Subfiling& subfiling, int file) {
  std::vector<VariableExtent> extents;
  for (int varid = 0; varid < header.variable_count(); ++varid) {
    const auto& variable = header.variable(varid);
    const Division* const division = subfiling.division_of(varid);
    const bool is_record = header.is_record_variable(varid);
    if (file > 0 && division != nullptr)
      extents.push_back({variable.name, bytes_in(header, varid, *division, file - 1), 0, is_record});
    else if (file == 0 && division != nullptr)
      extents.push_back({variable.name, static_cast<std::int64_t>(size_of(variable.type)), 0, false});
    else if (file == 0)
      extents.push_back({variable.name, data_bytes(header, variable), 0, is_record});
  }
  return extents;
}

}  // namespace

struct SubfileHeaders::Names {
  explicit Names(const Header& header) : ranges(header) {}
  subfile_names::RangeNames ranges;
};

SubfileHeaders::SubfileHeaders(const Header& header, const Subfiling& subfiling)
    : header_(header), subfiling_(subfiling), names_(std::make_unique<Names>(header)) {
  check_version(header);
  check_names();
  number_dimensions();
}

SubfileHeaders::~SubfileHeaders() = default;

void SubfileHeaders::check_names() const {
  const bool may_collide = subfile_names::may_collide(header_);
  std::unordered_set<std::string> names;
  for (int varid = 0; varid < header_.variable_count(); ++varid) {
    if (subfiling_.division_of(varid) == nullptr) continue;
    if (!subfile_names::are_possible(header_, varid, subfiling_.subfiles()))
      throw Error(NC_EMAXNAME, "the names of the variable " + header_.variable(varid).name +
                                   " and of its dimensions are too long for a file with subfiles");
    if (!may_collide) continue;
    if (header_.is_record_variable(varid)) names.insert(header_.dimension(header_.record_dimension()).name);
    for (const auto& name : subfile_names::of_dimensions(header_, varid)) {
      if (!names.insert(name).second)
        throw Error(NC_ENAMEINUSE, "two dimensions of subfiles would have the name " + name);
    }
  }
}

void SubfileHeaders::number_dimensions() {
  int record_dimension = -1;
  for (int varid = 0; varid < header_.variable_count(); ++varid) {
    if (subfiling_.division_of(varid) == nullptr) continue;
    const auto& dimids = header_.variable(varid).dimids;
    for (std::size_t d = 0; d < dimids.size(); ++d) {
      const bool is_record = header_.dimension(dimids[d]).is_record;
      // A file has one record dimension, which all variables share.
      const bool is_known = is_record && record_dimension >= 0;
      dimids_.push_back(is_known ? record_dimension : static_cast<int>(dimensions_.size()));
      if (is_record) record_dimension = dimids_.back();
      if (!is_known) dimensions_.push_back({varid, d});
    }
  }
}

template <class Writer>
void SubfileHeaders::put_ranges(Writer& writer, int varid, int subfile) const {
  const Division& division = *subfiling_.division_of(varid);
  const auto& dimids = header_.variable(varid).dimids;
  for (std::size_t d = 0; d < dimids.size(); ++d)
    put_integers(writer, names_->ranges.of(dimids[d], subfile),
                 subfile_names::range_of(header_, varid, division, d, subfile));
}

template <class Writer>
void SubfileHeaders::put_master(Writer writer, std::span<const std::int64_t> begins) const {
  writer.put_start(header_.record_count);
  writer.put_list_head(cdf::tag_dimensions, header_.dimension_count());
  for (const auto& dimension : header_.dimensions())
    writer.put_dimension(dimension.name, dimension.is_record ? 0 : dimension.length);
  writer.put_list_head(cdf::tag_attributes, header_.attributes.size() + 1);
  writer.put_each(header_.attributes);
  put_integer(writer, subfile_names::subfiles, subfiling_.subfiles());
  writer.put_list_head(cdf::tag_variables, header_.variable_count());
  for (int varid = 0; varid < header_.variable_count(); ++varid)
    put_master_variable(writer, varid, begin_of(begins, static_cast<std::size_t>(varid)));
}

template <class Writer>
void SubfileHeaders::put_master_variable(Writer& writer, int varid, std::int64_t begin) const {
  const auto& variable = header_.variable(varid);
  const Division* const division = subfiling_.division_of(varid);
  const auto dimensions = static_cast<int>(variable.dimids.size());
  const int subfiles = division != nullptr ? subfiling_.subfiles() : 0;
  const int index = division != nullptr ? division->dimension
                                        : static_cast<int>(subfile_names::division_dimension(header_, varid));
  const bool has_index = index < dimensions;
  const std::span<const int> dimids(variable.dimids.data(), division != nullptr ? 0 : variable.dimids.size());
  writer.put_name(variable.name);
  writer.put_ids(dimids);
  writer.put_list_head(cdf::tag_attributes, variable.attributes.size() + (has_index ? 1 : 0) +
                                                (division != nullptr ? 3 + subfiles * dimensions : 0));
  writer.put_each(variable.attributes);
  if (has_index) put_integer(writer, subfile_names::divided, index);
  if (division != nullptr) {
    put_integer(writer, subfile_names::dimensions, dimensions);
    writer.put_attribute(subfile_names::dimids, variable.dimids);
    put_integer(writer, subfile_names::subfiles, subfiles);
    for (int i = 0; i < subfiles; ++i) put_ranges(writer, varid, i);
  }
  // PnetCDF does not pad the vsize of a divided variable's scalar.
  const auto vsize = division != nullptr ? static_cast<std::int64_t>(size_of(variable.type))
                                         : rounded_up(data_bytes(header_, variable), 4);
  writer.put_place(variable.type, vsize, begin);
}

template <class Writer>
void SubfileHeaders::put_subfile(Writer writer, int subfile, std::span<const std::int64_t> begins) const {
  writer.put_start(header_.record_count);
  writer.put_list_head(cdf::tag_dimensions, static_cast<int>(dimensions_.size()));
  std::string name;
  for (const auto& [varid, d] : dimensions_) {
    const auto& variable = header_.variable(varid);
    const auto& dimension = header_.dimension(variable.dimids[d]);
    const auto range = subfile_names::range_of(header_, varid, *subfiling_.division_of(varid), d, subfile);
    name = dimension.name;
    if (!dimension.is_record) (name += '.') += variable.name;
    writer.put_dimension(name, dimension.is_record ? 0 : range[1] - range[0] + 1);
  }
  writer.put_list_head(cdf::tag_attributes, 0);
  writer.put_list_head(cdf::tag_variables, subfiling_.divided_variables());
  std::span<const int> dimids(dimids_);
  for (int varid = 0, id = 0; varid < header_.variable_count(); ++varid) {
    if (subfiling_.division_of(varid) == nullptr) continue;
    const auto& variable = header_.variable(varid);
    writer.put_name(variable.name);
    writer.put_ids(dimids.first(variable.dimids.size()));
    dimids = dimids.subspan(variable.dimids.size());
    writer.put_list_head(cdf::tag_attributes, static_cast<int>(variable.dimids.size()) + 1);
    put_ranges(writer, varid, subfile);
    put_integer(writer, subfile_names::index, subfile);
    writer.put_place(variable.type,
                     rounded_up(bytes_in(header_, varid, *subfiling_.division_of(varid), subfile), 4),
                     begin_of(begins, static_cast<std::size_t>(id++)));
  }
}

std::int64_t SubfileHeaders::encoded_size(int file) const {
  ByteCounter counter;
  const CdfWriter<ByteCounter> writer(header_.version, counter);
  if (file == 0)
    put_master(writer, {});
  else
    put_subfile(writer, file - 1, {});
  return counter.size_bytes;
}

std::vector<std::byte> SubfileHeaders::encode(int file, std::int64_t header_size_bytes,
                                              std::span<const std::int64_t> begins) const {
  std::vector<std::byte> bytes(static_cast<std::size_t>(header_size_bytes));
  ByteWriter sink(bytes.data(), ByteOrder::big);
  const CdfWriter<ByteWriter> writer(header_.version, sink);
  if (file == 0)
    put_master(writer, begins);
  else
    put_subfile(writer, file - 1, begins);
  return bytes;
}

FileSections SubfileHeaders::lay_out(int file, std::int64_t header_size_bytes, const LayoutOptions& options,
                                     const FileSections* previous) const {
  auto variables = extents_in(header_, subfiling_, file);
  for (std::size_t id = 0; previous != nullptr && id < previous->begins.size(); ++id)
    variables[id].begin = previous->begins[id];
  FileSections result;
  result.layout = formats::lay_out(header_.version, header_size_bytes, variables, options,
                                   previous != nullptr ? &previous->layout : nullptr);
  result.begins.reserve(variables.size());
  for (const auto& variable : variables) result.begins.push_back(variable.begin);
  return result;
}

FileDescription as_bytes(const Header& dataset, const Subfiling& subfiling, int file,
                         const FileSections& sections) {
  FileDescription result;
  result.layout = sections.layout;
  auto& header = result.header;
  header.version = dataset.version;
  header.record_count = dataset.record_count;
  const int records = header.add_dimension({{}, 0, true});
  for (const auto& extent : extents_in(dataset, subfiling, file)) {
    Variable variable;
    variable.name = extent.name;
    variable.type = Type::int8;
    if (extent.is_record) variable.dimids.push_back(records);
    variable.dimids.push_back(header.add_dimension({{}, extent.data_bytes, false}));
    variable.begin = sections.begins[static_cast<std::size_t>(header.variable_count())];
    header.add_variable(std::move(variable));
  }
  return result;
}

}  // namespace sluice::formats
