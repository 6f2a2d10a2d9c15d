#pragma once
#include <mpi.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "driver.hpp"
#include "mpi_handles.hpp"
#include "request_queue.hpp"
#include "sluice/formats/header.hpp"
#include "sluice/formats/hyperslab.hpp"
#include "sluice/formats/layout.hpp"

namespace sluice::api {

/// An open dataset, the object behind an ncid. It owns the metadata and the modes and makes all checks; its
/// driver moves the bytes. Every API function locks `mutex`. Source files:
/// - open_dataset.cpp, dataset.cpp: life cycle
/// - definitions.cpp, attributes.cpp, inquiry.cpp: metadata
/// - record_count.cpp: number of records
/// - access.cpp: put and get
/// - nonblocking.cpp: nonblocking requests
/// - dataset_table.hpp: ids
struct Dataset {
  std::recursive_mutex mutex;
  Communicator comm;  ///< duplicate of the user's communicator; returns errors
  int rank = 0;
  int size = 1;
  int ncid = -1;
  std::string path;                                ///< as the user wrote it
  std::uint64_t stream_number = 0;                 ///< of a step of a stream that is read: its number; else 0
  InfoHandle info;                                 ///< the user's hints, for MPI-IO
  std::map<std::string, std::string> asked_hints;  ///< from the user: info object and PNETCDF_HINTS
  std::map<std::string, std::string> hints;        ///< in force below the driver
  formats::AlignmentHints alignment_hints;
  formats::LayoutOptions
      layout_options;  ///< of the last enddef; before the first enddef, the alignments of the hints
  bool copies_posted_puts =
      false;  ///< nc_in_place_swap=disable: iput does not need the buffer after the call

  formats::Header header;
  formats::Layout layout;
  std::vector<std::byte> netcdf4_file;     ///< of a step that was written so: formats/netcdf4.hpp
  std::vector<std::byte> netcdf4_changes;  ///< the list of attributes that it has with other values
  std::unique_ptr<Driver> driver;

  bool is_writable = false;
  bool is_new = false;  ///< created, and still in its first define mode
  bool in_define_mode = false;
  bool is_independent = false;  ///< between begin_indep_data and end_indep_data
  bool is_fill = false;         ///< ncmpi_set_fill(NC_FILL)
  bool is_safe_mode = false;    ///< PNETCDF_SAFE_MODE=1
  formats::StartRule start_rule = formats::StartRule::relaxed;  ///< strict: PNETCDF_RELAX_COORD_BOUND=0
  bool is_record_count_dirty = false;  ///< grew in independent mode, and is not agreed on yet

  /// The metadata at redef, for moving data and for abort; empty outside a redefinition.
  std::unique_ptr<formats::Header> header_before_redef;
  formats::Layout layout_before_redef;

  RequestQueue requests;
  std::int64_t put_bytes = 0;  ///< ncmpi_inq_put_size
  std::int64_t get_bytes = 0;
};

/// The open dataset of an id. Locks only the table. Throws Error(NC_EBADID).
std::shared_ptr<Dataset> find_dataset(
    int ncid);  // shared: a call keeps it alive while another thread closes it

/// Whether bput needs space in the attached buffer. A driver that keeps posted puts has a place of its own
/// for them.
inline bool needs_attached_buffer(const Dataset& dataset) noexcept {
  return !dataset.driver || !dataset.driver->takes_posted_puts();
}

/// Updates the record count and header after a put that ended at `records`. In collective mode all ranks call
/// it.
void raise_record_count(Dataset& dataset, std::int64_t records, Mode mode);

/// Adds rank 0's write of the record count to ncmpi_inq_put_size, as PnetCDF does.
void count_record_count_written(Dataset& dataset);

/// Collective: all ranks agree on the number of records, because puts in independent mode may have raised the
/// number on some ranks only. Does nothing on a read-only dataset.
void settle_record_count(Dataset& dataset);

/// Collective, in data mode. For a dataset that is open for reading while it is written: updates the view to
/// the data published so far. False if the dataset cannot change.
bool follow_writer(Dataset& dataset);

/// Must be called before header.record_count is used in data mode: in inquiries of dimensions and of the
/// number of records, and in the checks of gets.
inline void refresh_record_count(Dataset& dataset) {
  if (dataset.driver)
    dataset.header.record_count = dataset.driver->current_record_count(dataset.header.record_count);
}

}  // namespace sluice::api
