// Creates, opens and deletes datasets of the workflow.
#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>

#include "agreement.hpp"
#include "burst_options.hpp"
#include "coupled_file.hpp"
#include "coupled_group.hpp"
#include "file_import.hpp"
#include "memory_driver.hpp"
#include "open_driver.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/storage/posix_file_system.hpp"

namespace sluice::api {

namespace {

/// With NC_NOCLOBBER, the drained file must not replace an existing file.
void expect_no_file(const OpenRequest& request, const runtime::RuleMatch& match) {
  if (!request.keeps_existing() || !match.rule.is_drained) return;
  run_collectively(request.comm, [&] {
    if (request.comm.is_root() && storage::PosixFileSystem().exists(match.file))
      throw Error(NC_EEXIST, match.file + " exists, and NC_NOCLOBBER was given");
  });
}

/// An unfinished step may grow between the answers to two ranks. All ranks use rank 0's header and the
/// largest number of records.
void share_view(const Communicator& comm, runtime::Opened& answer) {
  std::string header(reinterpret_cast<const char*>(answer.header.data()), answer.header.size());
  broadcast(comm, header);
  const auto* const bytes = reinterpret_cast<const std::byte*>(header.data());
  answer.header.assign(bytes, bytes + header.size());
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &answer.record_count, 1, MPI_INT64_T, MPI_MAX, comm.get()),
            "share the number of records");
}

/// The options of the step's logs, if the rule stores the step's data in burst-buffer logs.
std::optional<BurstOptions> log_options(const OpenRequest& request,
                                        const runtime::ClientEnvironment& environment,
                                        const runtime::RuleMatch& match) {
  if (match.rule.through != matcher::Through::burst_buffer) return std::nullopt;
  auto hints = request.hints;
  hints["nc_burst_buf"] = "enable";
  if (!environment.log_directory.empty()) hints.emplace("nc_burst_buf_dirname", environment.log_directory);
  BurstOptions options = burst_options(hints, match.file);
  options.directory = absolute_path(options.directory);
  return options;
}

/// The identity that this process's log contains, besides the path of its file.
struct LogIdentity {
  formats::BurstLogStep step;
  runtime::RunIdentity run;
};

using KeptLog = runtime::Session::KeptLog;

/// The source of a log whose rule stores data in burst-buffer logs.
StepBurstLog* disk_of(const KeptLog& kept) noexcept {
  return static_cast<StepBurstLog*>(kept.source.get());  // MemoryDriver keeps no other source
}

/// The log that this process may continue. Its step is 0 if there is none.
KeptLog take_kept_log(const CoupledGroup& group, const runtime::DatasetKey& key,
                      const std::optional<BurstOptions>& options) {
  KeptLog kept = group.session->take_log(key, group.member);
  StepBurstLog* const disk = disk_of(kept);
  const bool is_alike = (disk != nullptr) == options.has_value();
  return is_alike && (disk == nullptr || disk->reopen(*options)) ? std::move(kept) : KeptLog{};
}

/// Collective: the earlier step whose logs all processes of the group have kept, each in the same place; 0 if
/// not all have.
std::uint64_t common_log(const Communicator& comm, const KeptLog& kept) {
  const auto step = static_cast<std::int64_t>(kept.step);
  std::array<std::int64_t, 2> most_and_least{step, -step};
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, most_and_least.data(), most_and_least.size(), MPI_INT64_T, MPI_MAX,
                          comm.get()),
            "share which logs are kept");
  return most_and_least[0] == -most_and_least[1] ? static_cast<std::uint64_t>(step) : 0;
}

/// Creates the log of a step that is open for writing. Gives the step back if the log cannot be created.
std::unique_ptr<StepBurstLog> make_log(const std::optional<BurstOptions>& options, const std::string& file,
                                       const Communicator& comm, const CoupledGroup& group,
                                       const LogIdentity& log) {
  if (!options) return nullptr;
  const formats::BurstLogStep& step = log.step;
  try {
    return std::make_unique<StepBurstLog>(
        *group.session, *options,
        StepBurstLog::Place{file,
                            group.member.group,
                            comm.rank(),
                            comm.size(),
                            step,
                            {log.run.number, log.run.begin_ns, group.member.group}});
  } catch (...) {
    group.session->close({runtime::Discard{static_cast<std::uint64_t>(step.step), runtime::StepEnd::aborted,
                                           "the log of a process could not be made"}});
    throw;
  }
}

formats::BurstLogStep log_step(std::uint64_t step, std::uint64_t origin, std::uint64_t base = 0) noexcept {
  return {static_cast<std::int64_t>(step), static_cast<std::int64_t>(origin),
          static_cast<std::int64_t>(base)};
}

/// Continues a kept log in a step that is open for writing. Gives the step back if that fails.
void continue_log(KeptLog& kept, const CoupledGroup& group, std::uint64_t step, MemoryDriver::Parts& parts) {
  parts.log = std::move(kept.log);
  parts.disk.reset(static_cast<StepBurstLog*>(kept.source.release()));
  try {
    if (parts.disk) parts.disk->go_on(step);
  } catch (...) {
    group.session->close(
        {runtime::Discard{step, runtime::StepEnd::aborted, "the log of a process could not be continued"}});
    throw;
  }
}

/// A program that knows nothing of PnetCDF has written it by the C library.
std::string not_cdf_text(const std::string& path) {
  return path +
         " was written as a file of another format than CDF-1, CDF-2 and CDF-5: PnetCDF cannot read it. Let "
         "the writer make a CDF file (nccopy -k cdf5), or read it through netCDF-C. If it begins as a CDF "
         "file, the event log says where it is damaged";
}

/// The way in which a step begins.
struct Beginning {
  formats::Version version;
  bool keeps_existing = false;  ///< NC_NOCLOBBER
  bool is_import = false;       ///< begins with the content of a file
};

/// Whether the rule is one of those whose steps may be offered. Whoever may not have an offer need not ask.
bool may_be_offered(const Beginning& beginning, const runtime::ClientRule& rule) noexcept {
  return rule.offers_steps && !beginning.keeps_existing && !beginning.is_import;
}

/// Collective: the step that the group was offered. Null if it was withdrawn meanwhile.
std::unique_ptr<MemoryDriver> make_offered(const Communicator& comm, CoupledGroup& group,
                                           const runtime::Open& request) {
  constexpr int is_withdrawn = std::numeric_limits<int>::min();  // lower than every status
  const runtime::Session::Offer offer = *group.offer;
  const bool is_root_without = comm.is_root() && !group.session->take_offer(offer, request);
  std::unique_ptr<MemoryDriver> driver;
  Outcome outcome;
  if (!is_root_without) {
    outcome = outcome_of([&] {
      MemoryDriver::Parts parts{
          group.session, comm, request.key.rule, offer.step, offer.control, true, 0, 0, {}, {}};
      parts.key = request.key;
      parts.offer = std::move(group.offer);
      driver = std::make_unique<MemoryDriver>(std::move(parts));
    });
  }
  const int worst = worst_status(comm, is_root_without ? is_withdrawn : outcome.status);
  if (worst == is_withdrawn) {
    if (driver) driver->forget();
    return nullptr;
  }
  if (driver == nullptr)
    group.session->close({runtime::Discard{offer.step, runtime::StepEnd::aborted, "its create has failed"}});
  throw_where_failed(outcome, worst);
  return driver;
}

/// Collective: the step whose read the group was offered. Empty if it was withdrawn meanwhile.
std::optional<OpenedDriver> open_offered(const OpenRequest& request, CoupledGroup& group,
                                         const runtime::ClientRule& rule, const runtime::Open& open) {
  constexpr int is_withdrawn = std::numeric_limits<int>::min();  // lower than every status
  runtime::Session::Read& read = *group.read;
  const Communicator& comm = request.comm;
  const bool is_root_without = comm.is_root() && !group.session->take_read(read, open);
  OpenedDriver opened;
  Outcome outcome;
  if (!is_root_without) {
    outcome = outcome_of([&] {
      const runtime::Opened answer = std::exchange(read.opened, {});
      opened.header = formats::decode_metadata(answer.header, request.path);
      opened.header.version = static_cast<formats::Version>(answer.version);
      opened.header.record_count = answer.record_count;
      opened.layout = formats::layout_of(opened.header, formats::encoded_size(opened.header));
      MemoryDriver::Parts parts{group.session,       comm, rule.rule,      answer.step,  0, false,
                                answer.record_count, 0,    answer.pattern, answer.ranges};
      parts.key = open.key;
      parts.group = group.member.group;
      parts.read = read;
      opened.driver = std::make_unique<MemoryDriver>(std::move(parts));
    });
  }
  const int worst = worst_status(comm, is_root_without ? is_withdrawn : outcome.status);
  auto* const driver = static_cast<MemoryDriver*>(opened.driver.get());
  if (worst == is_withdrawn) {
    if (driver != nullptr) driver->forget();
    return std::nullopt;
  }
  if (driver == nullptr) group.session->close(read, runtime::ReadEnd{read.step, {}, {}, group.member.group});
  throw_where_failed(outcome, worst);
  return opened;
}

/// Collective: a new step. Empty if the step should begin with a file's content and another group was faster.
std::optional<OpenedDriver> make_staged(const OpenRequest& request, const Beginning& beginning,
                                        const runtime::ClientEnvironment& environment,
                                        const runtime::RuleMatch& match) {
  CoupledGroup group = make_coupled_group(
      request.comm, environment,
      may_be_offered(beginning, match.rule) ? std::optional(match.rule.rule) : std::nullopt);
  runtime::Open create = match.open(group.member, runtime::Purpose::create);
  create.version = static_cast<std::uint8_t>(beginning.version);
  create.no_clobber = beginning.keeps_existing;
  create.is_import = beginning.is_import;
  OpenedDriver opened;
  if (group.offer) {
    opened.driver = make_offered(request.comm, group, create);
    if (opened.driver) return opened;
  }
  const auto options = log_options(request, environment, match);
  bool is_there_by_now = false;
  const auto make = [&] {
    runtime::Opened created;
    const std::uint64_t wait_us = microseconds_of([&] {
      try {
        created = group.session->open(create);
      } catch (const Error& error) {
        is_there_by_now = beginning.is_import && error.status() == NC_EEXIST;
        throw;
      }
    });
    MemoryDriver::Parts parts{group.session,
                              request.comm,
                              match.rule.rule,
                              created.step,
                              created.control,
                              true,
                              0,
                              wait_us,
                              {},
                              {},
                              created.publish_at};
    parts.disk = make_log(options, match.file, request.comm, group,
                          {log_step(created.step, created.step), environment.run});
    parts.key = match.key;
    opened.driver = std::make_unique<MemoryDriver>(std::move(parts));
  };
  const Outcome outcome = outcome_of(make);
  const int worst = worst_status(request.comm, outcome.status);
  // All ranks decide the same, unless a rank has lost its connection.
  if (worst == NC_EEXIST && worst_status(request.comm, is_there_by_now ? NC_NOERR : NC_EEXIST) == NC_NOERR)
    return std::nullopt;
  throw_where_failed(outcome, worst);
  if (options) opened.hints = as_hints(*options);
  return opened;
}

/// Collective: continues a file, from before the run or of a step whose memory has gone. The file is imported
/// into a new step, or this group continues in the step that another group of the component has imported
/// meanwhile.
OpenedDriver import_staged(const OpenRequest& request, const std::string& path,
                           const runtime::ClientEnvironment& environment, const runtime::RuleMatch& match) {
  const OpenedDriver file = open_file({request.comm, path, 0, request.info, request.hints});
  auto opened = make_staged(request, {file.header.version, false, true}, environment, match);
  if (!opened) return open_staged(request, environment, match);
  import_file(request.comm, file, *opened->driver);
  file.driver->close(file.header);
  opened->header = file.header;
  opened->layout = file.layout;
  return std::move(*opened);
}

}  // namespace

OpenedDriver create_staged(const OpenRequest& request, formats::Version version,
                           const runtime::ClientEnvironment& environment, const runtime::RuleMatch& match) {
  expect_writer(request.path, environment, match.rule, "create");
  expect_no_file(request, match);
  return std::move(*make_staged(request, {version, request.keeps_existing()}, environment, match));
}

OpenedDriver open_staged(const OpenRequest& request, const runtime::ClientEnvironment& environment,
                         const runtime::RuleMatch& match) {
  if (request.writes()) expect_writer(request.path, environment, match.rule, "open for writing");
  const bool may_be_offered = !request.writes() && !match.rule.writes && match.rule.offers_reads;
  CoupledGroup group =
      make_coupled_group(request.comm, environment, std::nullopt, may_be_offered ? &match.key : nullptr);
  if (group.read) {
    auto offered = open_offered(request, group, match.rule, match.open(group.member));
    if (offered) return std::move(*offered);
  }
  const auto options = request.writes() ? log_options(request, environment, match) : std::nullopt;
  KeptLog kept = request.writes() ? take_kept_log(group, match.key, options) : KeptLog{};
  const std::uint64_t continues = request.writes() ? common_log(request.comm, kept) : 0;
  OpenedDriver opened;
  runtime::Opened answer;
  const auto take_header = [&] {
    if (answer.version == 0) {
      const std::string text = not_cdf_text(request.path);
      if (request.comm.is_root()) group.session->complain({match.rule.rule, text});
      throw Error(NC_ENOTNC, text);
    }
    opened.header = formats::decode_metadata(answer.header, request.path);
    opened.header.version = static_cast<formats::Version>(answer.version);
    opened.header.record_count = answer.record_count;
    // Sizes and offsets are those of the file that the step represents.
    opened.layout = formats::layout_of(opened.header, formats::encoded_size(opened.header));
  };
  // These processes may still be writing the step.
  const auto may_grow = [&] {
    return !request.writes() && (answer.publish_at != runtime::PublishAt::close || match.rule.writes);
  };
  runtime::Open open =
      match.open(group.member, request.writes() ? runtime::Purpose::write : runtime::Purpose::read);
  open.continues = continues;
  run_collectively(request.comm, [&] {
    const std::uint64_t wait_us = microseconds_of([&] { answer = group.session->open(open); });
    if (may_be_offered) group.session->note_asked(match.rule.rule, group.member, answer.step);
    if (answer.step == 0 || answer.is_in_files) return;
    MemoryDriver::Parts parts{group.session,  request.comm,     match.rule.rule,     answer.step,
                              answer.control, request.writes(), answer.record_count, wait_us,
                              answer.pattern, answer.ranges,    answer.publish_at};
    parts.first_offsets = answer.first_offsets;
    parts.key = match.key;
    if (answer.stays) {
      continue_log(kept, group, answer.step, parts);
    } else {
      parts.disk = make_log(options, match.file, request.comm, group,
                            {log_step(answer.step, answer.origin, answer.base), environment.run});
    }
    opened.driver = std::make_unique<MemoryDriver>(std::move(parts));
    if (!may_grow()) take_header();
  });
  if (answer.step == 0 && request.writes()) return import_staged(request, answer.path, environment, match);
  if (answer.is_in_files) {
    opened = open_file_of_step({request.comm, answer.path, request.mode, request.info, request.hints},
                               std::make_unique<FileStep>(group.session, answer.step, FileStep::Use::read));
    opened.stream_number = answer.stream_number;
    return opened;
  }
  // The step's memory has been freed, or the file is from before the run: the file is an ordinary file.
  if (answer.step == 0)
    return open_file({request.comm, answer.path, request.mode, request.info, request.hints});
  if (may_grow()) {
    answer.record_count =
        std::max(answer.record_count, group.session->step_logs(answer.step)->record_count());
    share_view(request.comm, answer);
    run_collectively(request.comm, take_header);
  }
  opened.stream_number = answer.stream_number;
  return opened;
}

void delete_staged(const std::string& path, const runtime::ClientEnvironment& environment,
                   const runtime::RuleMatch& match) {
  expect_writer(path, environment, match.rule, "delete");
  const auto session = process_session(environment);
  if (!match.rule.is_drained) return session->remove(match.key, match.file);
  // Removes the published steps and stops the drains that could write the file again; then removes the file.
  storage::PosixFileSystem system;
  const std::string& file = match.file;
  try {
    session->remove(match.key, match.file);
  } catch (const Error& error) {
    if (error.status() != NC_ENOENT || !system.exists(file)) throw;
  }
  if (system.exists(file)) system.remove(file);
}

std::optional<formats::Version> version_of_staged(const runtime::ClientEnvironment& environment,
                                                  const runtime::RuleMatch& match) {
  const runtime::Member alone{runtime::random_number() >> 1, 0, 1};
  const auto described = process_session(environment)->open(match.open(alone, runtime::Purpose::describe));
  if (described.version == 0) return std::nullopt;
  if (described.version == matcher::no_cdf_version) throw Error(NC_ENOTNC, not_cdf_text(match.file));
  return static_cast<formats::Version>(described.version);
}

}  // namespace sluice::api
