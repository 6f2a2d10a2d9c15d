#include "memory_driver.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <utility>
#include <vector>

#include "agreement.hpp"
#include "gathering.hpp"
#include "known_lists.hpp"
#include "last_error.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/formats/convert.hpp"
#include "sluice/storage/cut_guard.hpp"

namespace sluice::api {

namespace {

using FillValue = std::array<std::byte, 8>;

/// A copy of fewer bytes takes some milliseconds at most. Its two messages would be felt, and nobody would
/// see it.
constexpr std::uint64_t least_told_bytes = std::uint64_t{32} << 20;

std::uint64_t bytes_of(const formats::Header& header, std::span<const Access> accesses) noexcept {
  std::uint64_t bytes = 0;
  for (const Access& access : accesses) {
    if (access.elements == 0) continue;
    bytes +=
        static_cast<std::uint64_t>(access.elements) * formats::size_of(header.variable(access.varid).type);
  }
  return bytes;
}

std::unique_ptr<GroupAgreement> agreement_of(const MemoryDriver::Parts& parts) {
  if (parts.control == 0) return std::make_unique<AgreementByMpi>(parts.comm);
  auto block = parts.session->segments().mapping(parts.control, runtime::Mapping::Access::read_write);
  const auto session = parts.session;
  runtime::GroupControl control(
      std::move(block), static_cast<std::uint32_t>(parts.comm.rank()),
      static_cast<std::uint32_t>(parts.comm.size()), [session] { return session->is_alive(); },
      [session, comm = parts.comm.get(), key = parts.key] { return tell_of_wait(*session, comm, key); });
  control.raise_record_count(parts.record_count);
  return std::make_unique<AgreementInMemory>(std::move(control));
}

MemoryReader::Visibility visibility_of(const MemoryDriver::Parts& parts) noexcept {
  if (parts.is_writer) return MemoryReader::Visibility::own;
  return parts.publish_at == runtime::PublishAt::write ? MemoryReader::Visibility::awaited
                                                       : MemoryReader::Visibility::published;
}

/// What a process puts if it puts each variable once, with one record. A request takes some 200 bytes.
runtime::LogSize size_of_variables(const formats::Header& header, const formats::Layout& layout) {
  constexpr std::uint64_t request_bytes = 256;
  return {static_cast<std::uint64_t>(layout.record_begin - layout.header_extent + layout.record_size),
          request_bytes * (1 + static_cast<std::uint64_t>(header.variable_count()))};
}

}  // namespace

MemoryDriver::MemoryDriver(Parts&& parts)
    : session_(parts.session),
      comm_(parts.comm),
      rule_(parts.rule),
      step_(parts.step),
      publish_at_(parts.publish_at),
      key_(parts.key),
      reader_(parts.session, parts.step, parts.is_writer ? runtime::StepPattern{} : parts.pattern,
              visibility_of(parts), parts.first_offsets) {
  read_ = std::move(parts.read);
  read_group_ = parts.group;
  if (parts.is_writer) {
    start_writing(parts);
  } else {
    start_reading(parts);
  }
  counters_.open_wait_us = parts.open_wait_us;
}

void MemoryDriver::start_writing(Parts& parts) {
  try {
    runtime::SegmentSource* source = session_.get();
    if (parts.disk) source = parts.disk.get();
    auto log = std::move(parts.log);
    if (log != nullptr) {
      log->go_on(step_);
    } else {
      log = std::make_unique<runtime::WriteLog>(*source, step_, std::nullopt);
    }
    log->expect(session_->expected_size({rule_, {}}));
    const std::uint64_t first_offset = log->first_offset();
    writing_.emplace(Writing{agreement_of(parts), std::move(parts.disk), std::move(log),
                             matcher::LogPatternBuilder(parts.pattern.base_record, first_offset)});
    // Readers, logs on a disk and copies on other nodes need each put as it was.
    writing_->may_reuse = !writing_->disk && publish_at_ != runtime::PublishAt::write &&
                          (parts.control != 0 || comm_.size() == 1);
    writing_->log->raise_sequence(parts.pattern.last_put);
    if (parts.offer) use_offer(std::move(*parts.offer));
  } catch (...) {
    // The step is open at the matcher, and no destructor would give it back.
    if (!parts.offer)
      session_->close({runtime::Discard{step_, runtime::StepEnd::aborted, "its create or open has failed"}});
    throw;
  }
}

void MemoryDriver::use_offer(runtime::Session::Offer&& offer) {
  if (offer.table) writing_->log->provide(matcher::SegmentUse::table, std::move(*offer.table));
  if (offer.data) writing_->log->provide(matcher::SegmentUse::data, std::move(*offer.data));
  writing_->offer = std::move(offer);
}

void MemoryDriver::start_reading(const Parts& parts) {
  try {
    reader_.add_ranges(parts.ranges);
  } catch (...) {
    if (!read_) session_->close({runtime::ReadEnd{step_, {}}});
    throw;
  }
}

MemoryDriver::~MemoryDriver() {
  if (!is_open_ || session_->is_forked_child()) return;
  try {
    if (writing_) {
      discard(true);
    } else {
      close_read();
    }
  } catch (...) {
    // The matcher is gone, and so is the step that would be given back.
  }
}

void MemoryDriver::expect_own_process() const {
  if (session_->is_forked_child()) {
    throw Error(NC_EIO, "the parent process opened this dataset: a forked child must open the file itself");
  }
}

void MemoryDriver::write_header(const formats::Header& header, const formats::Layout& layout) {
  run_collectively(comm_, [&] {
    writing_->structure = matcher::structure_of(header);
    writing_->log->expect(session_->expected_size({rule_, writing_->structure}));
    writing_->log->limit_first_segments(size_of_variables(header, layout));
    if (writing_->disk) writing_->disk->write_header(header);
    std::optional<runtime::HeaderRequest> update;
    if (comm_.is_root()) {
      formats::Header encoded = header;
      encoded.version = formats::Version::cdf5;
      update = {step_, formats::encode_header(encoded), writing_->structure};
      if (writing_->offer && session_->post_header(*writing_->offer, *update)) update.reset();
    }
    // The answer to the header includes segments, so the first put needs no request for one.
    const auto wanted =
        writing_->disk ? std::vector<runtime::SegmentRequest>{} : writing_->log->wanted_ahead();
    auto segments = session_->prepare(update ? &*update : nullptr, wanted);
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (segments[i]) writing_->log->provide(wanted[i].use, std::move(*segments[i]));
  });
}

void MemoryDriver::move_data(const formats::Header& /*old_header*/, const formats::Layout& /*old_layout*/,
                             const formats::Header& /*new_header*/, const formats::Layout& /*new_layout*/) {
  // Requests name variables and elements, not file offsets, so no data moves.
}

void MemoryDriver::fill(const formats::Header& header, const formats::Layout& /*layout*/, int varid,
                        std::int64_t first_record, std::int64_t records) {
  expect_own_process();
  // One entry for all ranks: it is later than every put before this call and earlier than every put after it,
  // on all ranks. It uses the latest clock of the group.
  std::uint64_t sequence = writing_->log->next_sequence();
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &sequence, 1, MPI_UINT64_T, MPI_MAX, comm_.get()),
            "agree on the time of a fill");
  writing_->log->raise_sequence(sequence);
  writing_->may_reuse = false;  // the fill is not noted
  if (!comm_.is_root()) return;
  std::vector<std::int64_t> count = header.shape(varid);
  std::vector<std::int64_t> start(count.size(), 0);
  if (header.is_record_variable(varid)) {
    start[0] = first_record;
    count[0] = records;
  }
  const formats::HyperslabView box{start, count, {}};
  writing_->log->append_fill(varid, sequence, box);
  const bool has_records = header.is_record_variable(varid);
  writing_->pattern.add({varid, has_records, true, 0, header.variable(varid).dimids},
                        matcher::summarize(std::span(&box, 1), has_records));
  writing_->log->commit();
  announce_puts();
}

/// Reports puts to the matcher if a process waits for them.
void MemoryDriver::announce_puts() {
  if (publish_at_ == runtime::PublishAt::write && writing_->group->take_awaited())
    session_->announce_put({step_});
}

void MemoryDriver::append_requests(const formats::Header& header, const Access& access,
                                   std::uint64_t sequence, std::uint64_t first_offset) {
  constexpr std::size_t least_list = 8;  // fewer boxes do not need a list
  const std::size_t element_bytes = formats::size_of(header.variable(access.varid).type);
  const bool has_records = header.is_record_variable(access.varid);
  const auto known = known_lists().summary_of(access.slabs, has_records);
  const matcher::BoxesSummary& summary = known ? *known : writing_->summaries.of(access.slabs, has_records);
  if (access.slabs.size() >= least_list && access.slabs[0].dimensions() > 0) {
    matcher::FingerprintBuilder identity;
    identity.add(summary.boxes);
    identity.add(summary.lowest_record, std::int64_t{has_records});
    writing_->log->append_list(
        {access.varid, sequence, first_offset, element_bytes, access.slabs, identity.value()});
  } else {
    std::uint64_t log_offset = first_offset;
    for (const formats::HyperslabView& slab : access.slabs) {
      const std::int64_t elements = slab.elements();
      if (elements == 0) continue;
      writing_->log->append_request(access.varid, sequence, log_offset, slab);
      log_offset += static_cast<std::uint64_t>(elements) * element_bytes;
    }
  }
  writing_->pattern.add(
      {access.varid, has_records, false, first_offset, header.variable(access.varid).dimids}, summary);
}

/// Null: the put takes a new place in the log, and nothing is noted of it.
VariablePuts* MemoryDriver::puts_of(const formats::Header& header, const Access& access) {
  if (!writing_->may_reuse) return nullptr;
  const auto varid = static_cast<std::size_t>(access.varid);
  if (varid >= writing_->puts.size()) writing_->puts.resize(varid + 1);
  VariablePuts& puts = writing_->puts[varid];
  return puts.count(header, access, comm_.size()) ? &puts : nullptr;
}

void MemoryDriver::note_put(VariablePuts& puts, const Access& access, const VariablePuts::Place& place) {
  const auto& mapping = writing_->log->mapping();
  if (mapping && (writing_->kept.empty() || writing_->kept.back() != mapping))
    writing_->kept.push_back(mapping);
  for (const formats::HyperslabView& slab : access.slabs)
    if (slab.elements() > 0) puts.add(slab, access.slabs.size() == 1 ? &place : nullptr);
}

/// `is_new`: the place was reserved for this put. Returns a status.
int MemoryDriver::store(const formats::Header& header, const Access& access,
                        const runtime::WriteLog::Reservation& place, bool is_new) {
  const formats::Type type = header.variable(access.varid).type;
  const bool is_unsigned = byte_is_unsigned(header);
  if (!formats::is_plain_copy(type, access.memory, is_unsigned)) {
    FillValue fill{};
    header.fill_value(access.varid, fill.data());
    if (is_new) writing_->log->prepare(place, place.bytes);
    return formats::convert_put(type, place.data, access.memory, access.buffer, access.elements, fill.data(),
                                is_unsigned);
  }
  const std::uint64_t bytes = static_cast<std::uint64_t>(access.elements) * formats::size_of(type);
  if (is_new)
    writing_->log->store(place, access.buffer, bytes);
  else
    formats::copy_bytes(place.data, access.buffer, bytes);
  return NC_NOERR;
}

int MemoryDriver::put_one(const formats::Header& header, const Access& access, std::uint64_t sequence) {
  runtime::WriteLog& log = *writing_->log;
  const std::uint64_t bytes = bytes_of(header, std::span(&access, 1));
  VariablePuts* const puts = puts_of(header, access);
  const bool is_one = puts != nullptr && access.slabs.size() == 1;
  const auto same = is_one ? puts->find(access.slabs[0]) : std::nullopt;
  const auto again = is_one && !same ? puts->take_free(bytes) : same;
  const auto place = again ? *again : log.reserve(bytes);
  const int status = store(header, access, place, !again);
  storage::expect_no_cut(0);
  StepBurstLog* const disk = writing_->disk.get();
  const std::int64_t entry =
      disk != nullptr ? disk->commit(header, access, {sequence, log.offset_in_segment(place)}) : 0;
  try {
    // Where nobody else puts, the entry of the put before says the same.
    if (!same || comm_.size() > 1) append_requests(header, access, sequence, place.log_offset);
  } catch (...) {
    if (disk != nullptr) disk->withdraw(entry);
    throw;
  }
  if (puts != nullptr && !same) note_put(*puts, access, place);
  log.commit();
  ++counters_.puts;
  counters_.put_bytes += bytes;
  return status;
}

void MemoryDriver::put(const formats::Header& header, const formats::Layout& /*layout*/,
                       std::span<Access> accesses, Mode mode) {
  expect_own_process();
  const std::uint64_t bytes = bytes_of(header, accesses);
  const TimedCall timed(put_times_, bytes);
  std::optional<runtime::Session::ReportedCopy> told;
  if (bytes >= least_told_bytes) told.emplace(*session_, step_, true);
  // Of requests with the same sequence the later ones win, so one sequence suffices for the call.
  std::uint64_t sequence = writing_->log->next_sequence();
  if (mode == Mode::collective) {
    sequence = writing_->group->enter_put(sequence);
    writing_->log->raise_sequence(sequence);
  }
  writing_->summaries.clear();
  for (Access& access : accesses) {
    access.status = NC_NOERR;
    if (access.elements == 0) continue;
    // A failed put continues the call: the other processes need this process in the following steps.
    try {
      access.status = put_one(header, access, sequence);
    } catch (const Error& error) {
      writing_->pattern.spoil(runtime::random_number());
      access.status = error.status();
      set_last_error(error.what());
    }
  }
  announce_puts();
}

void MemoryDriver::get(const formats::Header& header, const formats::Layout& /*layout*/,
                       std::span<Access> accesses, Mode mode) {
  expect_own_process();
  const bool is_of_group = writing_ && mode == Mode::collective;
  // As in a file, the get sees the other processes' earlier puts.
  if (is_of_group) {
    runtime::WriteLog& log = *writing_->log;
    log.raise_sequence(writing_->group->enter_get(log.next_sequence()));
  }
  std::exception_ptr failure;
  const std::uint64_t bytes = bytes_of(header, accesses);
  const TimedCall timed(get_times_, bytes);
  std::optional<runtime::Session::ReportedCopy> told;
  if (bytes >= least_told_bytes) told.emplace(*session_, step_, false);
  try {
    reader_.get(header, accesses, counters_);
    storage::expect_no_cut(0);
  } catch (...) {
    failure = std::current_exception();
  }
  if (is_of_group) writing_->group->leave_get();  // the other processes may put again
  if (failure) std::rethrow_exception(failure);
}

std::int64_t MemoryDriver::agree_record_count(std::int64_t local, Mode mode) {
  if (!writing_) return local;
  expect_own_process();
  reader_.raise_known_records(local);
  // As in a file, the other processes see growth in independent mode after the next collective agreement.
  const std::int64_t known = mode == Mode::collective ? writing_->group->agree_record_count(local) : local;
  writing_->known_records = std::max(writing_->known_records, known);
  return known;
}

std::int64_t MemoryDriver::current_record_count(std::int64_t local) {
  if (!writing_ || !writing_->group->waits_for_record_count()) return local;
  expect_own_process();
  const std::int64_t records = writing_->group->record_count(local);
  reader_.raise_known_records(records);
  return records;
}

void MemoryDriver::sync() {
  if (!writing_) return;
  expect_own_process();
  if (writing_->disk) writing_->disk->sync();
  sync_group();
  if (publish_at_ == runtime::PublishAt::sync) publish_synced();
}

/// Later puts of the group are newer than all earlier puts.
void MemoryDriver::sync_group() {
  runtime::WriteLog& log = *writing_->log;
  log.raise_sequence(writing_->group->sync(log.next_sequence()));
}

void MemoryDriver::end_independent() {
  expect_own_process();
  sync_group();
}

/// When this function returns, all processes of the group have reported to the matcher, and readers see all
/// earlier puts.
void MemoryDriver::publish_synced() {
  for (VariablePuts& puts : writing_->puts) puts.forget();
  writing_->kept.clear();
  std::exception_ptr failure;
  try {
    session_->sync({step_,
                    {writing_->log->position(), writing_->group->record_count(writing_->known_records),
                     writing_->pattern.pattern().requests}});
  } catch (...) {
    failure = std::current_exception();
  }
  sync_group();  // the other processes need this process even after a failure
  if (failure) std::rethrow_exception(failure);
}

std::optional<std::int64_t> MemoryDriver::published_record_count() {
  if (publish_at_ == runtime::PublishAt::close) return std::nullopt;
  expect_own_process();
  std::int64_t records = 0;
  run_collectively(comm_, [&] {
    if (comm_.is_root()) records = reader_.published_record_count();
  });
  check_mpi(MPI_Bcast(&records, 1, MPI_INT64_T, 0, comm_.get()), "share the number of records");
  return records;
}

void MemoryDriver::flush(Mode /*mode*/) {
  // All put data is already in shared memory.
}

void MemoryDriver::publish(std::int64_t record_count) {
  expect_own_process();
  is_open_ = false;
  writing_->log->commit();
  writing_->log->finish();
  try {
    if (writing_->disk) writing_->disk->close();
  } catch (const Error&) {
    drop_step();
    throw;
  }
  session_->remember_size({rule_, writing_->structure}, writing_->log->size());
  const std::int64_t records = writing_->group->leave(record_count);
  matcher::LogPattern pattern = writing_->pattern.pattern();
  pattern.last_put = writing_->log->last_sequence();
  const runtime::PublishRequest request{step_,
                                        records,
                                        counters_,
                                        pattern,
                                        writing_->log->ranges(),
                                        writing_->log->position(),
                                        {},
                                        call_times(),
                                        writing_->pattern.extent()};
  if (writing_->offer) {
    session_->close(*writing_->offer, request);
  } else {
    session_->close({request});
  }
  session_->keep_log(
      key_, {step_, static_cast<std::uint32_t>(comm_.rank()), static_cast<std::uint32_t>(comm_.size()),
             std::move(writing_->disk), std::move(writing_->log)});
}

void MemoryDriver::close_read() {
  expect_own_process();
  is_open_ = false;
  runtime::ReadEnd request{step_, counters_, call_times()};
  if (!read_) return session_->close({request});
  request.group = read_group_;
  session_->close(*read_, request);
}

void MemoryDriver::close(const formats::Header& header) {
  if (writing_) {
    publish(header.record_count);
  } else {
    close_read();
  }
}

void MemoryDriver::discard(bool is_new) {
  if (!writing_) return close_read();
  if (!is_new) return publish(0);
  expect_own_process();
  is_open_ = false;
  drop_step();
}

void MemoryDriver::drop_step() {
  writing_->group->leave(0);
  if (writing_->disk) writing_->disk->remove();
  session_->close({runtime::Discard{step_}});
}

}  // namespace sluice::api
