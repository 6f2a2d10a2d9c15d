#include "sluice/formats/header.hpp"

#include <cstring>
#include <utility>

#include "sluice/formats/names.hpp"

namespace sluice::formats {
namespace {

/// Returns the name of a dimension or variable, for an index of names.
template <class T>
auto names_of(const std::vector<T>& list) {
  return [&list](int id) -> const std::string& { return list[static_cast<std::size_t>(id)].name; };
}

}  // namespace

int Header::find_dimension(std::string_view name) const {
  std::string storage;
  return dimension_names_.find(normalised_name(name, storage), names_of(dimensions_));
}

int Header::find_variable(std::string_view name) const {
  std::string storage;
  return variable_names_.find(normalised_name(name, storage), names_of(variables_));
}

int Header::add_dimension(Dimension dimension) {
  const int id = dimension_count();
  dimension_names_.add(dimension.name, id, names_of(dimensions_));
  if (dimension.is_record) record_dimension_ = id;
  dimensions_.push_back(std::move(dimension));
  return id;
}

int Header::add_variable(Variable variable) {
  const int id = variable_count();
  variable_names_.add(variable.name, id, names_of(variables_));
  variables_.push_back(std::move(variable));
  return id;
}

void Header::rename_dimension(int id, std::string name) {
  dimension_names_.rename(name, id, names_of(dimensions_));
  dimensions_[static_cast<std::size_t>(id)].name = std::move(name);
}

void Header::rename_variable(int id, std::string name) {
  variable_names_.rename(name, id, names_of(variables_));
  variable(id).name = std::move(name);
}

bool Header::is_record_variable(int id) const {
  const auto& dimids = variable(id).dimids;
  return !dimids.empty() && dimension(dimids.front()).is_record;
}

std::vector<std::int64_t> Header::shape(int varid) const {
  const auto& dimids = variable(varid).dimids;
  std::vector<std::int64_t> lengths;
  lengths.reserve(dimids.size());
  for (const int id : dimids)
    lengths.push_back(dimension(id).is_record ? record_count : dimension(id).length);
  return lengths;
}

std::int64_t Header::elements_per_record(int varid) const {
  const auto& dimids = variable(varid).dimids;
  std::int64_t elements = 1;
  for (const int id : dimids) {
    if (!dimension(id).is_record) elements *= dimension(id).length;
  }
  return elements;
}

void Header::fill_value(int varid, void* destination) const {
  const auto& var = variable(varid);
  const int i = var.attributes.find("_FillValue");
  if (i >= 0 && var.attributes[i].type == var.type && var.attributes[i].count == 1) {
    std::memcpy(destination, var.attributes[i].values.data(), size_of(var.type));
  } else {
    default_fill(var.type, destination);
  }
}

}  // namespace sluice::formats
