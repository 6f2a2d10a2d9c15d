#include "sluice/formats/blobs.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>

#include "attribute_values.hpp"
#include "map_variables.hpp"
#include "sluice/formats/convert.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/formats/linear_range.hpp"
#include "variable_sizes.hpp"

namespace sluice::formats {
namespace {

constexpr const char* layout_attribute = "sluice_layout";
/// An attribute of D1.nreqs: the number of this file.
constexpr const char* file_attribute = "sluice_file";
constexpr std::string_view layout_name = "blob";
constexpr std::string_view process_layout_name = "blob-process";

Attribute text_attribute(std::string name, std::string_view text) {
  Attribute attribute{std::move(name), Type::text, static_cast<std::int64_t>(text.size()), {}};
  attribute.values.resize(text.size());
  std::memcpy(attribute.values.data(), text.data(), text.size());
  return attribute;
}

Attribute dimid_attribute(const std::vector<int>& dimids) {
  return integer_attribute("global_dimids", std::vector<std::int64_t>(dimids.begin(), dimids.end()));
}

bool is_own_global(const std::string& name) {
  return name == layout_attribute || name == "global_nprocs" || name == "num_decompositions" ||
         name == "num_subfiles";
}

bool is_own(const std::string& name) {
  return name == "decomposition_ID" || name == "global_dimids";
}

void append_globals(Header& to, const Header& header, const Blobs& blobs) {
  to.attributes = header.attributes;
  to.attributes.put(integer_attribute("global_nprocs", blobs.processes));
  to.attributes.put(integer_attribute("num_decompositions", static_cast<std::int64_t>(blobs.maps.size())));
  to.attributes.put(integer_attribute("num_subfiles", blobs.files));
}

/// Adds the attributes that describe how a variable is stored. In blob files only decomposed variables have
/// them, because E3SM's programs recognise the others by their absence.
void append_kept(Attributes& attributes, int kept, const std::vector<int>& dimids) {
  attributes.put(integer_attribute("decomposition_ID", std::max(kept, 0)));
  if (!dimids.empty()) attributes.put(dimid_attribute(dimids));
}

/// A copy of the variable without dimensions.
Variable scalar_of(const Variable& original) {
  Variable variable;
  variable.name = original.name;
  variable.type = original.type;
  variable.attributes = original.attributes;
  return variable;
}

std::int64_t most_requests(const DecompositionMap& map, std::int64_t row, int first, int last) {
  std::int64_t most = 1;
  for (int process = first; process < last; ++process)
    most = std::max(most, count_requests(map.runs[static_cast<std::size_t>(process)], row));
  return most;
}

/// Defines a map's dimensions and variables; returns the id of D<k>.nelems.
void define_map(Header& to, const Header& header, const Blobs& blobs, int map, int file) {
  const auto& decomposition = blobs.maps[static_cast<std::size_t>(map) - 1];
  const int first = blobs.first_process(file);
  const int last = blobs.first_process(file + 1);
  const int blob_dimension = to.find_dimension("nblobs");
  // A file whose processes have no elements has one element without meaning, because no dimension may have
  // length 0.
  const std::int64_t elements = std::max<std::int64_t>(1, blobs.elements(decomposition, first, last));
  to.add_dimension({map_name(map, "nelems"), elements, false});
  const auto requests = most_requests(decomposition, row_elements(header, decomposition), first, last);
  const int list_dimension = to.add_dimension({map_name(map, "max_nreqs"), requests, false});
  const bool is_wide = elements_of_map(header, decomposition) > std::numeric_limits<std::int32_t>::max();
  for (const auto& [name, description, is_list, is_always_wide] : map_variables) {
    Variable variable;
    variable.name = map_name(map, name);
    variable.type = is_always_wide || (is_list && is_wide) ? Type::int64 : Type::int32;
    variable.dimids = {blob_dimension};
    if (is_list) variable.dimids.push_back(list_dimension);
    variable.attributes.append(text_attribute("description", description));
    if (std::string_view(name) == "nreqs") variable.attributes.append(dimid_attribute(decomposition.dimids));
    if (to.variable_count() == 0 && !blobs.are_of_processes)
      variable.attributes.append(integer_attribute(file_attribute, file));
    to.add_variable(std::move(variable));
  }
}

/// The value of a required attribute: one integer within a range.
int integer_between(const Attributes& attributes, const std::string& name, std::int64_t least,
                    std::int64_t most, const std::string& path) {
  const int found = attributes.find(name);
  const auto values = found < 0 ? std::vector<std::int64_t>{} : integers_of(attributes[found]);
  if (values.size() != 1 || values[0] < least || values[0] > most)
    refuse_blobs(path, "its attribute " + name + " is missing or makes no sense");
  return static_cast<int>(values[0]);
}

std::vector<int> dimids_of(const Attributes& attributes, const Header& header, const std::string& path) {
  const int found = attributes.find("global_dimids");
  std::vector<int> dimids;
  if (found < 0) return dimids;
  for (const std::int64_t id : integers_of(attributes[found])) {
    if (id < 0 || id >= header.dimension_count())
      refuse_blobs(path, "global_dimids names a dimension that is not there");
    if (!dimids.empty() && header.dimension(static_cast<int>(id)).is_record)
      refuse_blobs(path, "a record dimension is not the first");
    dimids.push_back(static_cast<int>(id));
  }
  return dimids;
}

Attributes without(const Attributes& attributes, bool (*is_ours)(const std::string&)) {
  Attributes result;
  for (const auto& attribute : attributes) {
    if (!is_ours(attribute.name)) result.append(attribute);
  }
  return result;
}

/// The number of files of a master with that layout, or 0.
int file_count_of(const Header& header, std::string_view name) {
  const int layout = header.attributes.find(layout_attribute);
  if (layout < 0) return 0;
  const auto& attribute = header.attributes[layout];
  const bool is_layout = attribute.type == Type::text && attribute.values.size() == name.size() &&
                         std::memcmp(attribute.values.data(), name.data(), name.size()) == 0;
  const int files = header.attributes.find("num_subfiles");
  if (!is_layout || files < 0) return 0;
  const auto values = integers_of(header.attributes[files]);
  constexpr std::int64_t most = 1 << 20;
  return values.size() == 1 && values[0] > 0 && values[0] <= most ? static_cast<int>(values[0]) : 0;
}

/// Whether the variable has the record dimension in the blob files, because its map does not include it.
bool has_record_dimension(const Header& header, const Blobs& blobs, int varid) {
  const int kept = blobs.kept[static_cast<std::size_t>(varid)];
  return header.is_record_variable(varid) &&
         (kept <= Blobs::whole || !has_records(header, blobs.maps[static_cast<std::size_t>(kept) - 1]));
}

BlobHeader read_master_header(const Header& master, const std::string& path) {
  constexpr std::int64_t most = 1 << 24;
  BlobHeader result;
  auto& header = result.header;
  header.version = master.version;
  header.record_count = master.record_count;
  for (const auto& dimension : master.dimensions()) header.add_dimension(dimension);
  header.attributes = without(master.attributes, is_own_global);
  result.blobs.are_of_processes = process_blob_file_count(master) > 0;
  result.blobs.files =
      result.blobs.are_of_processes ? process_blob_file_count(master) : blob_file_count(master);
  result.blobs.processes =
      integer_between(master.attributes, "global_nprocs", result.blobs.files, most, path);
  const std::int64_t most_maps = std::max(master.variable_count(), 1 << 10);
  result.blobs.maps.resize(
      static_cast<std::size_t>(integer_between(master.attributes, "num_decompositions", 0, most_maps, path)));
  for (int id = 0; id < master.variable_count(); ++id) {
    Variable variable = master.variable(id);
    if (!variable.dimids.empty()) refuse_blobs(path, "the variable " + variable.name + " has dimensions");
    variable.dimids = dimids_of(variable.attributes, header, path);
    result.blobs.kept.push_back(integer_between(variable.attributes, "decomposition_ID", 0,
                                                static_cast<std::int64_t>(result.blobs.maps.size()), path));
    variable.attributes = without(variable.attributes, is_own);
    header.add_variable(std::move(variable));
  }
  return result;
}

/// Reads the order in which the first blob file defines maps and variables; the other files follow it.
void read_order(BlobHeader& dataset, const Header& first, const std::string& path) {
  auto& [header, blobs] = dataset;
  int maps = 0;
  for (int id = 0; id < first.variable_count();) {
    if (first.variable(id).name == map_name(maps + 1, map_variables[0].name)) {
      ++maps;
      if (maps > static_cast<int>(blobs.maps.size()))
        refuse_blobs(path, "it has more maps than the master says");
      auto& map = blobs.maps[static_cast<std::size_t>(maps) - 1];
      map.dimids = dimids_of(first.variable(id).attributes, header, path);
      if (!blobs.are_of_processes && has_records(header, map))
        refuse_blobs(path, "a map has the record dimension");
      blobs.order.push_back(-maps);
      id += map_variable_count;
      continue;
    }
    const int varid = header.find_variable(first.variable(id).name);
    if (varid < 0) refuse_blobs(path, "it has a variable that the master has not");
    blobs.order.push_back(varid);
    ++id;
  }
  if (maps != static_cast<int>(blobs.maps.size()))
    refuse_blobs(path, "it has fewer maps than the master says");
  auto sorted = blobs.order;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    refuse_blobs(path, "it has a variable twice");
  // Variables without data are in no file yet.
  for (int id = 0; id < static_cast<int>(blobs.kept.size()); ++id) {
    if (!std::binary_search(sorted.begin(), sorted.end(), id))
      blobs.kept[static_cast<std::size_t>(id)] = Blobs::undecided;
  }
}

/// Reads from nblobs which processes share a file.
void read_processes(Blobs& blobs, std::span<const FileDescription> files, const std::string& path) {
  std::vector<int> first{0};
  for (const auto& file : files) {
    const int dimension = file.header.find_dimension("nblobs");
    const std::int64_t most = blobs.processes - first.back();
    const std::int64_t count = dimension < 0 ? 0 : file.header.dimension(dimension).length;
    if (count < 1 || count > most) refuse_blobs(path, "nblobs of its files makes no sense");
    first.push_back(first.back() + static_cast<int>(count));
  }
  if (first.back() != blobs.processes) refuse_blobs(path, "nblobs is not the number of its files' processes");
  bool is_even = true;
  for (int file = 0; file <= blobs.files; ++file)
    is_even = is_even && blobs.first_process(file) == first[static_cast<std::size_t>(file)];
  if (!is_even) blobs.first_processes = std::move(first);
}

/// Checks the position of a file among the others. The first file has the data that is not decomposed, so
/// files must not be exchanged. E3SM's files do not name their position, and each of them has all of that
/// data.
void check_place(const Blobs& blobs, std::span<const FileDescription> files,
                 std::span<const std::string> paths) {
  for (std::size_t i = 1; i < files.size() && !blobs.maps.empty(); ++i) {
    const auto& header = files[i].header;
    const int id = first_map_variable(header, 1);
    const int found = id < 0 ? -1 : header.variable(id).attributes.find(file_attribute);
    if (found < 0) continue;
    const auto values = integers_of(header.variable(id).attributes[found]);
    if (values.size() != 1 || values[0] != static_cast<std::int64_t>(i) - 1)
      refuse_blobs(paths[i], std::string(file_attribute) +
                                 " names another file: restore the original names of the files");
  }
}

/// Whether the files after the first also have whole variables; if there are none yet, whether they will.
bool are_whole_everywhere(const BlobHeader& dataset, std::span<const FileDescription> files) {
  const auto& [header, blobs] = dataset;
  for (int id = 0; files.size() > 2 && id < header.variable_count(); ++id) {
    if (blobs.kept[static_cast<std::size_t>(id)] == Blobs::whole)
      return files[2].header.find_variable(header.variable(id).name) >= 0;
  }
  return !blobs.are_of_processes;
}

/// Checks that the file has the content of blob_file_header, except the lengths of a map's dimensions.
void check_blob_file(const BlobHeader& dataset, int file, const Header& found, const std::string& path) {
  const auto& [header, blobs] = dataset;
  int id = 0;
  const auto require = [&](const std::string& name, Type type, const std::vector<std::int64_t>& shape) {
    if (id >= found.variable_count() || found.variable(id).name != name)
      refuse_blobs(path, "it has no " + name);
    if (type != Type::nat && found.variable(id).type != type)
      refuse_blobs(path, name + " is of another type");
    std::vector<std::int64_t> lengths;
    for (const int dimension : found.variable(id).dimids)
      lengths.push_back(found.dimension(dimension).is_record ? 0 : found.dimension(dimension).length);
    if (lengths != shape) refuse_blobs(path, name + " has another shape");
    ++id;
  };
  const auto length_of = [&](const std::string& name) {
    const int dimension = found.find_dimension(name);
    if (dimension < 0) refuse_blobs(path, "it has no dimension " + name);
    return found.dimension(dimension).length;
  };
  for (const int entry : blobs.order) {
    if (entry < 0) {
      const std::int64_t processes = blobs.first_process(file + 1) - blobs.first_process(file);
      const std::int64_t requests = length_of(map_name(-entry, "max_nreqs"));
      for (const auto& variable : map_variables) {
        const auto name = map_name(-entry, variable.name);
        if (variable.is_list)
          require(name, Type::nat, {processes, requests});
        else
          require(name, variable.is_wide ? Type::int64 : Type::int32, {processes});
      }
      continue;
    }
    const auto& variable = header.variable(entry);
    const int kept = blobs.kept[static_cast<std::size_t>(entry)];
    if (!blobs.has(file, kept)) continue;
    std::vector<std::int64_t> shape;
    if (has_record_dimension(header, blobs, entry)) shape.push_back(0);
    if (kept == Blobs::whole) {
      for (std::size_t d = shape.size(); d < variable.dimids.size(); ++d)
        shape.push_back(header.dimension(variable.dimids[d]).length);
    } else {
      const std::vector<int> rest(variable.dimids.begin() + static_cast<std::ptrdiff_t>(shape.size()),
                                  variable.dimids.end());
      const auto& map = blobs.maps[static_cast<std::size_t>(kept) - 1];
      if (lengths_of(header, rest) != lengths_of(header, map.dimids))
        refuse_blobs(path, variable.name + " has dimensions of other lengths than its map");
      shape.push_back(length_of(map_name(kept, "nelems")));
    }
    require(variable.name, variable.type, shape);
  }
  if (id != found.variable_count()) refuse_blobs(path, "it has other variables, too");
}

}  // namespace

std::string blob_file_path(std::string_view master, int file) {
  std::array<char, 16> digits{};
  std::snprintf(digits.data(), digits.size(), ".%04d", file);
  return std::string(master) + digits.data();
}

std::int64_t Blobs::elements(const DecompositionMap& map, int first, int last) const {
  std::int64_t sum = 0;
  for (int process = first; process < last; ++process) {
    for (const auto& run : map.runs[static_cast<std::size_t>(process)]) sum += run.length;
  }
  return sum;
}

void check_blob_names(const Header& header) {
  const auto is_taken = [](const std::string& name) {
    if (name == "nblobs") return true;
    const auto dot = name.find('.');
    return name.size() > 1 && name[0] == 'D' && dot != std::string::npos && dot > 1 &&
           std::all_of(name.begin() + 1, name.begin() + static_cast<std::ptrdiff_t>(dot),
                       [](char c) { return c >= '0' && c <= '9'; });
  };
  const auto check = [&](const std::string& name) {
    if (is_taken(name))
      throw Error(NC_ENAMEINUSE, "the layout in blobs needs the name " + name + " for itself");
  };
  for (const auto& dimension : header.dimensions()) check(dimension.name);
  for (const auto& variable : header.variables()) check(variable.name);
}

Header blob_master_header(const Header& header, const Blobs& blobs) {
  Header master;
  master.version = Version::cdf5;
  master.record_count = header.record_count;
  for (const auto& dimension : header.dimensions()) master.add_dimension(dimension);
  append_globals(master, header, blobs);
  master.attributes.put(
      text_attribute(layout_attribute, blobs.are_of_processes ? process_layout_name : layout_name));
  for (int id = 0; id < header.variable_count(); ++id) {
    Variable variable = scalar_of(header.variable(id));
    append_kept(variable.attributes, blobs.kept[static_cast<std::size_t>(id)], header.variable(id).dimids);
    master.add_variable(std::move(variable));
  }
  return master;
}

Header blob_file_header(const Header& header, const Blobs& blobs, int file) {
  Header result;
  result.version = Version::cdf5;
  for (const auto& dimension : header.dimensions()) result.add_dimension(dimension);
  result.add_dimension({"nblobs", blobs.first_process(file + 1) - blobs.first_process(file), false});
  append_globals(result, header, blobs);
  for (const int entry : blobs.order) {
    if (entry < 0) {
      define_map(result, header, blobs, -entry, file);
      continue;
    }
    const int kept = blobs.kept[static_cast<std::size_t>(entry)];
    if (!blobs.has(file, kept)) continue;
    Variable variable = scalar_of(header.variable(entry));
    if (kept == Blobs::whole) {
      variable.dimids = header.variable(entry).dimids;
    } else {
      append_kept(variable.attributes, kept, header.variable(entry).dimids);
      if (has_record_dimension(header, blobs, entry)) variable.dimids.push_back(header.record_dimension());
      variable.dimids.push_back(result.find_dimension(map_name(kept, "nelems")));
    }
    if (header.is_record_variable(entry)) result.record_count = header.record_count;
    result.add_variable(std::move(variable));
  }
  return result;
}

Header master_of_blob_file(const Header& first, bool are_of_processes, const std::string& path) {
  const int users = first.find_dimension("nblobs");
  if (first.version != Version::cdf5 || users < 0) refuse_blobs(path, "it has no dimension nblobs");
  Header master;
  master.version = Version::cdf5;
  master.record_count = first.record_count;
  // Dimensions are identified by their ids, so the dimensions of maps must come last.
  for (int id = 0; id < users; ++id) master.add_dimension(first.dimension(id));
  master.attributes = first.attributes;
  master.attributes.put(
      text_attribute(layout_attribute, are_of_processes ? process_layout_name : layout_name));
  int maps = 0;
  for (int id = 0; id < first.variable_count(); ++id) {
    const auto& original = first.variable(id);
    if (original.name == map_name(maps + 1, map_variables[0].name)) {
      ++maps;
      id += map_variable_count - 1;
      continue;
    }
    Variable variable = scalar_of(original);
    if (original.attributes.find("decomposition_ID") < 0)
      append_kept(variable.attributes, Blobs::whole, original.dimids);
    master.add_variable(std::move(variable));
  }
  return master;
}

std::vector<int> variables_of_file(const Blobs& blobs, std::span<const int> order, int file) {
  std::vector<int> variables;
  for (const int entry : order) {
    if (entry < 0)
      variables.insert(variables.end(), map_variable_count, entry);
    else if (blobs.has(file, blobs.kept[static_cast<std::size_t>(entry)]))
      variables.push_back(entry);
  }
  return variables;
}

std::vector<Share> shares_in_file(const Blobs& blobs, std::span<const int> order, int file) {
  std::vector<Share> shares;
  for (const int entry : variables_of_file(blobs, order, file)) {
    const bool is_whole = entry >= 0 && blobs.kept[static_cast<std::size_t>(entry)] == Blobs::whole;
    shares.push_back(!is_whole ? Share::in_all : file == 0 ? Share::in_this : Share::in_nobody);
  }
  return shares;
}

int blob_file_count(const Header& header) {
  return file_count_of(header, layout_name);
}

int process_blob_file_count(const Header& header) {
  return file_count_of(header, process_layout_name);
}

bool has_records(const Header& header, const DecompositionMap& map) {
  return !map.dimids.empty() && header.dimension(map.dimids.front()).is_record;
}

BlobHeader read_blob_headers(std::span<const FileDescription> files, std::span<const std::string> paths) {
  auto dataset = read_master_header(files.front().header, paths.front());
  read_order(dataset, files[1].header, paths[1]);
  read_processes(dataset.blobs, files.subspan(1), paths.front());
  check_place(dataset.blobs, files, paths);
  dataset.blobs.is_whole_everywhere = are_whole_everywhere(dataset, files);
  for (std::size_t i = 1; i < files.size(); ++i)
    check_blob_file(dataset, static_cast<int>(i) - 1, files[i].header, paths[i]);
  return dataset;
}

void check_blob_ends(const BlobHeader& dataset, std::span<const FileDescription> files,
                     std::span<const std::string> paths) {
  const auto& [header, blobs] = dataset;
  std::vector<FileEnd> ends;
  for (std::size_t i = 1; i < files.size(); ++i) {
    const auto shares = shares_in_file(blobs, blobs.order, static_cast<int>(i) - 1);
    ends.push_back(find_end(files[i], header.record_count, shares, files[i].file_bytes));
    if (blobs.maps.empty() && !ends.front().is_complete() && files[i].file_bytes > files[1].file_bytes)
      refuse_blobs(paths[i], "it has data that the first file should have: were the two exchanged?");
  }
  check_ends(ends, paths.subspan(1));
}

FileDescription room_for_holes(const Header& header, std::int64_t master_bytes) {
  FileDescription master;
  master.header.version = header.version;
  std::int64_t most_bytes = 0;
  for (int id = 0; id < header.variable_count(); ++id)
    most_bytes = std::max(most_bytes, data_bytes(header, id));
  master.layout.header_extent = master_bytes;
  master.layout.record_begin = checked_sum(master_bytes, most_bytes);
  return master;
}

Header element_header(const Header& header) {
  Header result;
  for (const auto& dimension : header.dimensions()) result.add_dimension(dimension);
  for (int id = 0; id < header.variable_count(); ++id) {
    Variable variable;
    variable.name = header.variable(id).name;
    variable.type = Type::int8;
    variable.dimids = header.variable(id).dimids;
    if (header.is_record_variable(id)) variable.dimids.erase(variable.dimids.begin());
    result.add_variable(std::move(variable));
  }
  return result;
}

}  // namespace sluice::formats
