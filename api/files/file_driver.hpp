#pragma once
#include <cstdint>
#include <string>

#include "driver.hpp"
#include "file_handle.hpp"
#include "file_options.hpp"
#include "file_transfer.hpp"
#include "mpi_handles.hpp"

namespace sluice::api {

/// An ordinary CDF-1, CDF-2 or CDF-5 file, accessed in parallel by MPI-IO. create_file and open_file
/// (open_driver.hpp) construct it.
class FileDriver final : public Driver {
 public:
  /// Properties of the file, known after the open.
  struct OpenInfo {
    formats::Version version = formats::Version::cdf1;
    std::int64_t record_count = 0;  ///< in the file's header
    bool is_writable = false;
    bool is_shared = false;  ///< NC_SHARE: metadata is written to storage at once
  };

  /// `comm` outlives the driver.
  FileDriver(const Communicator& comm, FileHandle file, const FileOptions& options, const OpenInfo& open_info)
      : comm_(comm), file_(std::move(file)), open_info_(open_info), transfer_(comm_, file_, options) {}

  /// See FileTransfer.
  void watch_others(WriterLock others) noexcept { transfer_.watch_others(std::move(others)); }

  [[nodiscard]] std::string_view kind() const noexcept override { return "file"; }

  void write_header(const formats::Header& header, const formats::Layout& layout) override;
  void move_data(const formats::Header& old_header, const formats::Layout& old_layout,
                 const formats::Header& new_header, const formats::Layout& new_layout) override;
  void fill(const formats::Header& header, const formats::Layout& layout, int varid,
            std::int64_t first_record, std::int64_t records) override;
  void put(const formats::Header& header, const formats::Layout& layout, std::span<Access> accesses,
           Mode mode) override;
  void get(const formats::Header& header, const formats::Layout& layout, std::span<Access> accesses,
           Mode mode) override;
  std::int64_t agree_record_count(std::int64_t local, Mode mode) override;
  void sync() override;
  void flush(Mode) override {}
  void close(const formats::Header& header) override;
  void discard(bool is_new) override;

 private:
  /// Called on rank 0 if the count differs from the count in the file.
  void write_record_count(std::int64_t records);

  const Communicator& comm_;
  FileHandle file_;
  OpenInfo open_info_;
  FileTransfer transfer_;
};

}  // namespace sluice::api
