#pragma once
#include "carried_dataset.hpp"

// The functions of the table that do more than to pass a call on to the shadow.
namespace sluice::api::netcdf {

/// Sets the members of the table for definitions, attributes and modes.
void add_definitions(DispatchTable& table) noexcept;
/// Sets the members of the table that move data.
void add_data_calls(DispatchTable& table) noexcept;
/// Sets the members of the table that the shadow answers.
void add_inquiries(DispatchTable& table) noexcept;

/// The length of a dimension, with the number of records. Returns a status.
int length_of(const CarriedDataset& dataset, int dimid, std::size_t* length);

/// The dataset of an id that the table's functions are called with; there always is one.
[[nodiscard]] inline CarriedDataset& carried(int ncid) noexcept {
  return *find_carried(ncid);
}

}  // namespace sluice::api::netcdf
