#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "driver.hpp"
#include "group_agreement.hpp"
#include "memory_reader.hpp"
#include "mpi_handles.hpp"
#include "sluice/runtime/session.hpp"
#include "sluice/runtime/write_log.hpp"
#include "step_log.hpp"

namespace sluice::api {

/// A dataset in staged memory: puts go to this process's write log, gets come from all writers' logs by the
/// plans of the matcher. Only fill and write_header use MPI, and the collective calls of a group that spans
/// nodes; put, get and close do not.
class MemoryDriver final : public Driver {
 public:
  struct Parts {
    std::shared_ptr<runtime::Session> session;  ///< shared with the process's other datasets
    const Communicator& comm;
    std::uint32_t rule = 0;
    std::uint64_t step = 0;
    std::uint64_t control = 0;  ///< segment of the control block; 0: the group spans nodes, or reads
    bool is_writer = false;
    std::int64_t record_count = 0;
    std::uint64_t open_wait_us = 0;
    runtime::StepPattern pattern;  ///< of a writer only base_record and last_put
    std::vector<runtime::LogRange> ranges = {};
    runtime::PublishAt publish_at = runtime::PublishAt::close;
    std::unique_ptr<StepLog> disk = {};             ///< of a writer whose data goes to a burst-buffer log
    runtime::DatasetKey key = {};                   ///< of a writer
    std::unique_ptr<runtime::WriteLog> log = {};    ///< of one that goes on in the log of the step before
    std::vector<std::uint64_t> first_offsets = {};  ///< runtime::Opened
  };
  /// From here on the step is open: the destructor gives it back when close() or discard() has not. Throws
  /// when the control block cannot be mapped.
  explicit MemoryDriver(Parts&& parts);
  ~MemoryDriver() override;

  [[nodiscard]] std::string_view kind() const noexcept override { return "memory"; }
  void write_header(const formats::Header& header, const formats::Layout& layout) override;
  /// So leaving define mode puts no fill values, and readers of what is not put yet can wait for it.
  [[nodiscard]] bool reads_unwritten_as_fill() const noexcept override { return true; }
  void move_data(const formats::Header& old_header, const formats::Layout& old_layout,
                 const formats::Header& new_header, const formats::Layout& new_layout) override;
  void fill(const formats::Header& header, const formats::Layout& layout, int varid,
            std::int64_t first_record, std::int64_t records) override;
  void put(const formats::Header& header, const formats::Layout& layout, std::span<Access> accesses,
           Mode mode) override;
  void get(const formats::Header& header, const formats::Layout& layout, std::span<Access> accesses,
           Mode mode) override;
  std::int64_t agree_record_count(std::int64_t local, Mode mode) override;
  [[nodiscard]] std::int64_t current_record_count(std::int64_t local) override;
  [[nodiscard]] std::optional<std::int64_t> published_record_count() override;
  void sync() override;
  void end_independent() override;
  void flush(Mode mode) override;
  void close(const formats::Header& header) override;
  void discard(bool is_new) override;

 private:
  /// What a step's writer has and a reader has not.
  struct Writing {
    std::unique_ptr<GroupAgreement> group;
    std::unique_ptr<StepLog> disk;  ///< null: data is in memory
    std::unique_ptr<runtime::WriteLog> log;
    matcher::LogPatternBuilder pattern;
    matcher::BoxesSummaries summaries = {};  ///< of the accesses of one call
    std::int64_t known_records = 0;          ///< that were put, or agreed on
    matcher::Fingerprint structure = {};     ///< of the header, once it was written
  };

  void start_writing(Parts& parts);
  void start_reading(const Parts& parts);
  void append_requests(const formats::Header& header, const Access& access, std::uint64_t sequence,
                       std::uint64_t first_offset);
  int put_one(const formats::Header& header, const Access& access, std::uint64_t sequence);
  void announce_puts();
  void sync_group();
  void publish_synced();
  void publish(std::int64_t record_count);
  void close_read();
  void expect_own_process() const;

  const std::shared_ptr<runtime::Session> session_;  ///< shared with the process's other datasets
  const Communicator& comm_;
  const std::uint32_t rule_;
  const std::uint64_t step_;
  const runtime::PublishAt publish_at_;
  const runtime::DatasetKey key_;
  std::optional<Writing> writing_;
  MemoryReader reader_;
  runtime::AccessCounters counters_;
  bool is_open_ = true;
};

}  // namespace sluice::api
