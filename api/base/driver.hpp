#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sluice/formats/header.hpp"
#include "sluice/formats/hyperslab.hpp"
#include "sluice/formats/layout.hpp"
#include "sluice/formats/status.hpp"
#include "sluice/formats/types.hpp"
#include "sluice/storage/access.hpp"

namespace sluice::api {

enum class Mode : std::uint8_t { collective, independent };

using storage::Access;

/// The storage of an open dataset: an ordinary file (file_driver), staged memory (memory_driver), a
/// burst-buffer log, subfiles or blobs. The dataset owns the header and all checks; a driver moves metadata
/// and data. All processes of the communicator call a function marked collective. The processes agree on a
/// failure if the others would otherwise wait forever. All functions throw sluice::Error.
class Driver {
 public:
  virtual ~Driver() = default;

  /// "file", "memory", …
  [[nodiscard]] virtual std::string_view kind() const noexcept = 0;

  /// Whether the definitions are on disk once write_header has returned. Otherwise burst-buffer logs could
  /// not be recovered, and the dataset has none.
  [[nodiscard]] virtual bool keeps_definitions() const noexcept { return true; }

  /// Whether accesses that repeat those of an earlier dataset are faster, so that their lists are worth
  /// keeping.
  [[nodiscard]] virtual bool is_replayed() const noexcept { return false; }

  /// Whether readers, or the recovery of logs, may come as soon as there are definitions.
  [[nodiscard]] virtual bool shows_definitions_at_once() const noexcept { return false; }

  /// Collective; called first when the dataset leaves define mode. Passes the alignments and the reserved
  /// header space in force to a driver that lays out files of its own.
  /// `agreed`: for files that have all definitions, with room for the longest ones of all ranks.
  virtual void use_layout_options(const formats::LayoutOptions& /*options*/,
                                  const formats::LayoutOptions& /*agreed*/) {}

  /// Collective; called when the dataset leaves define mode, and when metadata changed in data mode (before
  /// sync or close). `header` is the same on all ranks and carries its layout.
  virtual void write_header(const formats::Header& header, const formats::Layout& layout) = 0;

  /// Collective; called when the dataset leaves define mode after redef, before write_header. Moves existing
  /// data from the old to the new layout.
  virtual void move_data(const formats::Header& old_header, const formats::Layout& old_layout,
                         const formats::Header& new_header, const formats::Layout& new_layout) = 0;

  /// Whether unwritten elements read as the fill value anyway. If so, new variables need no fill.
  [[nodiscard]] virtual bool reads_unwritten_as_fill() const noexcept { return false; }

  /// Collective: sets every element of the variable in records [first_record, first_record + records) to its
  /// fill value. For a fixed-size variable the two numbers are 0 and 1, and mean the whole variable.
  virtual void fill(const formats::Header& header, const formats::Layout& layout, int varid,
                    std::int64_t first_record, std::int64_t records) = 0;

  /// Collective in Mode::collective: all processes call put, with an empty list if they have no data. Later
  /// accesses of the list win. A put may lie beyond the record count; the dataset raises header.record_count
  /// afterwards.
  virtual void put(const formats::Header& header, const formats::Layout& layout, std::span<Access> accesses,
                   Mode mode) = 0;

  /// Same as put, for reading. No access lies beyond header.record_count.
  virtual void get(const formats::Header& header, const formats::Layout& layout, std::span<Access> accesses,
                   Mode mode) = 0;

  /// Agrees on the number of records; `local` is the number of this process.
  /// - Mode::collective: returns the maximum over the communicator and makes it durable. All processes also
  ///   call it right after each collective put to a dataset with a record dimension.
  /// - Mode::independent: returns the number that is known without communication.
  virtual std::int64_t agree_record_count(std::int64_t local, Mode mode) = 0;

  /// The number of records that inquiries show and that bounds are checked against; `local` is the header's
  /// number. A memory driver's agree_record_count does not wait for the other processes, so puts need not
  /// wait; this function waits for them instead. Not collective; the dataset calls it in
  /// refresh_record_count().
  [[nodiscard]] virtual std::int64_t current_record_count(std::int64_t local) { return local; }

  /// Called when a nonblocking put is posted in data mode. A driver that keeps the put at once (in a log)
  /// returns a ticket that can withdraw the put, and skips the put in the wait (Access::is_taken). Other
  /// drivers return nothing. Not collective.
  [[nodiscard]] virtual std::optional<std::int64_t> post_put(const formats::Header&, Access&) { return {}; }
  /// Whether post_put keeps puts. If so, a wait uses only the request ids, and an id that is not a pending
  /// put is not an error of this driver.
  [[nodiscard]] virtual bool takes_posted_puts() const noexcept { return false; }
  /// Takes a posted put back; false if it is too late.
  [[nodiscard]] virtual bool withdraw_put(std::int64_t /*ticket*/) { return false; }

  /// Collective: ends independent data mode. Later accesses see, and can overwrite, the data that was put in
  /// independent mode.
  virtual void end_independent() {}

  /// Collective, on a dataset that is open for reading: the number of records that the writer has published
  /// so far, the same on all ranks. Nothing if an open dataset does not change.
  [[nodiscard]] virtual std::optional<std::int64_t> published_record_count() { return std::nullopt; }

  /// Collective: makes all puts visible to other processes (ncmpi_sync).
  virtual void sync() = 0;
  /// Starts the transfer of all puts to storage (ncmpi_flush, waits). In Mode::collective other processes see
  /// the puts. Collective in that mode.
  virtual void flush(Mode mode) = 0;

  /// NC_ERANGE if the last flush, sync or close wrote values of out-of-range puts and this was not yet
  /// reported; else NC_NOERR. Reports once. Not collective.
  [[nodiscard]] virtual int take_flush_status() noexcept { return NC_NOERR; }

  /// Collective. close publishes or completes the dataset. discard undoes a create: ncmpi_abort in define
  /// mode of a new file removes the file.
  virtual void close(const formats::Header& header) = 0;
  virtual void discard(bool is_new) = 0;
};

/// The result of opening or creating a dataset; the header of a new file is empty.
struct OpenedDriver {
  std::unique_ptr<Driver> driver;
  formats::Header header;
  formats::Layout layout;
  std::map<std::string, std::string>
      hints;  ///< in force below the driver (MPI_File_get_info), for ncmpi_inq_file_info
  std::uint64_t stream_number = 0;  ///< of a step of a stream that is read: its number; else 0
};

}  // namespace sluice::api
