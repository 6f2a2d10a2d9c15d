#include "described_dataset.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "dataset_table.hpp"
#include "dispatch_table.hpp"
#include "functions.hpp"
#include "guard.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/formats/names.hpp"
#include "sluice/formats/netcdf4.hpp"
#include "sluice/storage/named_file.hpp"

namespace sluice::api::netcdf {

namespace {

constexpr int not_defining = -38;  // NC_ENOTINDEFINE

std::vector<std::byte> bytes_of(const runtime::FileDescriptor& file) {
  struct stat status {};
  std::vector<std::byte> bytes;
  if (::fstat(file.number(), &status) == 0) bytes.resize(static_cast<std::size_t>(status.st_size));
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t read =
        ::pread(file.number(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (read <= 0) throw Error(NC_EIO, "the definitions of a netCDF-4 dataset cannot be read from memory");
    done += static_cast<std::size_t>(read);
  }
  return bytes;
}

/// As the dynamic linker knows it; in a second line the alignment of HDF5's objects, if the program has set
/// one.
std::vector<std::byte> maker_of_file(const ProgramLibrary& library) {
  Dl_info place{};
  auto* const function = reinterpret_cast<void*>(library.find<const char*()>("nc_inq_libvers"));
  if (function == nullptr || ::dladdr(function, &place) == 0 || place.dli_fname == nullptr) return {};
  std::string maker = place.dli_fname;
  int threshold = 0, alignment = 0;
  if (library.call("nc_get_alignment", &threshold, &alignment) == 0 && alignment > 1)
    maker += '\n' + std::to_string(threshold) + ' ' + std::to_string(alignment);
  const auto* const bytes = reinterpret_cast<const std::byte*>(maker.data());
  return {bytes, bytes + maker.size()};
}

bool is_atomic(nc_type type) noexcept {
  return formats::size_of(static_cast<formats::Type>(type)) != 0;
}

// Inquiries of the shadow. They throw Error.

/// Room for a name.
using NameText = std::array<char, formats::max_name_bytes + 1>;

/// The result of a function that gives a number, and that many ids.
template <class... Parameters>
std::vector<int> list(const ProgramLibrary& library, const char* name, int group, Parameters... parameters) {
  int count = 0;
  library.ask(name, group, &count, static_cast<int*>(nullptr), parameters...);
  std::vector<int> ids(static_cast<std::size_t>(count) + 1);
  library.ask(name, group, &count, ids.data(), parameters...);
  ids.resize(static_cast<std::size_t>(count));
  return ids;
}

/// Visits the group and all in it. `prefix`: their names.
template <class Visit>
void for_each_group(const ProgramLibrary& library, int group, const std::string& prefix, const Visit& visit) {
  visit(group, prefix);
  for (const int each : list(library, "nc_inq_grps", group)) {
    NameText name{};
    library.ask("nc_inq_grpname", each, name.data());
    for_each_group(library, each, prefix + name.data() + "/", visit);
  }
}

/// A variable, with its full name and the shadow's ids of dimensions; no attributes.
formats::Variable variable_of(const ProgramLibrary& library, int group, const std::string& prefix, int id) {
  NameText name{};
  nc_type type = 0;
  int dimensions = 0;
  formats::Variable variable;
  library.ask("nc_inq_varndims", group, id, &dimensions);
  variable.dimids.resize(static_cast<std::size_t>(dimensions) + 1);
  library.ask("nc_inq_var", group, id, name.data(), &type, &dimensions, variable.dimids.data(),
              static_cast<int*>(nullptr));
  variable.dimids.resize(static_cast<std::size_t>(dimensions));
  variable.type = static_cast<formats::Type>(type);
  variable.name = formats::normalised_name(prefix + name.data());
  return variable;
}

std::string dimension_name(const ProgramLibrary& library, int group, const std::string& prefix, int id) {
  NameText name{};
  library.ask("nc_inq_dimname", group, id, name.data());
  return formats::normalised_name(prefix + name.data());
}

/// The attributes of the types of the classic model.
formats::Attributes attributes_of(const ProgramLibrary& library, int group, int id) {
  formats::Attributes attributes;
  int count = 0;
  if (id == global)
    library.ask("nc_inq_natts", group, &count);
  else
    library.ask("nc_inq_varnatts", group, id, &count);
  for (int i = 0; i < count; ++i) {
    NameText name{};
    const auto* const text = static_cast<const char*>(name.data());
    nc_type type = 0;
    std::size_t values = 0;
    library.ask("nc_inq_attname", group, id, i, name.data());
    library.ask("nc_inq_att", group, id, text, &type, &values);
    if (!is_atomic(type)) continue;
    const std::size_t bytes = values * formats::size_of(static_cast<formats::Type>(type));
    std::vector<std::byte> copy(bytes + 1);  // so that no pointer is null
    library.ask("nc_get_att", group, id, text, static_cast<void*>(copy.data()));
    copy.resize(bytes);
    attributes.put({formats::normalised_name(text), static_cast<formats::Type>(type),
                    static_cast<std::int64_t>(values), std::move(copy)});
  }
  return attributes;
}

/// Whether netCDF changes values of the variable when they are put.
bool is_quantized(const ProgramLibrary& library, int group, int id) {
  int quantization = 0;
  int digits = 0;
  return library.call("nc_inq_var_quantize", group, id, &quantization, &digits) == 0 && quantization != 0;
}

std::string names_in(const formats::Header& header) {
  std::string names;
  for (const auto& dimension : header.dimensions()) names += dimension.name + '\0';
  names += '\0';
  for (const auto& variable : header.variables()) names += variable.name + '\0';
  return names;
}

void put_text(formats::Attributes& attributes, std::string_view name, std::string_view text) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(text.data());
  attributes.put({std::string(name),
                  formats::Type::text,
                  static_cast<std::int64_t>(text.size()),
                  {bytes, bytes + text.size()}});
}

/// The header, which can be changed from now on.
formats::Header& changeable(Dataset& coupled) {
  if (!coupled.in_define_mode) ncmpi::redef(coupled.ncid);
  return coupled.header;
}

/// Two variables may have changed their names.
void rename(Dataset& coupled, const std::map<int, std::string>& names) {
  for (const auto& [id, name] : names) changeable(coupled).rename_variable(id, "/" + std::to_string(id));
  for (const auto& [id, name] : names) changeable(coupled).rename_variable(id, name);
}

}  // namespace

/// Defines in the coupled dataset what it does not have. `renews_attributes`: also of what it has.
void DescribedDataset::define_all(Dataset& coupled, bool renews_attributes) {
  std::map<int, std::string> names;
  for_each_group(library_, shadow_, {}, [&](int group, const std::string& prefix) {
    define_dimensions(coupled, group, prefix);
    for (const int id : list(library_, "nc_inq_varids", group)) {
      const formats::Variable variable = variable_of(library_, group, prefix, id);
      const auto [entry, is_new] = variables_.try_emplace({group & group_bits, id}, in_shadow);
      if (is_new && is_describable(coupled.header, variable) && !is_quantized(library_, group, id))
        entry->second = add_variable(coupled, variable);
      const int known = entry->second;
      if (known == in_shadow) {
        has_records_in_shadow_ =
            has_records_in_shadow_ ||
            !std::ranges::all_of(variable.dimids, [&](int dimid) { return is_fixed(dimid); });
        continue;
      }
      if (coupled.header.variable(known).name != variable.name) names[known] = variable.name;
      if (is_new || renews_attributes)
        changeable(coupled).variable(known).attributes = attributes_of(library_, group, id);
    }
  });
  rename(coupled, names);
  if (renews_attributes) changeable(coupled).attributes = attributes_of(library_, shadow_, global);
}

/// Finds in the coupled dataset what it has.
void DescribedDataset::find_all(const formats::Header& header) {
  for_each_group(library_, shadow_, {}, [&](int group, const std::string& prefix) {
    for (const int id : list(library_, "nc_inq_dimids", group, 0)) {
      const int known = header.find_dimension(dimension_name(library_, group, prefix, id));
      if (known >= 0) dimensions_[id] = known;
    }
    for (const int id : list(library_, "nc_inq_varids", group)) {
      const formats::Variable variable = variable_of(library_, group, prefix, id);
      const int known = header.find_variable(variable.name);
      if (known >= 0 && header.is_record_variable(known)) record_dimension_ = variable.dimids[0];
      variables_[{group & group_bits, id}] = known < 0 ? in_shadow : known;
    }
  });
}

/// The dimension is of fixed length, and the coupled dataset has it.
bool DescribedDataset::is_fixed(int dimid) const {
  return dimensions_.contains(dimid) && dimid != record_dimension_;
}

/// Whether the classic model has such a variable. The first growing dimension that is a first one of a
/// variable is that of the records.
bool DescribedDataset::is_describable(const formats::Header& header,
                                      const formats::Variable& variable) const {
  if (!is_atomic(static_cast<nc_type>(variable.type)) || variable.name.size() > formats::max_name_bytes)
    return false;
  constexpr double most_bytes = 1e12;  // only a netCDF-4 file has room for it
  auto bytes = static_cast<double>(formats::size_of(variable.type));
  for (std::size_t i = 0; i < variable.dimids.size(); ++i) {
    const int dimid = variable.dimids[i];
    const bool may_be_records = i == 0 && (record_dimension_ == -1 || dimid == record_dimension_);
    if (!is_fixed(dimid) && !may_be_records) return false;
    if (is_fixed(dimid)) bytes *= static_cast<double>(header.dimension(dimensions_.at(dimid)).length);
  }
  return bytes < most_bytes;
}

void DescribedDataset::define_dimensions(Dataset& coupled, int group, const std::string& prefix) {
  const auto growing = list(library_, "nc_inq_unlimdims", group);
  for (const int id : list(library_, "nc_inq_dimids", group, 0)) {
    if (dimensions_.contains(id) || std::ranges::find(growing, id) != growing.end()) continue;
    std::size_t length = 0;
    library_.ask("nc_inq_dimlen", group, id, &length);
    add_dimension(coupled, id,
                  {dimension_name(library_, group, prefix, id), static_cast<std::int64_t>(length)});
  }
}

int DescribedDataset::add_dimension(Dataset& coupled, int id, formats::Dimension dimension) {
  while (coupled.header.find_dimension(dimension.name) >= 0) dimension.name += '_';
  return dimensions_[id] = changeable(coupled).add_dimension(std::move(dimension));
}

int DescribedDataset::add_variable(Dataset& coupled, formats::Variable variable) {
  for (int& dimid : variable.dimids) {
    const auto known = dimensions_.find(dimid);
    if (known == dimensions_.end()) record_dimension_ = dimid;
    dimid = known != dimensions_.end()
                ? known->second
                : add_dimension(coupled, dimid, {dimension_name(library_, shadow_, {}, dimid), 0, true});
  }
  return changeable(coupled).add_variable(std::move(variable));
}

DescribedDataset::DescribedDataset(ProgramLibrary library, int coupled)
    : library_(library), coupled_(coupled) {}

int DescribedDataset::create_shadow(int flags, int* shadow) {
  storage::NamedFile named;
  const int status = library_.call("nc_create", named.path().c_str(),
                                   mode::netcdf4 | (flags & mode::classic_model), &shadow_);
  file_ = named.take();
  *shadow = shadow_;
  return status;
}

int DescribedDataset::open_shadow(std::span<const std::byte> bytes, int flags, int* shadow) {
  storage::NamedFile named;
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t written =
        ::pwrite(named.number(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (written <= 0) throw Error(NC_ENOMEM, "no memory for the definitions of a netCDF-4 dataset");
    done += static_cast<std::size_t>(written);
  }
  const int status = library_.call("nc_open", named.path().c_str(), flags, &shadow_);
  file_ = named.take();
  *shadow = shadow_;
  has_changed_ = false;
  if (status != 0) return status;
  const DatasetUse coupled(coupled_);
  names_ = names_in(coupled->header);
  find_all(coupled->header);
  has_records_in_shadow_ = true;
  return 0;
}

void DescribedDataset::take_changed() {
  const DatasetUse coupled(coupled_);
  if (coupled->netcdf4_changes.empty()) return;
  (void)library_.call("nc_redef", shadow_);  // one of the classic model needs it
  const auto change = [&](int id, const formats::Attribute& attribute) {
    if (id == global) return put_attribute(library_, shadow_, global, attribute);
    const auto place = std::ranges::find(variables_, id, [](const auto& each) { return each.second; });
    if (place == variables_.end()) return;
    put_attribute(library_, (shadow_ & ~group_bits) | place->first[0], place->first[1], attribute);
  };
  formats::for_each_netcdf4_change(coupled->netcdf4_changes, coupled->header, change);
  (void)end_definitions(library_, shadow_);
}

int DescribedDataset::end_definitions(const ProgramLibrary& library, int shadow) {
  return guard([&] {
    std::optional<int> status;
    for_each_group(library, shadow, {}, [&](int group, const std::string& /*prefix*/) {
      for (const int id : list(library, "nc_inq_varids", group)) {
        int dimensions = 0;
        library.ask("nc_inq_varndims", group, id, &dimensions);
        if (status || dimensions == 0) continue;
        const std::vector<std::size_t> none(static_cast<std::size_t>(dimensions));
        char nothing = 0;
        const std::size_t* const numbers = none.data();
        status = library.call("nc_get_vara", group, id, numbers, numbers, static_cast<void*>(&nothing));
      }
    });
    if (!status) status = library.call("nc_enddef", shadow);
    return *status == not_defining ? 0 : *status;
  });
}

/// What the shadow has in mind is written to its file.
int DescribedDataset::describe() {
  if (!has_changed_) return 0;
  if (const int status = end_definitions(library_, shadow_); status != 0) return status;
  bool are_seen = false;  // such readers need the shadow, too
  const int of_look = look_for_viewers(&are_seen);
  if (of_look != 0 || !are_seen) return of_look != 0 ? of_look : define(false);
  const int of_sync = library_.call("nc_sync", shadow_);
  const int of_all = of_sync != 0 ? of_sync : describe_wholly();
  return of_all != 0 ? of_all : add_bytes();
}

int DescribedDataset::look_for_viewers(bool* may_come) const {
  return guard([&] {
    *may_come = DatasetUse(coupled_)->driver->shows_definitions_at_once();
    return 0;
  });
}

/// The whole shadow goes to them each time, so large ones wait for a sync or the close.
int DescribedDataset::show_values() {
  constexpr off_t most_bytes = off_t{4} << 20;
  bool are_seen = false;
  int status = look_for_viewers(&are_seen);
  if (status != 0 || !are_seen) return status;
  status = library_.call("nc_sync", shadow_);
  struct stat facts {};
  if (status != 0 || ::fstat(file_.number(), &facts) != 0 || facts.st_size > most_bytes) return status;
  return add_bytes();
}

int DescribedDataset::define(bool renews_attributes) {
  return guard([&] {
    const DatasetUse coupled(coupled_);
    define_all(*coupled, renews_attributes);
    has_defined_ = coupled->in_define_mode;
    if (!renews_attributes && has_defined_) ncmpi::enddef(coupled_);
    has_changed_ = false;
    return 0;
  });
}

int DescribedDataset::describe_wholly() {
  const int status = define(true);
  return status != 0 ? status : lengthen_shadow();
}

bool DescribedDataset::record(RecordedCall& call) {
  if (!std::ranges::all_of(variables_, [](const auto& each) { return each.second != in_shadow; }))
    return false;
  const DatasetUse coupled(coupled_);
  if (coupled->header.attributes.find(formats::netcdf4_changes_attribute) >= 0) return false;
  const auto bytes_in = [](const formats::Header& header) {
    const int id = header.attributes.find(formats::netcdf4_file_attribute);
    return id < 0 ? std::span<const std::byte>() : std::span(header.attributes[id].values);
  };
  const auto bytes = bytes_in(coupled->header);
  const bool is_known = !call.is_change && recorded_ != nullptr && !bytes.empty() &&
                        std::ranges::equal(bytes, bytes_in(*recorded_));
  if (!is_known) {
    constexpr std::size_t bytes_of_entry = 256;  // a definition has more in memory than in the file
    const std::size_t entries = dimensions_.size() + 4 * variables_.size();
    recorded_ = std::make_shared<const formats::Header>(coupled->header);
    call.bytes = static_cast<std::size_t>(formats::encoded_size(*recorded_)) + entries * bytes_of_entry;
  }
  call.describe = [header = recorded_, dimensions = dimensions_, variables = variables_,
                   record_dimension = record_dimension_,
                   has_defined = has_defined_](DescribedDataset& later, const ChangedAttributes& changed) {
    later.dimensions_ = dimensions;
    later.variables_ = variables;
    later.record_dimension_ = record_dimension;
    later.has_changed_ = false;
    return has_defined || !changed.empty() ? later.become(*header, changed) : 0;
  };
  return true;
}

/// Sets the attributes, and returns the list of them for netcdf4_changes_attribute.
std::string DescribedDataset::change(formats::Header& header, const ChangedAttributes& changed) const {
  std::string list;
  for (const auto& [place, values] : changed) {
    const auto& [group, varid, name] = place;
    const int id = varid == global ? global : find(group, varid);
    auto& attributes = id == global ? header.attributes : header.variable(id).attributes;
    const int known = attributes.find(formats::normalised_name(name));
    if (known < 0) continue;  // it was set after this
    const auto* const bytes = reinterpret_cast<const std::byte*>(values.data());
    attributes[known].values.assign(bytes, bytes + values.size());
    list += std::to_string(id) + ' ' + formats::normalised_name(name) + '\n';
  }
  return list;
}

/// The coupled dataset gets the definitions of an earlier one. Returns a status.
int DescribedDataset::become(const formats::Header& earlier, const ChangedAttributes& changed) {
  return guard([&] {
    const DatasetUse coupled(coupled_);
    formats::Header& header = changeable(*coupled);
    const std::int64_t records = header.record_count;
    header = earlier;
    header.record_count = records;
    const std::string list = change(header, changed);
    if (!list.empty()) put_text(header.attributes, formats::netcdf4_changes_attribute, list);
    const auto* const before = coupled->header_before_redef.get();
    const int known = before == nullptr ? 0 : before->variable_count();
    for (int id = 0; id < header.variable_count(); ++id)
      header.variable(id).begin = id < known ? before->variable(id).begin : 0;
    return ncmpi::enddef(coupled_);
  });
}

bool DescribedDataset::serve(int coupled) {
  if (names_in(DatasetUse(coupled)->header) != names_) return false;
  coupled_ = coupled;
  return true;
}

int DescribedDataset::lengthen_shadow() {
  if (!has_records_in_shadow_ || record_dimension_ < 0) return 0;
  return guard([&] {
    const auto records = static_cast<std::size_t>(DatasetUse(coupled_)->header.record_count);
    std::size_t length = 0;
    library_.ask("nc_inq_dimlen", shadow_, record_dimension_, &length);
    for (auto each = variables_.begin(); length < records && each != variables_.end(); ++each) {
      const int group = (shadow_ & ~group_bits) | each->first[0];
      if (each->second == in_shadow && put_fill_value(group, each->first[1], records - 1)) return 0;
    }
    return 0;
  });
}

/// False: the variable has no such dimension, or no elements there.
bool DescribedDataset::put_fill_value(int group, int varid, std::size_t record) const {
  int dimensions = 0;
  nc_type type = 0;
  std::size_t bytes = 0;
  library_.ask("nc_inq_varndims", group, varid, &dimensions);
  library_.ask("nc_inq_vartype", group, varid, &type);
  library_.ask("nc_inq_type", group, type, static_cast<char*>(nullptr), &bytes);
  std::vector<int> dimids(static_cast<std::size_t>(dimensions) + 1, -1);
  library_.ask("nc_inq_vardimid", group, varid, dimids.data());
  std::vector<std::size_t> start(dimids.size()), count(dimids.size(), 1);
  bool has_records = false;
  for (std::size_t i = 0; i < static_cast<std::size_t>(dimensions); ++i) {
    std::size_t length = 0;
    const bool is_record = dimids[i] == record_dimension_;
    if (!is_record) library_.ask("nc_inq_dimlen", group, dimids[i], &length);
    if (!is_record && length == 0) return false;
    if (is_record) start[i] = record;
    has_records = has_records || is_record;
  }
  std::vector<std::byte> value(bytes + 1);
  if (!has_records) return false;
  (void)library_.call("nc_inq_var_fill", group, varid, static_cast<int*>(nullptr),
                      static_cast<void*>(value.data()));  // user types may have none: zeros
  const auto put = [&](const std::size_t* from, const std::size_t* counts, const void* values) {
    library_.ask("nc_put_vara", group, varid, from, counts, values);
  };
  put(start.data(), count.data(), value.data());
  return true;
}

int DescribedDataset::add_bytes() {
  return guard([&] {
    const DatasetUse coupled(coupled_);
    const auto put = [&](std::string_view name, formats::Type type, std::vector<std::byte> values) {
      const auto count = static_cast<std::int64_t>(values.size());
      changeable(*coupled).attributes.put({std::string(name), type, count, std::move(values)});
    };
    put(formats::netcdf4_file_attribute, formats::Type::int8, bytes_of(file_));
    put(formats::netcdf4_library_attribute, formats::Type::text, maker_of_file(library_));
    return ncmpi::enddef(coupled_);
  });
}

int DescribedDataset::find(int group, int varid) const {
  const auto found = variables_.find({group, varid});
  return found == variables_.end() ? in_shadow : found->second;
}

}  // namespace sluice::api::netcdf
