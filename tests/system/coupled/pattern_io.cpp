#include "pattern_io.hpp"

#include <dlfcn.h>
#include <mpi.h>
#include <pnetcdf.h>

#include <cstdio>
#include <cstring>
#include <vector>

namespace patterns {

namespace {

MPI_Datatype mpi_type(int type) {
  switch (type) {
    case NC_BYTE:
      return MPI_SIGNED_CHAR;
    case NC_CHAR:
      return MPI_CHAR;
    case NC_SHORT:
      return MPI_SHORT;
    case NC_INT:
      return MPI_INT;
    case NC_FLOAT:
      return MPI_FLOAT;
    case NC_DOUBLE:
      return MPI_DOUBLE;
    case NC_UBYTE:
      return MPI_UNSIGNED_CHAR;
    case NC_USHORT:
      return MPI_UNSIGNED_SHORT;
    case NC_UINT:
      return MPI_UNSIGNED;
    case NC_INT64:
      return MPI_LONG_LONG_INT;
    default:
      return MPI_UNSIGNED_LONG_LONG;
  }
}

template <class T>
void store(void* buffer, std::int64_t position, int value) {
  static_cast<T*>(buffer)[position] = static_cast<T>(value);
}
void store_as(int type, void* buffer, std::int64_t position, int value) {
  switch (type) {
    case NC_BYTE:
      return store<signed char>(buffer, position, value);
    case NC_CHAR:
      return store<char>(buffer, position, value);
    case NC_SHORT:
      return store<short>(buffer, position, value);
    case NC_INT:
      return store<int>(buffer, position, value);
    case NC_FLOAT:
      return store<float>(buffer, position, value);
    case NC_DOUBLE:
      return store<double>(buffer, position, value);
    case NC_UBYTE:
      return store<unsigned char>(buffer, position, value);
    case NC_USHORT:
      return store<unsigned short>(buffer, position, value);
    case NC_UINT:
      return store<unsigned>(buffer, position, value);
    case NC_INT64:
      return store<long long>(buffer, position, value);
    default:
      return store<unsigned long long>(buffer, position, value);
  }
}

template <class T>
long double load(const void* buffer, std::int64_t position) {
  return static_cast<long double>(static_cast<const T*>(buffer)[position]);
}
long double load_as(int type, const void* buffer, std::int64_t position) {
  switch (type) {
    case NC_BYTE:
      return load<signed char>(buffer, position);
    case NC_CHAR:
      return load<char>(buffer, position);
    case NC_SHORT:
      return load<short>(buffer, position);
    case NC_INT:
      return load<int>(buffer, position);
    case NC_FLOAT:
      return load<float>(buffer, position);
    case NC_DOUBLE:
      return load<double>(buffer, position);
    case NC_UBYTE:
      return load<unsigned char>(buffer, position);
    case NC_USHORT:
      return load<unsigned short>(buffer, position);
    case NC_UINT:
      return load<unsigned>(buffer, position);
    case NC_INT64:
      return load<long long>(buffer, position);
    default:
      return load<unsigned long long>(buffer, position);
  }
}

/// The default fill values, as netcdf.h documents them.
long double default_fill(int type) {
  switch (type) {
    case NC_BYTE:
      return NC_FILL_BYTE;
    case NC_CHAR:
      return NC_FILL_CHAR;
    case NC_SHORT:
      return NC_FILL_SHORT;
    case NC_INT:
      return NC_FILL_INT;
    case NC_FLOAT:
      return NC_FILL_FLOAT;
    case NC_DOUBLE:
      return NC_FILL_DOUBLE;
    case NC_UBYTE:
      return NC_FILL_UBYTE;
    case NC_USHORT:
      return NC_FILL_USHORT;
    case NC_UINT:
      return NC_FILL_UINT;
    case NC_INT64:
      return NC_FILL_INT64;
    default:
      return NC_FILL_UINT64;
  }
}

/// PnetCDF's arguments for an operation. A rank without elements takes part with a count of zero.
struct Arguments {
  std::vector<std::vector<MPI_Offset>> starts, counts;
  std::vector<MPI_Offset> stride, imap;
  std::vector<MPI_Offset*> start_list, count_list;
  std::vector<unsigned char> buffer;
  MPI_Datatype type;
  MPI_Offset elements = 0;

  Arguments(const Variable& variable, const Operation& operation) : type(mpi_type(operation.memory_type)) {
    auto slabs = operation.slabs;
    if (slabs.empty())
      slabs.push_back({std::vector<std::int64_t>(variable.shape.size(), 0),
                       std::vector<std::int64_t>(variable.shape.size(), 0),
                       {}});
    for (const Slab& slab : slabs) {
      starts.emplace_back(slab.start.begin(), slab.start.end());
      counts.emplace_back(slab.count.begin(), slab.count.end());
    }
    stride.assign(slabs[0].stride.begin(), slabs[0].stride.end());
    if (stride.empty()) stride.assign(variable.shape.size(), 1);
    imap.assign(operation.imap.begin(), operation.imap.end());
    for (auto& start : starts) start_list.push_back(start.data());
    for (auto& count : counts) count_list.push_back(count.data());
    elements = operation.elements();
    buffer.assign(static_cast<std::size_t>(elements) * 8 + 8, 0xee);
  }
};

enum class Mode { collective, independent, nonblocking };

int put(int ncid, int varid, const Operation& operation, Arguments& a, Mode mode, int* request) {
  const void* const data = a.buffer.data();
  MPI_Offset *const start = a.starts[0].data(), *const count = a.counts[0].data();
  const int slabs = static_cast<int>(a.starts.size());
  if (mode == Mode::nonblocking) {
    switch (operation.shape) {
      case Shape::vara:
        return ncmpi_iput_vara(ncid, varid, start, count, data, a.elements, a.type, request);
      case Shape::vars:
        return ncmpi_iput_vars(ncid, varid, start, count, a.stride.data(), data, a.elements, a.type, request);
      case Shape::varm:
        return ncmpi_iput_varm(ncid, varid, start, count, a.stride.data(), a.imap.data(), data, a.elements,
                               a.type, request);
      case Shape::varn:
        return ncmpi_iput_varn(ncid, varid, slabs, a.start_list.data(), a.count_list.data(), data, a.elements,
                               a.type, request);
    }
  }
  const bool all = mode == Mode::collective;
  switch (operation.shape) {
    case Shape::vara:
      return (all ? ncmpi_put_vara_all : ncmpi_put_vara)(ncid, varid, start, count, data, a.elements, a.type);
    case Shape::vars:
      return (all ? ncmpi_put_vars_all : ncmpi_put_vars)(ncid, varid, start, count, a.stride.data(), data,
                                                         a.elements, a.type);
    case Shape::varm:
      return (all ? ncmpi_put_varm_all : ncmpi_put_varm)(ncid, varid, start, count, a.stride.data(),
                                                         a.imap.data(), data, a.elements, a.type);
    default:
      return (all ? ncmpi_put_varn_all : ncmpi_put_varn)(ncid, varid, slabs, a.start_list.data(),
                                                         a.count_list.data(), data, a.elements, a.type);
  }
}

int get(int ncid, int varid, const Operation& operation, Arguments& a, Mode mode, int* request) {
  void* const data = a.buffer.data();
  MPI_Offset *const start = a.starts[0].data(), *const count = a.counts[0].data();
  const int slabs = static_cast<int>(a.starts.size());
  if (mode == Mode::nonblocking) {
    switch (operation.shape) {
      case Shape::vara:
        return ncmpi_iget_vara(ncid, varid, start, count, data, a.elements, a.type, request);
      case Shape::vars:
        return ncmpi_iget_vars(ncid, varid, start, count, a.stride.data(), data, a.elements, a.type, request);
      case Shape::varm:
        return ncmpi_iget_varm(ncid, varid, start, count, a.stride.data(), a.imap.data(), data, a.elements,
                               a.type, request);
      case Shape::varn:
        return ncmpi_iget_varn(ncid, varid, slabs, a.start_list.data(), a.count_list.data(), data, a.elements,
                               a.type, request);
    }
  }
  const bool all = mode == Mode::collective;
  switch (operation.shape) {
    case Shape::vara:
      return (all ? ncmpi_get_vara_all : ncmpi_get_vara)(ncid, varid, start, count, data, a.elements, a.type);
    case Shape::vars:
      return (all ? ncmpi_get_vars_all : ncmpi_get_vars)(ncid, varid, start, count, a.stride.data(), data,
                                                         a.elements, a.type);
    case Shape::varm:
      return (all ? ncmpi_get_varm_all : ncmpi_get_varm)(ncid, varid, start, count, a.stride.data(),
                                                         a.imap.data(), data, a.elements, a.type);
    default:
      return (all ? ncmpi_get_varn_all : ncmpi_get_varn)(ncid, varid, slabs, a.start_list.data(),
                                                         a.count_list.data(), data, a.elements, a.type);
  }
}

int id_of(int ncid, const Variable& variable) {
  int varid = -1;
  check(ncmpi_inq_varid(ncid, variable.name.c_str(), &varid), "inq_varid");
  return varid;
}

/// Compares the values with the reference. In files, unwritten elements are undefined.
void compare(const Dataset& dataset, const Reference& reference, const Operation& operation,
             const Arguments& arguments, int status, bool is_coupled) {
  const Variable& variable = dataset.variables[static_cast<std::size_t>(operation.variable)];
  const auto elements = elements_of(variable, operation);
  const auto positions = memory_positions(operation);
  bool may_be_out_of_range = false;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const int value = reference.at(operation.variable, elements[i]);
    long double expected = value;
    if (value == unwritten) {
      const bool is_known =
          is_coupled && (variable.has_fill_attribute || operation.memory_type == variable.type);
      may_be_out_of_range = may_be_out_of_range || !is_known;
      if (!is_known) continue;
      expected = variable.has_fill_attribute ? fill_attribute : default_fill(variable.type);
    }
    const long double found = load_as(operation.memory_type, arguments.buffer.data(), positions[i]);
    if (found == expected) continue;
    std::fprintf(stderr, "rank %d: %s, element %lld (shape %d): %Lg, not %Lg\n", rank, variable.name.c_str(),
                 static_cast<long long>(elements[i]), static_cast<int>(operation.shape), found, expected);
    ++failures;
    return;
  }
  if (status != NC_ERANGE || !may_be_out_of_range) check(status, "get");
}

}  // namespace

void check(int status, const char* what) {
  if (status == NC_NOERR) return;
  // Sluice's library describes the last error.
  using LastError = const char* (*)();
  const auto last_error = reinterpret_cast<LastError>(dlsym(RTLD_DEFAULT, "sluice_last_error"));
  std::fprintf(stderr, "rank %d: %s: %s (%s)\n", rank, what, ncmpi_strerror(status),
               last_error != nullptr ? last_error() : "");
  ++failures;
}

void define(int ncid, const Dataset& dataset, int phase) {
  if (phase == 0) {
    int dimid = 0;
    check(ncmpi_def_dim(ncid, "record", NC_UNLIMITED, &dimid), "def_dim");
    for (std::size_t d = 1; d < dataset.dimensions.size(); ++d) {
      check(ncmpi_def_dim(ncid, ("d" + std::to_string(d)).c_str(), dataset.dimensions[d], &dimid), "def_dim");
    }
  }
  for (const Variable& variable : dataset.variables) {
    if (variable.first_phase != phase) continue;
    int varid = -1;
    check(ncmpi_def_var(ncid, variable.name.c_str(), variable.type, static_cast<int>(variable.dimids.size()),
                        variable.dimids.data(), &varid),
          "def_var");
    if (!variable.has_fill_attribute) continue;
    const int fill = fill_attribute;
    check(ncmpi_put_att_int(ncid, varid, "_FillValue", variable.type, 1, &fill), "put_att");
  }
}

void run_puts(int ncid, const Dataset& dataset, const Phase& phase) {
  std::vector<Arguments> kept;
  kept.reserve(phase.puts[static_cast<std::size_t>(rank)].size());
  if (!phase.is_collective) check(ncmpi_begin_indep_data(ncid), "begin_indep_data");
  bool has_pending = false;
  const auto wait = [&] {
    if (!has_pending) return;
    check(phase.is_collective ? ncmpi_wait_all(ncid, NC_REQ_ALL, nullptr, nullptr)
                              : ncmpi_wait(ncid, NC_REQ_ALL, nullptr, nullptr),
          "wait");
    has_pending = false;
  };
  for (const Operation& operation : phase.puts[static_cast<std::size_t>(rank)]) {
    const Variable& variable = dataset.variables[static_cast<std::size_t>(operation.variable)];
    Arguments& arguments = kept.emplace_back(variable, operation);
    const auto elements = elements_of(variable, operation);
    const auto positions = memory_positions(operation);
    for (std::size_t i = 0; i < elements.size(); ++i) {
      store_as(operation.memory_type, arguments.buffer.data(), positions[i],
               value_of(operation.serial, operation.variable, elements[i]));
    }
    const int varid = id_of(ncid, variable);
    if (operation.is_nonblocking) {
      // Overlapping requests of one wait have no defined order, so each gets its own wait.
      wait();
      has_pending = true;
      if (!operation.slabs.empty())
        check(put(ncid, varid, operation, arguments, Mode::nonblocking, nullptr), "iput");
      continue;
    }
    wait();
    if (operation.slabs.empty() && variable.shape.empty()) {
      // A rank that puts nothing to a scalar takes part with an empty list.
      if (phase.is_collective)
        check(ncmpi_put_varn_all(ncid, varid, 0, nullptr, nullptr, nullptr, 0, arguments.type), "empty put");
      continue;
    }
    const Mode mode = phase.is_collective ? Mode::collective : Mode::independent;
    check(put(ncid, varid, operation, arguments, mode, nullptr), "put");
  }
  wait();
  if (!phase.is_collective) check(ncmpi_end_indep_data(ncid), "end_indep_data");
}

void run_gets(int ncid, const Dataset& dataset, const Reference& reference, const Gets& what) {
  const bool is_coupled = what.is_coupled;
  Random shared(what.seed), own(what.own_seed);
  MPI_Offset records = -1;
  check(ncmpi_inq_dimlen(ncid, 0, &records), "inq_dimlen");
  if (records != reference.record_count()) {
    std::fprintf(stderr, "rank %d: %lld records, not %lld\n", rank, static_cast<long long>(records),
                 static_cast<long long>(reference.record_count()));
    ++failures;
    return;
  }
  const bool is_collective = draw(shared, 0, 2) != 0;
  if (!is_collective) check(ncmpi_begin_indep_data(ncid), "begin_indep_data");
  std::vector<Operation> operations;
  std::vector<Arguments> kept;
  const int gets = static_cast<int>(draw(shared, 5, 25));
  operations.reserve(static_cast<std::size_t>(gets));
  kept.reserve(static_cast<std::size_t>(gets));
  std::vector<std::size_t> pending;
  const auto wait = [&] {
    std::vector<int> requests(pending.size(), NC_REQ_NULL), statuses(pending.size(), NC_NOERR);
    for (std::size_t i = 0; i < pending.size(); ++i) {
      const Operation& operation = operations[pending[i]];
      const int varid = id_of(ncid, dataset.variables[static_cast<std::size_t>(operation.variable)]);
      check(get(ncid, varid, operation, kept[pending[i]], Mode::nonblocking, &requests[i]), "iget");
    }
    const int n = static_cast<int>(pending.size());
    const int status = is_collective ? ncmpi_wait_all(ncid, n, requests.data(), statuses.data())
                                     : ncmpi_wait(ncid, n, requests.data(), statuses.data());
    if (status != NC_ERANGE) check(status, "wait");
    for (std::size_t i = 0; i < pending.size(); ++i)
      compare(dataset, reference, operations[pending[i]], kept[pending[i]], statuses[i], is_coupled);
    pending.clear();
  };
  for (int i = 0; i < gets; ++i) {
    const int number =
        static_cast<int>(draw(shared, 0, static_cast<std::int64_t>(dataset.variables.size()) - 1));
    const bool is_nonblocking = draw(shared, 0, 1) == 0 && dataset.has_overlaps;
    const Variable& variable = dataset.variables[static_cast<std::size_t>(number)];
    if (variable.first_phase > what.phase) continue;
    operations.push_back(make_get(own, dataset, number, records));
    kept.emplace_back(variable, operations.back());
    pending.push_back(operations.size() - 1);
    if (is_nonblocking) continue;
    pending.pop_back();
    wait();
    const int status = get(ncid, id_of(ncid, variable), operations.back(), kept.back(),
                           is_collective ? Mode::collective : Mode::independent, nullptr);
    compare(dataset, reference, operations.back(), kept.back(), status, is_coupled);
  }
  wait();
  if (!is_collective) check(ncmpi_end_indep_data(ncid), "end_indep_data");
}

}  // namespace patterns
