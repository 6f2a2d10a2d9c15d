#pragma once
#include "carried_dataset.hpp"
#include "sluice/runtime/protocol.hpp"

// The functions of the table that do more than to pass a call on to the shadow.
namespace sluice::api::netcdf {

/// Sets the members of the table for definitions, attributes and modes.
void add_definitions(DispatchTable& table) noexcept;
/// Sets the members of the table that move data.
void add_data_calls(DispatchTable& table) noexcept;
/// Sets the members of the table that the shadow answers.
void add_inquiries(DispatchTable& table) noexcept;

/// Tells the user in the event log; of a rule, once for each component.
void complain(const std::string& text, std::uint32_t rule = runtime::OrdinaryFile::no_rule);

/// The length of a dimension, with the number of records. Returns a status.
int length_of(const CarriedGroup& group, int dimid, std::size_t* length);

/// Bytes of a value in memory of a text or a number; 0: another type.
[[nodiscard]] inline std::size_t bytes_of_value(nc_type type) {
  return type > type::own && type < type::string ? formats::size_of(static_cast<formats::Type>(type)) : 0;
}

/// The group of an id that the table's functions are called with; there always is one.
[[nodiscard]] inline CarriedGroup carried(int ncid) noexcept {
  CarriedDataset& dataset = *find_carried(ncid);
  (void)dataset.follow_fork();  // where it fails, so do the calls that need the matcher
  return {dataset, ncid & group_bits};
}

}  // namespace sluice::api::netcdf
