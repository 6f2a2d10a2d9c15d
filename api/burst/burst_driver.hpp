#pragma once
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "burst_options.hpp"
#include "driver.hpp"
#include "mpi_handles.hpp"
#include "open_driver.hpp"
#include "sluice/storage/burst_log_writer.hpp"
#include "sluice/storage/posix_file_system.hpp"

namespace sluice::api {

/// An ordinary file with a burst-buffer log for each process (docs/formats/burst-buffer-log.md). Puts go to
/// the log first. The driver below writes them to the file later in few large collective writes: at close,
/// flush, sync, wait, redefinition, and before a read that needs them. Metadata goes to the file at once. If
/// a flush fails, the log keeps its data and the next flush tries again. As in PnetCDF, a put with
/// out-of-range values succeeds, and the flush reports NC_ERANGE.
class BurstDriver final : public Driver {
 public:
  /// The log of one process, with its file system, because the log refers to it.
  struct Log {
    storage::PosixFileSystem files;
    std::string netcdf_path;
    formats::BurstLogIdentity identity;
    std::unique_ptr<storage::BurstLogWriter> writer;
  };

  /// Creates this process's log. Not collective. Throws the errors of storage::BurstLogWriter.
  static std::unique_ptr<Log> create_log(const OpenRequest& request, const BurstOptions& options, int ncid,
                                         const formats::BurstLogIdentity& identity);

  /// Writes into the file which logs belong to it, so recovery does not apply an earlier program's logs, and
  /// the ranks whose logs the file does not need any more.
  static void mark_file(const Log& log, const std::set<std::int64_t>& flushed = {}) noexcept;

  /// `opened` belongs to the driver below; `comm` outlives this driver.
  BurstDriver(const Communicator& comm, std::unique_ptr<Log> log, const BurstOptions& options,
              OpenedDriver& opened);
  ~BurstDriver() override;

  [[nodiscard]] std::string_view kind() const noexcept override { return "burst buffer"; }
  void use_layout_options(const formats::LayoutOptions& options,
                          const formats::LayoutOptions& agreed) override {
    below_->use_layout_options(options, agreed);
  }
  void write_header(const formats::Header& header, const formats::Layout& layout) override;
  void move_data(const formats::Header& old_header, const formats::Layout& old_layout,
                 const formats::Header& new_header, const formats::Layout& new_layout) override;
  void fill(const formats::Header& header, const formats::Layout& layout, int varid,
            std::int64_t first_record, std::int64_t records) override;
  void put(const formats::Header& header, const formats::Layout& layout, std::span<Access> accesses,
           Mode mode) override;
  void get(const formats::Header& header, const formats::Layout& layout, std::span<Access> accesses,
           Mode mode) override;
  [[nodiscard]] std::optional<std::int64_t> post_put(const formats::Header& header, Access& access) override;
  [[nodiscard]] bool takes_posted_puts() const noexcept override { return true; }
  [[nodiscard]] bool withdraw_put(std::int64_t ticket) override;
  std::int64_t agree_record_count(std::int64_t local, Mode mode) override;
  void sync() override;
  void flush(Mode mode) override;
  [[nodiscard]] int take_flush_status() noexcept override;
  void close(const formats::Header& header) override;
  void discard(bool is_new) override;

 private:
  std::int64_t append(const formats::Header& header, Access& access);
  [[nodiscard]] bool needs_flush(std::span<const Access> accesses, Mode mode) const;
  void replay(Mode mode);
  void replay_alone();
  void replay_together();
  [[nodiscard]] std::int64_t round_bytes() const noexcept;
  void forget();
  void tell_out_of_range() noexcept;
  void end_log(bool keeps);
  void mark_flushed() noexcept;

  const Communicator& comm_;
  BurstOptions options_;
  std::unique_ptr<Log> log_;
  std::unique_ptr<Driver> below_;
  formats::Header header_;  ///< as in the file, for flushes
  formats::Layout layout_;
  std::int64_t records_ = 0;                ///< known records; a flush updates the file's header
  std::uint64_t pending_ = 0;               ///< variables in the log: bit varid % 64
  std::vector<std::int64_t> out_of_range_;  ///< positions of puts in the log; NC_ERANGE not yet reported
  int flush_status_ = NC_NOERR;
  bool is_closed_ = false;
};

/// Collective: creates or opens a file. Adds a log if the hints request it and the file can be written.
/// `open` is create_file or open_file.
[[nodiscard]] OpenedDriver open_with_burst_buffer(const OpenRequest& request, int ncid, bool can_write,
                                                  OpenedDriver (*open)(const OpenRequest&));

}  // namespace sluice::api
