#include "coupled_file.hpp"

#include <utility>

#include "sluice/formats/error.hpp"
#include "sluice/formats/types.hpp"

namespace sluice::api {
namespace {

/// Counts the accesses that have elements, and the bytes of these elements in the file.
void count(const formats::Header& header, std::span<const Access> accesses, std::uint64_t& calls,
           std::uint64_t& bytes) {
  for (const Access& access : accesses) {
    if (access.elements == 0) continue;
    ++calls;
    bytes +=
        static_cast<std::uint64_t>(access.elements) * formats::size_of(header.variable(access.varid).type);
  }
}

}  // namespace

FileStep::FileStep(std::shared_ptr<runtime::Session> session, std::uint64_t step, Use use) noexcept
    : session_(std::move(session)), step_(step), use_(use) {}

FileStep::~FileStep() {
  if (!is_open_ || session_->is_forked_child()) return;
  try {
    discard();
  } catch (...) {
    // The matcher is gone, and so is the step that would be given back.
  }
}

void FileStep::note_failure(int status) noexcept {
  // Create may have emptied the file, unless it failed with one of these errors.
  if (use_ == Use::create && status != NC_EEXIST && status != NC_EACCESS) is_untouched_ = false;
}

void FileStep::end(std::int64_t record_count, const runtime::AccessCounters& counters) {
  is_open_ = false;
  if (use_ == Use::read) {
    session_->close({runtime::ReadEnd{step_, counters}});
  } else {
    session_->close({runtime::PublishRequest{step_, record_count, counters}});
    session_->await_taken();  // what the program notes of its progress is in the run's record, too
  }
}

void FileStep::discard() {
  is_open_ = false;
  if (use_ == Use::read) {
    session_->close({runtime::ReadEnd{step_, {}}});
  } else {
    session_->close(
        {runtime::Discard{step_, is_untouched_ ? runtime::StepEnd::untouched : runtime::StepEnd::aborted}});
  }
}

void FileStep::expect_own_process() const {
  if (session_->is_forked_child())
    throw Error(NC_EIO, "the parent process opened this dataset: a forked child must open the file itself");
}

CoupledFileDriver::CoupledFileDriver(std::unique_ptr<FileStep> step, std::unique_ptr<Driver> below,
                                     std::uint64_t open_wait_us) noexcept
    : step_(std::move(step)), below_(std::move(below)) {
  counters_.open_wait_us = open_wait_us;
}

void CoupledFileDriver::use_layout_options(const formats::LayoutOptions& options,
                                           const formats::LayoutOptions& agreed) {
  below_->use_layout_options(options, agreed);
}

void CoupledFileDriver::write_header(const formats::Header& header, const formats::Layout& layout) {
  step_->expect_own_process();
  below_->write_header(header, layout);
}

void CoupledFileDriver::move_data(const formats::Header& old_header, const formats::Layout& old_layout,
                                  const formats::Header& new_header, const formats::Layout& new_layout) {
  below_->move_data(old_header, old_layout, new_header, new_layout);
}

bool CoupledFileDriver::reads_unwritten_as_fill() const noexcept {
  return below_->reads_unwritten_as_fill();
}

void CoupledFileDriver::fill(const formats::Header& header, const formats::Layout& layout, int varid,
                             std::int64_t first_record, std::int64_t records) {
  step_->expect_own_process();
  below_->fill(header, layout, varid, first_record, records);
}

void CoupledFileDriver::put(const formats::Header& header, const formats::Layout& layout,
                            std::span<Access> accesses, Mode mode) {
  step_->expect_own_process();
  below_->put(header, layout, accesses, mode);
  count(header, accesses, counters_.puts, counters_.put_bytes);
}

void CoupledFileDriver::get(const formats::Header& header, const formats::Layout& layout,
                            std::span<Access> accesses, Mode mode) {
  step_->expect_own_process();
  below_->get(header, layout, accesses, mode);
  count(header, accesses, counters_.gets, counters_.get_bytes);
}

std::int64_t CoupledFileDriver::agree_record_count(std::int64_t local, Mode mode) {
  step_->expect_own_process();
  return below_->agree_record_count(local, mode);
}

std::int64_t CoupledFileDriver::current_record_count(std::int64_t local) {
  return below_->current_record_count(local);
}

std::optional<std::int64_t> CoupledFileDriver::post_put(const formats::Header& header, Access& access) {
  step_->expect_own_process();
  return below_->post_put(header, access);
}

bool CoupledFileDriver::takes_posted_puts() const noexcept {
  return below_->takes_posted_puts();
}

int CoupledFileDriver::take_flush_status() noexcept {
  return below_ != nullptr ? below_->take_flush_status() : std::exchange(flush_status_, NC_NOERR);
}

bool CoupledFileDriver::withdraw_put(std::int64_t ticket) {
  return below_->withdraw_put(ticket);
}

void CoupledFileDriver::end_independent() {
  below_->end_independent();
}

void CoupledFileDriver::sync() {
  step_->expect_own_process();
  below_->sync();
}

void CoupledFileDriver::flush(Mode mode) {
  step_->expect_own_process();
  below_->flush(mode);
}

void CoupledFileDriver::close(const formats::Header& header) {
  step_->expect_own_process();
  below_->close(header);
  flush_status_ = below_->take_flush_status();
  below_.reset();  // closes the files that the driver still has open
  step_->end(header.record_count, counters_);
}

void CoupledFileDriver::discard(bool is_new) {
  step_->expect_own_process();
  below_->discard(is_new);
  below_.reset();
  if (is_new)
    step_->discard();
  else
    step_->end(0, counters_);
}

}  // namespace sluice::api
