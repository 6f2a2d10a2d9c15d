#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "burst_options.hpp"
#include "driver.hpp"
#include "mpi_handles.hpp"
#include "open_driver.hpp"
#include "sluice/storage/burst_log_writer.hpp"
#include "sluice/storage/posix_file_system.hpp"

namespace sluice::api {

/// An ordinary file whose puts go to this process's burst-buffer log first (docs/formats/
/// burst-buffer-log.md), and from there to the file by the driver below, in few large collective writes: at
/// close, flush, sync, wait, redefinition, and when a read needs them. Metadata goes to the file at once.
/// After an error of a flush the log keeps what it has; the next one tries again. As in PnetCDF, a put whose
/// values are out of range succeeds, and what flushes it tells NC_ERANGE.
class BurstDriver final : public Driver {
 public:
  /// The log of one process. Its file system is part of it, for the log refers to it.
  struct Log {
    storage::PosixFileSystem files;
    std::unique_ptr<storage::BurstLogWriter> writer;
  };

  /// Creates this process's log. Not collective. Throws as storage::BurstLogWriter.
  static std::unique_ptr<Log> create_log(const OpenRequest& request, const BurstOptions& options, int ncid,
                                         const formats::BurstLogIdentity& identity);

  /// `opened` is of the driver below; `comm` outlives this.
  BurstDriver(const Communicator& comm, std::unique_ptr<Log> log, const BurstOptions& options,
              OpenedDriver& opened);
  ~BurstDriver() override;

  [[nodiscard]] std::string_view kind() const noexcept override { return "burst buffer"; }
  void use_layout_options(const formats::LayoutOptions& options) override {
    below_->use_layout_options(options);
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

  const Communicator& comm_;
  BurstOptions options_;
  std::unique_ptr<Log> log_;
  std::unique_ptr<Driver> below_;
  formats::Header header_;  ///< as the file has it, for flushes
  formats::Layout layout_;
  std::int64_t records_ = 0;   ///< that are known of; the file's header learns of them in a flush
  std::uint64_t pending_ = 0;  ///< variables in the log: bit varid % 64
  std::vector<std::int64_t> out_of_range_;  ///< positions of puts in the log; NC_ERANGE is still to be told
  int flush_status_ = NC_NOERR;
  bool is_closed_ = false;
};

/// Collective: creates or opens a file, with a log in front of it where the hints ask for one and the file
/// can be written. `open` is create_file or open_file.
[[nodiscard]] OpenedDriver open_with_burst_buffer(const OpenRequest& request, int ncid, bool can_write,
                                                  OpenedDriver (*open)(const OpenRequest&));

}  // namespace sluice::api
