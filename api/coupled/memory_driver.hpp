#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "call_times.hpp"
#include "driver.hpp"
#include "group_agreement.hpp"
#include "memory_reader.hpp"
#include "mpi_handles.hpp"
#include "sluice/runtime/session.hpp"
#include "sluice/runtime/write_log.hpp"
#include "step_burst_log.hpp"
#include "variable_puts.hpp"

namespace sluice::api {

/// A dataset in staged memory. Puts go to this process's write log; gets read all writers' logs with the
/// matcher's plans. Only fill, write_header and the collective calls of a group on several nodes use MPI.
/// put, get and close do not.
class MemoryDriver final : public Driver {
 public:
  struct Parts {
    std::shared_ptr<runtime::Session> session;  ///< shared with the process's other datasets
    const Communicator& comm;
    std::uint32_t rule = 0;
    std::uint64_t step = 0;
    std::uint64_t control = 0;  ///< segment of the control block; 0: a group on several nodes, or a reader
    bool is_writer = false;
    std::int64_t record_count = 0;
    std::uint64_t open_wait_us = 0;
    runtime::StepPattern pattern;  ///< a writer only has base_record and last_put
    std::vector<runtime::LogRange> ranges = {};
    runtime::PublishAt publish_at = runtime::PublishAt::close;
    std::unique_ptr<StepBurstLog> disk = {};  ///< for a writer whose data goes to a burst-buffer log
    runtime::DatasetKey key = {};             ///< for a writer
    std::unique_ptr<runtime::WriteLog> log =
        {};  ///< for a writer that continues the log of the previous step; its source is `disk`, if any
    std::vector<std::uint64_t> first_offsets = {};  ///< runtime::Opened
    /// The step was offered. Until the group has taken it, forget() and not the destructor ends its use.
    std::optional<runtime::Session::Offer> offer = {};
    std::optional<runtime::Session::Read> read = {};  ///< the read was offered, and taken
    std::uint64_t group = 0;                          ///< with `read`: Member::group
  };
  /// The step is open from here on: the destructor gives it back unless close() or discard() has done so.
  /// Throws if the control block cannot be mapped.
  explicit MemoryDriver(Parts&& parts);
  ~MemoryDriver() override;

  /// The group has not got the step that it was offered. Nothing was written to it.
  void forget() noexcept { is_open_ = false; }

  [[nodiscard]] std::string_view kind() const noexcept override { return "memory"; }
  [[nodiscard]] bool is_replayed() const noexcept override { return true; }
  [[nodiscard]] bool shows_definitions_at_once() const noexcept override {
    return publish_at_ == runtime::PublishAt::write || (writing_ && writing_->disk);
  }
  void write_header(const formats::Header& header, const formats::Layout& layout) override;
  /// So the end of define mode puts no fill values, and readers can wait for data that is not put yet.
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
  /// The members that only a writer of the step has.
  struct Writing {
    std::unique_ptr<GroupAgreement> group;
    std::unique_ptr<StepBurstLog> disk;  ///< null: data is in memory
    std::unique_ptr<runtime::WriteLog> log;
    matcher::LogPatternBuilder pattern;
    matcher::BoxesSummaries summaries = {};  ///< accesses of one call
    std::int64_t known_records = 0;          ///< put or agreed on
    matcher::Fingerprint structure = {};     ///< of the header, after it was written
    /// of a step that was offered: what follows needs no answer
    std::optional<runtime::Session::Offer> offer = {};
    bool may_reuse = false;               ///< no reader, and no other node, has seen the puts
    std::vector<VariablePuts> puts = {};  ///< by variable
    /// Memory that puts may use again; shared with the cache of segments.
    std::vector<std::shared_ptr<const runtime::Mapping>> kept = {};
  };

  void start_writing(Parts& parts);
  void use_offer(runtime::Session::Offer&& offer);
  void start_reading(const Parts& parts);
  void append_requests(const formats::Header& header, const Access& access, std::uint64_t sequence,
                       std::uint64_t first_offset);
  [[nodiscard]] VariablePuts* puts_of(const formats::Header& header, const Access& access);
  void note_put(VariablePuts& puts, const Access& access, const VariablePuts::Place& place);
  int store(const formats::Header& header, const Access& access, const runtime::WriteLog::Reservation& place,
            bool is_new);
  int put_one(const formats::Header& header, const Access& access, std::uint64_t sequence);
  void announce_puts();
  void sync_group();
  void publish_synced();
  void publish(std::int64_t record_count);
  void drop_step();
  void close_read();
  void expect_own_process() const;
  [[nodiscard]] matcher::AccessTimes call_times() const noexcept {
    return {put_times_.up_to_now(), get_times_.up_to_now()};
  }

  const std::shared_ptr<runtime::Session> session_;  ///< shared with the process's other datasets
  const Communicator& comm_;
  const std::uint32_t rule_;
  const std::uint64_t step_;
  const runtime::PublishAt publish_at_;
  const runtime::DatasetKey key_;
  std::optional<Writing> writing_;
  std::optional<runtime::Session::Read> read_;  ///< of a read that was offered
  std::uint64_t read_group_ = 0;
  MemoryReader reader_;
  runtime::AccessCounters counters_;
  CallTimes put_times_, get_times_;
  bool is_open_ = true;
};

}  // namespace sluice::api
