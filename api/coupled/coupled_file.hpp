#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "driver.hpp"
#include "mpi_handles.hpp"
#include "open_driver.hpp"
#include "sluice/runtime/session.hpp"

namespace sluice::api {

/// This process's share in a step whose data is in files. The matchers only know the writers and readers of
/// such a step.
class FileStep {
 public:
  enum class Use : std::uint8_t { create, reopen, read };

  FileStep(std::shared_ptr<runtime::Session> session, std::uint64_t step, Use use) noexcept;
  FileStep(const FileStep&) = delete;
  FileStep& operator=(const FileStep&) = delete;
  ~FileStep();

  /// Reports a failed create or open. After NC_EEXIST, NC_EACCESS or a failed open, the file is unchanged.
  void note_failure(int status) noexcept;
  /// The file may change from now on.
  void note_begin() noexcept { is_untouched_ = false; }
  /// Reports that this process has closed the file.
  void end(std::int64_t record_count, const runtime::AccessCounters& counters);
  /// Discards the data written so far.
  void discard();

  /// Throws Error(NC_EIO) in a forked child.
  void expect_own_process() const;

 private:
  const std::shared_ptr<runtime::Session> session_;  ///< shared with the process's other datasets
  const std::uint64_t step_;
  const Use use_;
  bool is_untouched_ = true;
  bool is_open_ = true;
};

/// Collective: opens an ordinary file to read the step, which a former run has left there.
[[nodiscard]] OpenedDriver open_file_of_step(const OpenRequest& request, std::unique_ptr<FileStep> step);

/// The location of a workflow file. For a reader, also a share in its step, so that the file does not change.
struct FoundFile {
  std::string path;
  std::unique_ptr<FileStep> step;
};

/// Finds a file. The writer finds it at its own path; a reader waits until the file exists. One process calls
/// it.
[[nodiscard]] FoundFile find_coupled_file(const std::string& path,
                                          const runtime::ClientEnvironment& environment,
                                          const runtime::RuleMatch& match);

/// A dataset of the workflow in files on disk. All calls go to the driver of the files. The step is published
/// when all processes of the group have closed the files.
class CoupledFileDriver final : public Driver {
 public:
  CoupledFileDriver(std::unique_ptr<FileStep> step, std::unique_ptr<Driver> below,
                    std::uint64_t open_wait_us) noexcept;

  [[nodiscard]] std::string_view kind() const noexcept override { return below_->kind(); }
  [[nodiscard]] bool is_replayed() const noexcept override { return below_->is_replayed(); }
  void use_layout_options(const formats::LayoutOptions& options,
                          const formats::LayoutOptions& agreed) override;
  void write_header(const formats::Header& header, const formats::Layout& layout) override;
  void move_data(const formats::Header& old_header, const formats::Layout& old_layout,
                 const formats::Header& new_header, const formats::Layout& new_layout) override;
  [[nodiscard]] bool reads_unwritten_as_fill() const noexcept override;
  void fill(const formats::Header& header, const formats::Layout& layout, int varid,
            std::int64_t first_record, std::int64_t records) override;
  void put(const formats::Header& header, const formats::Layout& layout, std::span<Access> accesses,
           Mode mode) override;
  void get(const formats::Header& header, const formats::Layout& layout, std::span<Access> accesses,
           Mode mode) override;
  std::int64_t agree_record_count(std::int64_t local, Mode mode) override;
  [[nodiscard]] std::int64_t current_record_count(std::int64_t local) override;
  [[nodiscard]] std::optional<std::int64_t> post_put(const formats::Header& header, Access& access) override;
  [[nodiscard]] bool takes_posted_puts() const noexcept override;
  [[nodiscard]] bool withdraw_put(std::int64_t ticket) override;
  [[nodiscard]] int take_flush_status() noexcept override;
  void end_independent() override;
  void sync() override;
  void flush(Mode mode) override;
  void close(const formats::Header& header) override;
  void discard(bool is_new) override;

 private:
  std::unique_ptr<FileStep> step_;  ///< destroyed after the driver below has closed the file
  std::unique_ptr<Driver> below_;
  int flush_status_ = 0;  ///< of the flush in close
  runtime::AccessCounters counters_;
};

}  // namespace sluice::api
