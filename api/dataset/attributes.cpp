// Attributes. The order of the checks is PnetCDF's (tests/differential/attributes.c).
#include <cstdint>
#include <cstring>

#include "checks.hpp"
#include "collective_checks.hpp"
#include "dataset_table.hpp"
#include "functions.hpp"
#include "give.hpp"
#include "sluice/formats/convert.hpp"

namespace sluice::api::ncmpi {
namespace {

using formats::Attribute;
using formats::Attributes;
using formats::Type;

constexpr int global = -1;  // NC_GLOBAL
constexpr const char* fill_value_name = "_FillValue";

void require_holder(const Dataset& dataset, int varid) {
  if (varid != global) require_variable(dataset, varid);
}

/// The attributes of a variable, or the global attributes. `varid` must be valid.
Attributes& attributes_of(Dataset& dataset, int varid) {
  return varid == global ? dataset.header.attributes : dataset.header.variable(varid).attributes;
}

int require_attribute(const Attributes& attributes, const char* name) {
  const int i = attributes.find(name);
  if (i < 0) throw Error(NC_ENOTATT, "there is no attribute '" + std::string(name) + "'");
  return i;
}

/// Finds an attribute for reading. Errors: NC_ENOTVAR, NC_EBADNAME, NC_ENOTATT.
const Attribute& find_attribute(Dataset& dataset, int varid, const char* name) {
  require_holder(dataset, varid);
  require_wanted_name(name);
  const auto& attributes = attributes_of(dataset, varid);
  return attributes[require_attribute(attributes, name)];
}

/// The size of the values in the header, in bytes.
std::int64_t padded_bytes(Type type, std::int64_t count) {
  return (count * static_cast<std::int64_t>(formats::size_of(type)) + 3) / 4 * 4;
}

/// The user's arguments of one attribute put.
struct AttributePut {
  int varid;
  const char* name;
  nc_type xtype;
  MPI_Offset count;
  const void* values;
  Type memory;  ///< nat: the same as xtype

  [[nodiscard]] Type external() const noexcept { return static_cast<Type>(xtype); }
  [[nodiscard]] Type memory_type() const noexcept { return memory == Type::nat ? external() : memory; }
};

void check_fill_value(const Dataset& dataset, const AttributePut& put) {
  const auto& variable = dataset.header.variable(put.varid);
  if (variable.type != put.external())
    throw Error(NC_EBADTYPE, "_FillValue must have the type of its variable '" + variable.name + "'");
  if (put.count != 1) throw Error(NC_EINVAL, "_FillValue must have one element");
  if (dataset.in_define_mode && is_old_variable(dataset, put.varid))
    throw Error(NC_ELATEFILL,
                "the variable '" + variable.name + "' already has data: its fill value cannot change");
}

/// In data mode the new attribute must not need more space in the header than the old one.
void check_attribute_room(const Dataset& dataset, const Attributes& attributes, const std::string& name,
                          Type type, std::int64_t count) {
  if (dataset.in_define_mode) return;
  const int i = attributes.find(name);
  if (i < 0 || padded_bytes(type, count) > padded_bytes(attributes[i].type, attributes[i].count))
    throw Error(NC_ENOTINDEFINE, "the attribute '" + name + "' is new or grows: call ncmpi_redef first");
}

/// CDF-1 and CDF-2 store the number of elements as a signed number of 32 bits.
void check_attribute_count(const Dataset& dataset, std::int64_t count) {
  const bool is_long = count > INT32_MAX && dataset.header.version != formats::Version::cdf5;
  if (count >= 0 && !is_long) return;
  throw Error(NC_EINVAL, "an attribute cannot have " + std::to_string(count) + " elements" +
                             (is_long ? ", except in the format CDF-5" : ""));
}

std::string check_put(Dataset& dataset, const AttributePut& put) {
  require_writable(dataset);
  require_holder(dataset, put.varid);
  std::string stored = checked_name(put.name);
  if (put.xtype < 0 || !formats::is_valid(put.external())) require_type(dataset, put.xtype);
  if (formats::mixes_text(put.external(), put.memory_type()))
    throw Error(NC_ECHAR,
                "the attribute '" + stored + "': text and numbers are not converted into each other");
  require_type(dataset, put.xtype);
  check_attribute_count(dataset, put.count);
  if (put.count > 0 && put.values == nullptr)
    throw Error(NC_EINVAL, "the values of the attribute '" + stored + "' are a null pointer");
  if (put.varid != global && stored == fill_value_name) check_fill_value(dataset, put);
  check_attribute_room(dataset, attributes_of(dataset, put.varid), stored, put.external(), put.count);
  return stored;
}

std::string value_bytes(const AttributePut& put) {
  if (put.count <= 0 || put.values == nullptr) return {};
  return {static_cast<const char*>(put.values),
          static_cast<std::size_t>(put.count) * formats::size_of(put.memory_type())};
}

int put_attribute(int ncid, const AttributePut& put) {
  const DatasetUse dataset(ncid);
  std::string stored;
  check_collectively(
      *dataset, [&] { stored = check_put(*dataset, put); },
      [&] {
        return std::vector{
            argument(NC_EMULTIDEFINE_FNC_ARGS, put.varid), argument(NC_EMULTIDEFINE_ATTR_NAME, put.name),
            argument(NC_EMULTIDEFINE_ATTR_TYPE, put.xtype), argument(NC_EMULTIDEFINE_ATTR_LEN, put.count),
            argument(NC_EMULTIDEFINE_ATTR_VAL, value_bytes(put))};
      });
  const Type type = put.external();
  Attribute attribute{stored, type, put.count, {}};
  attribute.values.resize(static_cast<std::size_t>(put.count) * formats::size_of(type));
  std::array<std::byte, 8> fill{};
  formats::default_fill(type, fill.data());
  const bool byte_is_unsigned = dataset->header.version != formats::Version::cdf5;
  const int status = put.count == 0
                         ? NC_NOERR
                         : formats::convert_put(type, attribute.values.data(), put.memory_type(), put.values,
                                                put.count, fill.data(), byte_is_unsigned);
  attributes_of(*dataset, put.varid).put(std::move(attribute));
  metadata_changed(*dataset);
  return status;
}

int get_attribute(int ncid, int varid, const char* name, void* values, Type memory) {
  const DatasetUse dataset(ncid);
  const auto& attribute = find_attribute(*dataset, varid, name);
  if (attribute.count == 0) return NC_NOERR;
  if (memory == Type::nat) memory = attribute.type;
  if (formats::mixes_text(attribute.type, memory))
    throw Error(NC_ECHAR,
                "the attribute '" + attribute.name + "': text and numbers are not converted into each other");
  if (values == nullptr)
    throw Error(NC_EINVAL, "the buffer for the values of '" + attribute.name + "' is a null pointer");
  const bool byte_is_unsigned = dataset->header.version != formats::Version::cdf5;
  return formats::convert_get(memory, values, attribute.type, attribute.values.data(), attribute.count,
                              byte_is_unsigned);
}

}  // namespace

int put_att(int ncid, int varid, const char* name, nc_type xtype, MPI_Offset nelems, const void* value) {
  return put_attribute(ncid, {varid, name, xtype, nelems, value, Type::nat});
}

int put_att_typed(int ncid, int varid, const char* name, nc_type xtype, MPI_Offset count, const void* values,
                  Type memory) {
  return put_attribute(ncid, {varid, name, xtype, count, values, memory});
}

int get_att(int ncid, int varid, const char* name, void* value) {
  return get_attribute(ncid, varid, name, value, Type::nat);
}

int get_att_typed(int ncid, int varid, const char* name, void* values, Type memory) {
  return get_attribute(ncid, varid, name, values, memory);
}

int inq_att(int ncid, int varid, const char* name, nc_type* xtypep, MPI_Offset* lenp) {
  const DatasetUse dataset(ncid);
  const auto& attribute = find_attribute(*dataset, varid, name);
  give(xtypep, attribute.type);
  give(lenp, attribute.count);
  return NC_NOERR;
}

int inq_atttype(int ncid, int varid, const char* name, nc_type* xtypep) {
  return inq_att(ncid, varid, name, xtypep, nullptr);
}

int inq_attlen(int ncid, int varid, const char* name, MPI_Offset* lenp) {
  return inq_att(ncid, varid, name, nullptr, lenp);
}

int inq_attid(int ncid, int varid, const char* name, int* idp) {
  const DatasetUse dataset(ncid);
  find_attribute(*dataset, varid, name);
  give(idp, attributes_of(*dataset, varid).find(name));
  return NC_NOERR;
}

int inq_attname(int ncid, int varid, int attnum, char* name) {
  const DatasetUse dataset(ncid);
  require_holder(*dataset, varid);
  if (name == nullptr) throw Error(NC_EINVAL, "the buffer for the attribute's name is a null pointer");
  const auto& attributes = attributes_of(*dataset, varid);
  if (attnum < 0 || attnum >= attributes.size())
    throw Error(NC_ENOTATT, "there is no attribute number " + std::to_string(attnum));
  std::memcpy(name, attributes[attnum].name.c_str(), attributes[attnum].name.size() + 1);
  return NC_NOERR;
}

int rename_att(int ncid, int varid, const char* name, const char* newname) {
  const DatasetUse dataset(ncid);
  std::string stored;
  int which = -1;
  check_collectively(
      *dataset,
      [&] {
        require_writable(*dataset);
        require_holder(*dataset, varid);
        require_wanted_name(name);
        stored = checked_name(newname);
        const auto& attributes = attributes_of(*dataset, varid);
        which = require_attribute(attributes, name);
        if (attributes.find(stored) >= 0) throw Error(NC_ENAMEINUSE, "the name '" + stored + "' is in use");
        if (!dataset->in_define_mode && stored.size() > attributes[which].name.size())
          throw Error(NC_ENOTINDEFINE,
                      "the new name '" + stored + "' is longer than the old name: call ncmpi_redef first");
      },
      [&] {
        return std::vector{argument(NC_EMULTIDEFINE_FNC_ARGS, varid),
                           argument(NC_EMULTIDEFINE_ATTR_NAME, name),
                           argument(NC_EMULTIDEFINE_ATTR_NAME, newname)};
      });
  attributes_of(*dataset, varid).rename(which, stored);
  metadata_changed(*dataset);
  return NC_NOERR;
}

int del_att(int ncid, int varid, const char* name) {
  const DatasetUse dataset(ncid);
  check_collectively(
      *dataset,
      [&] {
        require_writable(*dataset);
        require_define_mode(*dataset);
        require_holder(*dataset, varid);
        require_wanted_name(name);
      },
      [&] {
        return std::vector{argument(NC_EMULTIDEFINE_FNC_ARGS, varid),
                           argument(NC_EMULTIDEFINE_ATTR_NAME, name)};
      });
  auto& attributes = attributes_of(*dataset, varid);
  attributes.remove(require_attribute(attributes, name));
  return NC_NOERR;
}

int copy_att(int ncid_in, int varid_in, const char* name, int ncid_out, int varid_out) {
  Attribute copy;
  {
    const DatasetUse from(ncid_in);
    const DatasetUse to(ncid_out);
    require_writable(*to);
    require_holder(*from, varid_in);
    require_holder(*to, varid_out);
    copy = find_attribute(*from, varid_in, name);
  }
  const DatasetUse to(ncid_out);
  check_collectively(
      *to,
      [&] {
        require_type(*to, static_cast<int>(copy.type));
        check_attribute_count(*to, copy.count);
        check_attribute_room(*to, attributes_of(*to, varid_out), copy.name, copy.type, copy.count);
      },
      [&] {
        return std::vector{argument(NC_EMULTIDEFINE_FNC_ARGS, varid_out),
                           argument(NC_EMULTIDEFINE_ATTR_NAME, copy.name)};
      });
  attributes_of(*to, varid_out).put(std::move(copy));
  metadata_changed(*to);
  return NC_NOERR;
}

}  // namespace sluice::api::ncmpi
