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

/// What is behind an open dataset: an ordinary file (file_driver), staged memory (memory_driver), a
/// burst-buffer log, subfiles, blobs. The dataset owns the header and all checks; a driver moves metadata
/// and data. Functions marked collective are called by all processes of the communicator; they agree on
/// failure where the others would otherwise wait for ever. All of them throw sluice::Error.
class Driver {
 public:
  virtual ~Driver() = default;

  /// "file", "memory", …
  [[nodiscard]] virtual std::string_view kind() const noexcept = 0;

  /// Collective; on leaving define mode, before all else: the alignments and room in force, for a driver that
  /// lays out files of its own.
  virtual void use_layout_options(const formats::LayoutOptions&) {}

  /// Collective; on leaving define mode, and when metadata changed in data mode (before sync/close). `header`
  /// is the same on all ranks and carries its layout.
  virtual void write_header(const formats::Header& header, const formats::Layout& layout) = 0;

  /// Collective; on leaving define mode after redef, before write_header: existing data goes from the old to
  /// the new layout.
  virtual void move_data(const formats::Header& old_header, const formats::Layout& old_layout,
                         const formats::Header& new_header, const formats::Layout& new_layout) = 0;

  /// Whether elements that nobody has written read as the fill value anyway: then new variables need no fill.
  [[nodiscard]] virtual bool reads_unwritten_as_fill() const noexcept { return false; }

  /// Collective: every element of the variable in records [first_record, first_record + records) (of a fixed
  /// variable: all, the two are 0 and 1) becomes its fill value.
  virtual void fill(const formats::Header& header, const formats::Layout& layout, int varid,
                    std::int64_t first_record, std::int64_t records) = 0;

  /// Collective in Mode::collective: called by all, with an empty list by those who have nothing. Later
  /// accesses of the list win. Elements beyond the record count may be put; the dataset raises
  /// header.record_count afterwards.
  virtual void put(const formats::Header& header, const formats::Layout& layout, std::span<Access> accesses,
                   Mode mode) = 0;

  /// The same for reading. Records beyond header.record_count are not asked for.
  virtual void get(const formats::Header& header, const formats::Layout& layout, std::span<Access> accesses,
                   Mode mode) = 0;

  /// Agrees on the number of records: `local` is this process's. Mode::collective: the result is the maximum
  /// over the communicator, and made durable; called by all right after each collective put to a dataset with
  /// a record dimension, too. Mode::independent: what is known without talking to the others.
  virtual std::int64_t agree_record_count(std::int64_t local, Mode mode) = 0;

  /// The number of records that inquiries show and bounds are checked against, `local` being the header's. A
  /// driver whose agree_record_count does not wait for the other processes (memory) waits for them here, so
  /// that puts need not. Not collective; the dataset asks by refresh_record_count().
  [[nodiscard]] virtual std::int64_t current_record_count(std::int64_t local) { return local; }

  /// A nonblocking put when it is posted, in data mode. A driver that keeps it at once (in a log) returns the
  /// ticket by which it can be withdrawn, and passes over it when it is waited for (Access::is_taken); from
  /// others it returns nothing. Not collective.
  [[nodiscard]] virtual std::optional<std::int64_t> post_put(const formats::Header&, Access&) { return {}; }
  /// Whether it does so: then a wait goes by ids alone, and an id that is no pending put's is no error of it.
  [[nodiscard]] virtual bool takes_posted_puts() const noexcept { return false; }
  /// Takes such a put back; false when it is too late.
  [[nodiscard]] virtual bool withdraw_put(std::int64_t /*ticket*/) { return false; }

  /// Collective: back from independent data mode. What was put in it is seen, and overwritten, by what
  /// follows.
  virtual void end_independent() {}

  /// Collective, on a dataset that is open for reading: the number of records that its writer has published
  /// by now, the same on all ranks. Nothing where a dataset that is open does not change.
  [[nodiscard]] virtual std::optional<std::int64_t> published_record_count() { return std::nullopt; }

  /// Collective: what was put is visible to others (ncmpi_sync).
  virtual void sync() = 0;
  /// What was put is on its way to storage (ncmpi_flush, waits), and where Mode::collective others see it.
  /// Collective in that mode.
  virtual void flush(Mode mode) = 0;

  /// NC_ERANGE where the last flush, sync or close has written values for puts that were out of range and
  /// have not told so, else NC_NOERR. Told once. Not collective.
  [[nodiscard]] virtual int take_flush_status() noexcept { return NC_NOERR; }

  /// Collective. close publishes or completes; discard undoes a create (ncmpi_abort in define mode of a new
  /// file: the file is removed).
  virtual void close(const formats::Header& header) = 0;
  virtual void discard(bool is_new) = 0;
};

/// What opening or creating gives: for a new file the header is empty.
struct OpenedDriver {
  std::unique_ptr<Driver> driver;
  formats::Header header;
  formats::Layout layout;
  std::map<std::string, std::string>
      hints;  ///< in force below the driver (MPI_File_get_info), for ncmpi_inq_file_info
};

}  // namespace sluice::api
