#pragma once
#include <mpi.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "driver.hpp"
#include "mpi_handles.hpp"
#include "request_queue.hpp"
#include "sluice/formats/header.hpp"
#include "sluice/formats/hyperslab.hpp"
#include "sluice/formats/layout.hpp"

namespace sluice::api {

/// An open dataset: what an ncid stands for. Owns the metadata and the modes and makes all checks; its driver
/// moves the bytes. Every entry locks `mutex`. open_dataset.cpp, dataset.cpp: life cycle; definitions.cpp,
/// attributes.cpp, inquiry.cpp: metadata; record_count.cpp; access.cpp: put and get; nonblocking.cpp:
/// nonblocking requests. dataset_table.hpp: ids.
struct Dataset {
  std::recursive_mutex mutex;
  Communicator comm;  ///< duplicate of the user's, errors return
  int rank = 0;
  int size = 1;
  int ncid = -1;
  std::string path;                                ///< as the user gave it
  InfoHandle info;                                 ///< the user's hints, for MPI-IO
  std::map<std::string, std::string> asked_hints;  ///< the user's: info object and PNETCDF_HINTS
  std::map<std::string, std::string> hints;        ///< in force below the driver
  formats::AlignmentHints alignment_hints;
  formats::LayoutOptions layout_options;  ///< of the last enddef; before one the alignments of the hints
  bool copies_posted_puts = false;        ///< nc_in_place_swap=disable: iput needs the buffer no more

  formats::Header header;
  formats::Layout layout;
  std::unique_ptr<Driver> driver;

  bool is_writable = false;
  bool is_new = false;  ///< created, and not yet left define mode for the first time
  bool in_define_mode = false;
  bool is_independent = false;  ///< between begin_indep_data and end_indep_data
  bool is_fill = false;         ///< ncmpi_set_fill(NC_FILL)
  bool is_safe_mode = false;    ///< PNETCDF_SAFE_MODE=1
  formats::StartRule start_rule = formats::StartRule::relaxed;  ///< strict: PNETCDF_RELAX_COORD_BOUND=0
  bool is_record_count_dirty = false;  ///< grown in independent mode and not yet agreed on

  /// Metadata as it was at redef, for moving data and for abort; empty outside of a redefinition.
  std::unique_ptr<formats::Header> header_before_redef;
  formats::Layout layout_before_redef;

  RequestQueue requests;
  std::int64_t put_bytes = 0;  ///< ncmpi_inq_put_size
  std::int64_t get_bytes = 0;
};

/// The open dataset of an id; locks the table only. Throws Error(NC_EBADID).
std::shared_ptr<Dataset> find_dataset(
    int ncid);  // shared: a call keeps it alive while another thread closes it

/// Leaves the record count and header as the file has them after a put that ended at `records` (all ranks
/// call in collective mode).
void raise_record_count(Dataset& dataset, std::int64_t records, Mode mode);

/// Rank 0 wrote the number of records to the file: ncmpi_inq_put_size counts it, as in PnetCDF.
void count_record_count_written(Dataset& dataset);

/// Collective: all ranks agree on the number of records, which puts in independent mode may have raised on
/// some only. Nothing on a dataset that is read only.
void settle_record_count(Dataset& dataset);

/// Collective, in data mode: follows what the dataset's writer has published since, where it is open for
/// reading while it is written. False when it cannot change.
bool follow_writer(Dataset& dataset);

/// To be called before header.record_count is used in data mode: by inquiries of dimensions and of the number
/// of records, and by the checks of gets.
inline void refresh_record_count(Dataset& dataset) {
  if (dataset.driver)
    dataset.header.record_count = dataset.driver->current_record_count(dataset.header.record_count);
}

}  // namespace sluice::api
