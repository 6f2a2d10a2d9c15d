// What is defined goes to the shadow first: it makes netCDF's checks. What it has taken is defined in the
// coupled dataset, too, where ids are the same, because both count from 0.
#include <mpi.h>

#include <algorithm>

#include "carried_calls.hpp"
#include "checks.hpp"
#include "dataset_table.hpp"
#include "functions.hpp"
#include "guard.hpp"
#include "kept_shadows.hpp"
#include "sluice/formats/convert.hpp"
#include "sluice/formats/names.hpp"
#include "sluice/formats/types.hpp"
#include "transfer.hpp"

namespace sluice::api::netcdf {

namespace {

constexpr std::size_t least_alignment = 4;
constexpr int no_shadow = -1;
constexpr std::string_view fill_value_name = "_FillValue";

/// The first of two results that is an error.
int worse(int first, int second) noexcept {
  return first != 0 ? first : second;
}

/// What the shadow has taken is also done to the coupled dataset: at once, or when a netCDF-4 dataset is
/// described.
template <class Call>
int also(const CarriedGroup& group, int status_of_shadow, const Call& call) {
  if (group->described) group->described->note_change();  // also a call that failed may begin define mode
  return status_of_shadow != 0 || group->described ? status_of_shadow : guard(call);
}

int redef(int ncid) {
  const CarriedGroup group = carried(ncid);
  const int status = also(group, group.define("nc_redef"), [&] { return ncmpi::redef(group->coupled); });
  if (status == 0) group->in_define_mode = true;
  return status;
}

/// The shadow has no data, so nothing may be filled or moved there. Space after its header, once, lets
/// definitions follow.
int end_definitions_of_shadow(CarriedDataset& dataset) {
  const std::size_t header_space = dataset.has_placed_variables ? 0 : dataset.space_after_header();
  int mode = 0;
  int ignored = 0;
  int status = dataset.ask("nc_set_fill", no_fill, &mode);
  if (status != 0) return status;
  status = dataset.ask("nc__enddef", header_space, least_alignment, std::size_t{0}, least_alignment);
  return worse(status, dataset.ask("nc_set_fill", mode, &ignored));
}

int enddef(int ncid, std::size_t h_minfree, std::size_t v_align, std::size_t v_minfree, std::size_t r_align) {
  const CarriedGroup group = carried(ncid);
  if (group->described || !group->in_define_mode) {
    const int status = group.define("nc__enddef", h_minfree, v_align, v_minfree, r_align);
    if (status != 0) return status;
    group->in_define_mode = false;
    return group->described ? group->describe() : 0;
  }
  const auto aligned = [](std::size_t bytes) {
    return static_cast<MPI_Offset>(std::max(bytes, least_alignment));
  };
  int status = also(group, end_definitions_of_shadow(group.dataset),
                    [&] {  // images and kept files are laid out as netCDF's
                      return ncmpi::enddef_aligned(group->coupled, static_cast<MPI_Offset>(h_minfree),
                                                   aligned(v_align), static_cast<MPI_Offset>(v_minfree),
                                                   aligned(r_align));
                    });
  if (status != 0) return (void)group.ask("nc_redef"), status;  // define mode goes on
  group->in_define_mode = false;
  int variables = 0;
  status = group.ask("nc_inq_nvars", &variables);
  group->has_placed_variables = variables > 0;
  return status;
}

/// All ranks of a group put what one of them has put into its shadow.
int share_puts(CarriedDataset& dataset) {
  return dataset.is_parallel && dataset.is_writable ? dataset.group_puts.exchange(dataset) : 0;
}

int sync_described(CarriedDataset& dataset) {
  if (const int status = share_puts(dataset); status != 0) return status;
  const auto real = [&] {
    const int of_shadow = dataset.ask("nc_sync");
    const int status = of_shadow != 0 ? of_shadow : dataset.described->describe_wholly();
    return status != 0 ? status : dataset.described->add_bytes();
  };
  const auto repeat = [](const ProgramLibrary& library, int shadow) {
    return library.call("nc_sync", shadow);
  };
  return dataset.describe_by("sync", real, repeat, dataset.described->has_changed());
}

int sync(int ncid) {
  const CarriedGroup group = carried(ncid);
  const bool is_described = group->described && group->is_writable;
  const int status = is_described ? sync_described(group.dataset) : group.ask("nc_sync");
  if (status != 0 || group->is_plain()) return status;
  return guard([&] { return ncmpi::sync(group->coupled); });
}

/// Nothing of a classic shadow is kept, so it needs no fill values at the end.
int end_shadow(CarriedDataset& dataset) {
  if (dataset.is_replaying()) return 0;
  const bool has_data = !dataset.is_writable || dataset.described;
  const int status = dataset.ask(has_data ? "nc_close" : "nc_abort");
  if (status == 0) dataset.shadow = no_shadow;
  return status;
}

/// The coupled dataset gets the shadow as it is when it has been closed. Where netCDF refuses to close that,
/// nothing is closed; after other failures there is no step.
int close_described(CarriedDataset& dataset) {
  const int coupled = dataset.coupled;
  if (!dataset.is_writable) {
    const int of_shadow = guard([&] { return keep_shadow(dataset); });
    dataset.shadow = no_shadow;
    return worse(of_shadow, guard([&] { return ncmpi::close(coupled); }));
  }
  const int of_group = share_puts(dataset);
  const auto real = [&] {
    const int status = worse(of_group, dataset.described->describe_wholly());
    const int worst = worse(status, end_shadow(dataset));
    return worst != 0 ? worst : dataset.described->add_bytes();
  };
  const int status = dataset.describe_by("close", real);
  if (status != 0 && dataset.shadow != no_shadow) return status;
  if (status == 0 && dataset.replay() != nullptr) DefinitionReplay::keep(dataset.described->replay);
  return worse(status, guard([&] { return status == 0 ? ncmpi::close(coupled) : ncmpi::abort(coupled); }));
}

int close_classic(int ncid, CarriedDataset& dataset) {
  const int status = dataset.in_define_mode ? enddef(ncid, 0, least_alignment, 0, least_alignment) : 0;
  const int of_coupled = guard([&] { return ncmpi::close(dataset.coupled); });
  return worse(worse(status, of_coupled), end_shadow(dataset));
}

int close(int ncid, void*) {
  if (has_other_ids(ncid)) return remove_carried(ncid), 0;
  CarriedDataset& dataset = carried(ncid).dataset;
  if (dataset.status_of_close != 0) return dataset.status_of_close;
  if (dataset.is_plain()) {
    const int of_file = end_shadow(dataset);
    return remove_carried(ncid), of_file;
  }
  const int status = dataset.described ? close_described(dataset) : close_classic(ncid, dataset);
  if (status == 0)
    remove_carried(ncid);
  else if (dataset.shadow == no_shadow)
    dataset.status_of_close = status;
  return status;
}

/// Who has the dataset by another id goes on with it, as with a file.
int abort(int ncid) {
  if (has_other_ids(ncid)) return remove_carried(ncid), 0;
  CarriedDataset& dataset = carried(ncid).dataset;
  const int coupled = dataset.coupled;
  if (dataset.status_of_close != 0) return dataset.status_of_close;
  if (dataset.described && !DatasetUse(coupled)->in_define_mode) return close(ncid, nullptr);
  const int status = guard([&] { return ncmpi::abort(coupled); });
  dataset.status_of_close = worse(status, end_shadow(dataset));
  const int worst = dataset.status_of_close;
  if (worst == 0) remove_carried(ncid);
  return worst;
}

int set_fill(int ncid, int mode, int* old_mode) {
  return carried(ncid).define("nc_set_fill", mode, old_mode);
}

int def_dim(int ncid, const char* name, std::size_t length, int* id) {
  const CarriedGroup group = carried(ncid);
  return also(group, group.define("nc_def_dim", name, length, id),
              [&] { return ncmpi::def_dim(group->coupled, name, static_cast<MPI_Offset>(length), nullptr); });
}

int rename_dim(int ncid, int id, const char* name) {
  const CarriedGroup group = carried(ncid);
  return also(group, group.define("nc_rename_dim", id, name),
              [&] { return ncmpi::rename_dim(group->coupled, id, name); });
}

int def_var(int ncid, const char* name, nc_type type, int dimensions, const int* dimids, int* id) {
  const CarriedGroup group = carried(ncid);
  constexpr int most_dimensions = 1024;  // NC_MAX_VAR_DIMS
  int coupled_id = 0;
  const bool is_list = dimids != nullptr && dimensions > 0 && dimensions <= most_dimensions;
  const int count = is_list ? dimensions : 0;
  const Values<const int, int> list{dimids, &count};
  return also(group, group.define("nc_def_var", name, type, dimensions, list, id),
              [&] { return ncmpi::def_var(group->coupled, name, type, dimensions, dimids, &coupled_id); });
}

int rename_var(int ncid, int id, const char* name) {
  const CarriedGroup group = carried(ncid);
  return also(group, group.define("nc_rename_var", id, name),
              [&] { return ncmpi::rename_var(group->coupled, id, name); });
}

/// A variable is about to get another fill value. netCDF has put the one before into all elements that nobody
/// has put: here the variable is put as it reads, once.
void put_as_filled(Dataset& dataset, int varid) {
  constexpr std::size_t most_bytes = std::size_t{64} << 20;
  const bool is_new = dataset.in_define_mode && !is_old_variable(dataset, varid);
  const formats::Header& header = dataset.header;
  const formats::Type type = header.variable(varid).type;
  std::vector<std::int64_t> count = header.shape(varid);
  const std::vector<std::int64_t> start(count.size());
  const formats::HyperslabView all{start, count, {}};
  const auto elements = static_cast<std::size_t>(all.elements());
  if (is_new || elements == 0 || elements > most_bytes / formats::size_of(type)) return;
  std::vector<std::byte> values(elements * formats::size_of(type));
  Access access;
  access.varid = varid;
  access.slabs = std::span(&all, 1);
  access.buffer = values.data();
  access.memory = type;
  access.elements = all.elements();
  transfer_get(dataset, std::span(&access, 1), Mode::collective);
  if (access.status == 0) transfer_put(dataset, std::span(&access, 1), 0, Mode::collective);
}

/// Copies the attribute as the shadow has stored it. netCDF has made the checks: unlike PnetCDF it takes fill
/// values of variables that have data.
int copy_attribute(const CarriedGroup& group, int varid, const char* name) {
  nc_type external = 0;
  std::size_t count = 0;
  int status = group.ask("nc_inq_att", varid, name, &external, &count);
  if (status != 0) return status;
  return guard([&] {
    const auto type = static_cast<formats::Type>(external);
    const std::size_t bytes = count * formats::size_of(type);
    std::vector<std::byte> values(bytes + 1);
    status = group.ask("nc_get_att", varid, name, static_cast<void*>(values.data()));
    if (status != 0) return status;
    values.resize(bytes);
    const DatasetUse dataset(group->coupled);
    formats::Header& header = dataset->header;
    if (varid != global && std::string_view(name) == fill_value_name) put_as_filled(*dataset, varid);
    (varid == global ? header.attributes : header.variable(varid).attributes)
        .put({formats::normalised_name(name), type, static_cast<std::int64_t>(count), std::move(values)});
    metadata_changed(*dataset);
    return 0;
  });
}

int def_var_fill(int ncid, int id, int is_off, const void* value) {
  const CarriedGroup group = carried(ncid);
  nc_type type = 0;
  (void)group.inquire("nc_inq_vartype", id, &type);
  const std::size_t bytes = bytes_of_value(type);
  const bool is_plain = value == nullptr || bytes != 0;
  const int status =
      is_plain ? group.define("nc_def_var_fill", id, is_off, Values<const void, std::size_t>{value, &bytes})
               : group.define_anew("nc_def_var_fill", id, is_off, value);
  const bool has_value = value != nullptr && is_off == 0;
  const std::string name(fill_value_name);
  return also(group, status, [&] { return has_value ? copy_attribute(group, id, name.c_str()) : 0; });
}

int rename_att(int ncid, int varid, const char* name, const char* other) {
  const CarriedGroup group = carried(ncid);
  if (const int status = group->settle_attributes(); status != 0) return status;
  return also(group, group.define("nc_rename_att", varid, name, other),
              [&] { return ncmpi::rename_att(group->coupled, varid, name, other); });
}

int del_att(int ncid, int varid, const char* name) {
  const CarriedGroup group = carried(ncid);
  if (const int status = group->settle_attributes(); status != 0) return status;
  return also(group, group.define("nc_del_att", varid, name),
              [&] { return ncmpi::del_att(group->coupled, varid, name); });
}

/// Puts the attribute into the shadow. A put of text or strings says no external type: netCDF compares it
/// before the call comes here.
int put_into_shadow(const CarriedGroup& group, int varid, const char* name, nc_type external,
                    std::size_t count, const void* values, nc_type memory) {
  constexpr std::size_t most_values = std::size_t{1} << 16;  // larger ones are not worth a comparison
  const std::string variant = variant_of("nc_put_att", memory);
  const char* const function = variant.c_str();
  const std::size_t bytes = bytes_of_value(memory == type::own ? external : memory);
  const std::size_t all_bytes = count * bytes;
  const bool has_type = memory != type::text && memory != type::string;
  // A program may set it to another value in each dataset: the time, say. Nothing depends on that.
  const bool is_converted = has_type && memory != type::own && memory != external;
  const bool may_vary = bytes > 0 && values != nullptr && name != nullptr && *name != '_' && !is_converted &&
                        count > 0 && count <= most_values && (group.group == 0 || varid != global);
  if (may_vary) {
    const Values<const void, std::size_t> list{values, &all_bytes};
    const AttributePlace place{group.group, varid, name};
    return has_type ? group.define_attribute(place, function, list, varid, name, external, count)
                    : group.define_attribute(place, function, list, varid, name, count);
  }
  const auto put = [&](const auto& list) {
    return has_type ? group.define(function, varid, name, external, count, list)
                    : group.define(function, varid, name, count, list);
  };
  if (count <= most_values && memory == type::string && values != nullptr)
    return put(Values<const char* const, std::size_t>{static_cast<const char* const*>(values), &count});
  if (count <= most_values && (bytes > 0 || values == nullptr))
    return put(Values<const void, std::size_t>{values, &all_bytes});
  return has_type ? group.define_anew(function, varid, name, external, count, values)
                  : group.define_anew(function, varid, name, count, values);
}

int put_att(int ncid, int varid, const char* name, nc_type external, std::size_t count, const void* values,
            nc_type memory) {
  constexpr int out_of_range = -60;        // NC_ERANGE: the attribute is there
  constexpr int too_late_for_fill = -122;  // the shadow has no data
  const CarriedGroup group = carried(ncid);
  const bool is_fill_value = name != nullptr && std::string_view(name) == fill_value_name && count == 1;
  if (is_fill_value && group->described && group->described->with_values.contains({group.group, varid}))
    return too_late_for_fill;
  const int status = put_into_shadow(group, varid, name, external, count, values, memory);
  if (status != 0 && status != out_of_range) return status;
  return worse(also(group, 0, [&] { return copy_attribute(group, varid, name); }), status);
}

/// An attribute that the shadow has with other values. Empty: it has the same.
std::optional<int> get_changed(const CarriedGroup& group, int varid, const char* name, void* values,
                               nc_type memory) {
  std::optional<formats::Attribute> changed;
  const int of_look = guard([&] {
    changed = group->changed_attribute(group.group, varid, name);
    return 0;
  });
  if (of_look != 0) return of_look;
  if (!changed || memory == type::string) return std::nullopt;
  return guard([&]() -> int {
    const formats::Attribute& attribute = *changed;
    const auto to = memory == type::own ? attribute.type : static_cast<formats::Type>(memory);
    if (formats::mixes_text(to, attribute.type)) return NC_ECHAR;
    return formats::convert_casting(to, values, attribute.type, attribute.values.data(), attribute.count);
  });
}

int get_att(int ncid, int varid, const char* name, void* values, nc_type memory) {
  const CarriedGroup group = carried(ncid);
  if (const int status = group->settle_attributes(); status != 0) return status;
  if (const auto status = get_changed(group, varid, name, values, memory)) return *status;
  const std::string variant = variant_of("nc_get_att", memory);
  nc_type external = 0;
  std::size_t count = 0;
  const int status = group.inquire("nc_inq_att", varid, name, &external, &count);
  const std::size_t size = bytes_of_value(memory == type::own ? external : memory);
  if (status != 0 || size == 0 || bytes_of_value(external) == 0)
    return group.ask(variant.c_str(), varid, name, values);
  const std::size_t bytes = count * size;
  return group.inquire(variant.c_str(), varid, name, Values<void, std::size_t>{values, &bytes});
}

}  // namespace

void add_definitions(DispatchTable& table) noexcept {
  table.redef = redef;
  table.enddef = enddef;
  table.sync = sync;
  table.abort = abort;
  table.close = close;
  table.set_fill = set_fill;
  table.def_dim = def_dim;
  table.rename_dim = rename_dim;
  table.def_var = def_var;
  table.rename_var = rename_var;
  table.def_var_fill = def_var_fill;
  table.rename_att = rename_att;
  table.del_att = del_att;
  table.put_att = put_att;
  table.get_att = get_att;
}

}  // namespace sluice::api::netcdf
