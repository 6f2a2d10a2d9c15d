#include "access_error_text.hpp"

#include <string_view>

#include "prepared_access.hpp"
#include "sluice/formats/status.hpp"

namespace sluice::api {

namespace {

/// " NAME (1, 2, 3)", or an empty text without numbers.
std::string listed(std::string_view name, const MPI_Offset* numbers, std::size_t n) {
  if (n == 0) return {};
  std::string text = " " + std::string(name);
  if (numbers == nullptr) return text + " is a null pointer";
  for (std::size_t i = 0; i < n; ++i) text += (i == 0 ? " (" : ", ") + std::to_string(numbers[i]);
  return text + ")";
}

std::string shape_of(const Dataset& dataset, int varid) {
  std::string text;
  for (const int id : dataset.header.variable(varid).dimids) {
    const auto& dimension = dataset.header.dimension(id);
    const auto length = dimension.is_record ? dataset.header.record_count : dimension.length;
    text += (text.empty() ? " (" : ", ") + dimension.name + " " + std::to_string(length);
  }
  return text.empty() ? text : text + ")";
}

/// The numbers of the call that its shape uses.
std::string selection_of(const AccessCall& call, std::size_t dimensions) {
  switch (call.shape) {
    case Shape::var:
      return {};
    case Shape::var1:
      return listed("index", call.start, dimensions);
    case Shape::vara:
      return listed("start", call.start, dimensions) + listed("count", call.count, dimensions);
    case Shape::vars:
    case Shape::varm:
      return listed("start", call.start, dimensions) + listed("count", call.count, dimensions) +
             (call.stride != nullptr ? listed("stride", call.stride, dimensions) : std::string());
    case Shape::varn:
      return " in a list of " + std::to_string(call.list_length);
  }
  return {};
}

}  // namespace

std::string access_error_text(const Dataset& dataset, const AccessCall& call, int status) {
  const auto* meaning = status_text(status);
  std::string text = is_put(call.verb) ? "put to " : "get from ";
  if (call.varid < 0 || call.varid >= dataset.header.variable_count()) {
    text += "variable id " + std::to_string(call.varid) + " of " + dataset.path;
  } else {
    const auto& variable = dataset.header.variable(call.varid);
    text += "'" + variable.name + "'" + shape_of(dataset, call.varid) + " of " + dataset.path;
    text += ":" + selection_of(call, variable.dimids.size());
  }
  return text + ": " + (meaning != nullptr ? meaning : "error " + std::to_string(status));
}

}  // namespace sluice::api
