// The life of an open dataset: its modes and its end. open_dataset.cpp contains its beginning.
#include "dataset.hpp"

#include <array>
#include <vector>

#include "agreement.hpp"
#include "checks.hpp"
#include "collective_checks.hpp"
#include "dataset_table.hpp"
#include "functions.hpp"

namespace sluice::api {
namespace {

/// Whether the end of define mode writes the fill value to the whole variable.
bool is_to_be_filled(const Dataset& dataset, int varid) {
  return !dataset.driver->reads_unwritten_as_fill() && !is_old_variable(dataset, varid) &&
         !dataset.header.variable(varid).no_fill;
}

/// The variables that rank 0 fills, on all ranks. If fill modes differ between ranks, rank 0's modes are the
/// file's. Collective. Includes only variables that every rank has.
std::vector<int> variables_to_fill(const Dataset& dataset) {
  if (dataset.driver->reads_unwritten_as_fill()) return {};
  std::vector<int> varids;
  for (int id = 0; id < dataset.header.variable_count(); ++id) {
    const bool has_elements = !dataset.header.is_record_variable(id) || dataset.header.record_count > 0;
    if (has_elements && is_to_be_filled(dataset, id)) varids.push_back(id);
  }
  if (dataset.comm.size() == 1) return varids;
  // The smallest number of variables on any rank, and the number of variables that rank 0 fills (negated; 0
  // on other ranks).
  std::array<int, 2> least{dataset.header.variable_count(),
                           dataset.comm.is_root() ? -static_cast<int>(varids.size()) : 0};
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, least.data(), least.size(), MPI_INT, MPI_MIN, dataset.comm.get()),
            "agree on the variables to fill");
  const auto [common, filled] = least;
  varids.resize(static_cast<std::size_t>(-filled));
  if (!varids.empty())
    check_mpi(MPI_Bcast(varids.data(), -filled, MPI_INT, 0, dataset.comm.get()), "broadcast");
  std::erase_if(varids, [limit = common](int id) { return id >= limit; });
  return varids;
}

/// Fills new variables in fill mode, in the existing records.
void fill_new_variables(Dataset& dataset) {
  const auto& header = dataset.header;
  for (const int id : variables_to_fill(dataset)) {
    const std::int64_t records = header.is_record_variable(id) ? header.record_count : 1;
    dataset.driver->fill(header, dataset.layout, id, 0, records);
  }
}

/// Throws NC_EINTOVERFLOW instead of filling records that a damaged file claims to have.
void check_new_records(const Dataset& dataset, const formats::Layout& layout) {
  const auto& header = dataset.header;
  for (int id = 0; id < header.variable_count(); ++id) {
    if (!header.is_record_variable(id) || !is_to_be_filled(dataset, id)) continue;
    std::int64_t bytes = 0;
    const bool overflows = __builtin_mul_overflow(header.record_count, layout.record_size, &bytes) ||
                           __builtin_add_overflow(bytes, header.variable(id).begin, &bytes);
    if (overflows)
      throw Error(NC_EINTOVERFLOW, "the header of " + dataset.path + " claims " +
                                       std::to_string(header.record_count) +
                                       " records: the records of variable '" + header.variable(id).name +
                                       "' would end beyond 2^63 - 1 bytes");
  }
}

/// Collective: whether all ranks' data sections begin at the same place, after the work that has found it.
/// The furthest one is `most`. Throws on all ranks where the work failed on any.
bool have_same_extent(const Communicator& comm, const Outcome& outcome, const formats::Layout& layout,
                      std::int64_t& most) {
  std::array<std::int64_t, 3> greatest{-outcome.status, layout.header_extent, -layout.header_extent};
  if (comm.size() > 1) {
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, greatest.data(), 3, MPI_INT64_T, MPI_MAX, comm.get()),
              "agree on the places of the variables");
  }
  throw_where_failed(outcome, static_cast<int>(-greatest[0]));
  most = greatest[1];
  return greatest[1] == -greatest[2];
}

/// The begins of variables that were there before a redef; 0 for new ones.
void restore_begins(Dataset& dataset) {
  const auto* const old_header = dataset.header_before_redef.get();
  const int known = old_header != nullptr ? old_header->variable_count() : 0;
  for (int id = 0; id < dataset.header.variable_count(); ++id)
    dataset.header.variable(id).begin = id < known ? old_header->variable(id).begin : 0;
}

/// Each rank computes where the variables are. Where the headers have different sizes, because an attribute
/// is longer on one rank, all leave room for the largest: only rank 0's places are in the file.
formats::Layout agree_layout(Dataset& dataset, formats::LayoutOptions& options) {
  const auto* const previous =
      dataset.header_before_redef != nullptr ? &dataset.layout_before_redef : nullptr;
  formats::Layout layout;
  const auto compute = [&] {
    layout = formats::compute_layout(dataset.header, options, previous);
    check_new_records(dataset, layout);
  };
  std::int64_t extent = 0;
  if (have_same_extent(dataset.comm, outcome_of(compute), layout, extent)) return layout;
  restore_begins(dataset);
  constexpr std::int64_t least_align_bytes = 4;
  options.data_align_bytes = least_align_bytes;
  options.header_free_bytes = extent - layout.header_size;
  run_collectively(dataset.comm, compute);
  return layout;
}

/// Leaves define mode. After a failure the dataset stays in define mode on all ranks.
void end_definitions(Dataset& dataset, const formats::EnddefArguments& arguments) {
  const auto* const old_header = dataset.header_before_redef.get();
  const auto options = formats::options_in_force(dataset.alignment_hints, arguments);
  auto agreed = options;
  const formats::Layout layout = agree_layout(dataset, agreed);
  dataset.driver->use_layout_options(options, agreed);
  if (old_header != nullptr)
    dataset.driver->move_data(*old_header, dataset.layout_before_redef, dataset.header, layout);
  write_header(dataset, layout);
  dataset.layout_options = formats::with_defaults(options, dataset.header);
  fill_new_variables(dataset);
  dataset.header_before_redef.reset();
  dataset.in_define_mode = false;
  dataset.is_new = false;
}

/// Between collective and independent data mode all processes wait for each other. So earlier puts are
/// complete, and later puts do not overwrite data that an earlier get still reads.
void wait_for_all(const Dataset& dataset) {
  check_mpi(MPI_Barrier(dataset.comm.get()), "wait for the other processes");
}

/// Ends the use of the dataset even if a step fails: the id is free afterwards. Throws the first failure.
template <class Work>
void end_use(Dataset& dataset, const Work& work) {
  std::exception_ptr failure;
  try {
    work();
  } catch (...) {
    failure = std::current_exception();
  }
  dataset.driver.reset();
  remove_dataset(dataset.ncid);
  if (failure) std::rethrow_exception(failure);
}

int close_driver(Dataset& dataset) {
  if (dataset.is_writable) settle_record_count(dataset);
  dataset.driver->close(dataset.header);
  return dataset.driver->take_flush_status();
}

}  // namespace

namespace ncmpi {

int redef(int ncid) {
  const DatasetUse dataset(ncid);
  require_writable(*dataset);
  if (dataset->in_define_mode) throw Error(NC_EINDEFINE, dataset->path + " is in define mode already");
  settle_record_count(*dataset);
  refresh_record_count(*dataset);
  dataset->driver->flush(Mode::collective);
  dataset->header_before_redef = std::make_unique<formats::Header>(dataset->header);
  dataset->layout_before_redef = dataset->layout;
  dataset->is_independent = false;
  dataset->in_define_mode = true;
  return dataset->driver->take_flush_status();
}

int enddef(int ncid) {
  const DatasetUse dataset(ncid);
  require_define_mode(*dataset);
  end_definitions(*dataset, {});
  return NC_NOERR;
}

int enddef_aligned(int ncid, MPI_Offset h_minfree, MPI_Offset v_align, MPI_Offset v_minfree,
                   MPI_Offset r_align) {
  const DatasetUse dataset(ncid);
  check_collectively(
      *dataset,
      [&] {
        require_define_mode(*dataset);
        if (h_minfree < 0 || v_align < 0 || v_minfree < 0 || r_align < 0)
          throw Error(NC_EINVAL, "the arguments of ncmpi__enddef are bytes and cannot be negative");
      },
      [&] {
        return std::vector{
            argument(NC_EMULTIDEFINE_FNC_ARGS, h_minfree), argument(NC_EMULTIDEFINE_FNC_ARGS, v_align),
            argument(NC_EMULTIDEFINE_FNC_ARGS, v_minfree), argument(NC_EMULTIDEFINE_FNC_ARGS, r_align)};
      });
  end_definitions(*dataset, {.data_align = v_align,
                             .record_align = r_align,
                             .header_free_bytes = h_minfree,
                             .fixed_free_bytes = v_minfree});
  return NC_NOERR;
}

int sync(int ncid) {
  const DatasetUse dataset(ncid);
  require_data_mode(*dataset);
  if (follow_writer(*dataset)) return NC_NOERR;
  settle_record_count(*dataset);
  dataset->driver->sync();
  return dataset->driver->take_flush_status();
}

int flush(int ncid) {
  const DatasetUse dataset(ncid);
  if (!dataset->in_define_mode && dataset->is_writable)
    dataset->driver->flush(dataset->is_independent ? Mode::independent : Mode::collective);
  return dataset->driver->take_flush_status();
}

int begin_indep_data(int ncid) {
  const DatasetUse dataset(ncid);
  require_data_mode(*dataset);
  if (!dataset->is_independent) {
    refresh_record_count(*dataset);
    if (dataset->is_writable) dataset->driver->flush(Mode::collective);
    wait_for_all(*dataset);
  }
  dataset->is_independent = true;
  return dataset->driver->take_flush_status();
}

int end_indep_data(int ncid) {
  const DatasetUse dataset(ncid);
  require_data_mode(*dataset);
  if (dataset->is_independent) {
    settle_record_count(*dataset);
    if (dataset->is_writable) count_record_count_written(*dataset);
    if (dataset->is_writable) dataset->driver->end_independent();
    wait_for_all(*dataset);
  }
  dataset->is_independent = false;
  return NC_NOERR;
}

int close(int ncid) {
  const DatasetUse dataset(ncid);
  const bool has_pending = !dataset->requests.empty();
  int status = NC_NOERR;
  end_use(*dataset, [&] {
    if (dataset->in_define_mode) {
      try {
        end_definitions(*dataset, {});
      } catch (...) {
        dataset->driver->discard(dataset->is_new);
        throw;
      }
    }
    status = close_driver(*dataset);
  });
  if (has_pending)
    throw Error(NC_EPENDING, "nonblocking requests were pending when " + dataset->path +
                                 " was closed, and were dropped. Call ncmpi_wait_all before ncmpi_close");
  return status;
}

int abort(int ncid) {
  const DatasetUse dataset(ncid);
  int status = NC_NOERR;
  end_use(*dataset, [&] {
    if (dataset->in_define_mode)
      dataset->driver->discard(dataset->is_new);
    else
      status = close_driver(*dataset);
  });
  return status;
}

}  // namespace ncmpi
}  // namespace sluice::api
