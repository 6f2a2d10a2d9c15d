#include "group_puts.hpp"

#include <mpi.h>

#include <cstring>
#include <string_view>
#include <utility>

#include "agreement.hpp"
#include "carried_calls.hpp"
#include "dataset_table.hpp"
#include "guard.hpp"

namespace sluice::api::netcdf {

namespace {

constexpr int variable_length = 13, compound = 16;  // NC_VLEN, NC_COMPOUND

template <class Number>
void append(std::string& text, const Number* numbers, std::size_t count) {
  text.append(reinterpret_cast<const char*>(numbers), count * sizeof(Number));
}

/// Takes what append() has added: the text comes from the same program.
template <class Number>
void take_from(std::string_view& text, Number* numbers, std::size_t count) {
  std::memcpy(numbers, text.data(), count * sizeof(Number));
  text.remove_prefix(count * sizeof(Number));
}

std::size_t bytes_of(const CarriedGroup& group, const GroupPuts::Place& put) {
  nc_type type = 0;
  std::size_t bytes = 0;
  const int status = group.ask("nc_inq_vartype", put.varid, &type);
  const int of_type = group.ask("nc_inq_type", type, static_cast<char*>(nullptr), &bytes);
  if (status != 0 || of_type != 0) throw Error(NC_EINVAL, "a variable of a group has no type");
  for (const std::size_t each : put.count) bytes *= each;
  return bytes;
}

/// Puts or gets the values as the variable has them.
int move_values(const CarriedGroup& group, const GroupPuts::Place& put, const char* function, auto* values) {
  return group.ask(function, put.varid, put.start.data(), put.count.data(), put.stride.data(), values);
}

/// Puts the values of a rank. What is in the shadow is not replayed.
void put_all(CarriedDataset& dataset, std::string_view text) {
  if (!text.empty() && dataset.replay() != nullptr) dataset.replay()->give_up();
  while (!text.empty()) {
    GroupPuts::Place put;
    std::size_t dimensions = 0, bytes = 0;
    take_from(text, &put.group, 1);
    take_from(text, &put.varid, 1);
    take_from(text, &dimensions, 1);
    put.start.resize(dimensions), put.count.resize(dimensions), put.stride.resize(dimensions);
    take_from(text, put.start.data(), dimensions);
    take_from(text, put.count.data(), dimensions);
    take_from(text, put.stride.data(), dimensions);
    take_from(text, &bytes, 1);
    const auto* const values = static_cast<const void*>(text.data());
    const int status = move_values({dataset, put.group}, put, "nc_put_vars", values);
    if (status != 0) throw Error(static_cast<Status>(status), "what a rank has put cannot be put by another");
    text.remove_prefix(bytes);
  }
}

/// Collective. The shadows are alike now.
void raise_records(CarriedDataset& dataset) {
  const int records = dataset.described->record_dimension();
  std::size_t length = 0;
  if (records < 0 || dataset.ask("nc_inq_dimlen", records, &length) != 0) return;
  raise_record_count(*DatasetUse(dataset.coupled), static_cast<std::int64_t>(length), Mode::collective);
}

}  // namespace

bool GroupPuts::can_share(const CarriedGroup& group, int type) {
  std::size_t fields = 0;
  int kind = type;
  if (type == type::string) return false;
  if (type < type::string) return true;
  if (group.ask("nc_inq_user_type", type, static_cast<char*>(nullptr), static_cast<std::size_t*>(nullptr),
                static_cast<nc_type*>(nullptr), &fields, &kind) != 0)
    return false;
  for (int i = 0; kind == compound && i < static_cast<int>(fields); ++i) {
    nc_type of_field = 0;
    if (group.ask("nc_inq_compound_fieldtype", type, i, &of_field) != 0 || !can_share(group, of_field))
      return false;
  }
  return kind != variable_length;
}

/// The puts of this rank with their values, as the shadow has them.
std::string GroupPuts::take(CarriedDataset& dataset) {
  std::string text;
  for (const Place& put : std::exchange(puts_, {})) {
    const CarriedGroup group{dataset, put.group};
    const std::size_t dimensions = put.count.size(), bytes = bytes_of(group, put);
    append(text, &put.group, 1);
    append(text, &put.varid, 1);
    append(text, &dimensions, 1);
    append(text, put.start.data(), dimensions);
    append(text, put.count.data(), dimensions);
    append(text, put.stride.data(), dimensions);
    append(text, &bytes, 1);
    text.resize(text.size() + bytes);
    auto* const values = static_cast<void*>(text.data() + text.size() - bytes);
    const int status = move_values(group, put, "nc_get_vars", values);
    if (status != 0) throw Error(static_cast<Status>(status), "what was put cannot be read");
  }
  return text;
}

int GroupPuts::exchange(CarriedDataset& dataset) {
  return guard([&] {
    const DatasetUse use(dataset.coupled);
    const Communicator& comm = use->comm;
    if (worst_status(comm, puts_.empty() ? 0 : -1) == 0) return 0;
    std::string own;
    run_collectively(comm, [&] { own = take(dataset); });
    Outcome outcome;
    for (int rank = 0; rank < comm.size(); ++rank) {
      std::string text = rank == comm.rank() ? own : std::string();
      broadcast(comm, text, rank);
      if (outcome.status == 0) outcome = outcome_of([&] { put_all(dataset, text); });
    }
    agree(comm, outcome.status, outcome.what);
    raise_records(dataset);
    return 0;
  });
}

}  // namespace sluice::api::netcdf
