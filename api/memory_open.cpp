// Creating, opening and deleting datasets of the workflow.
#include <algorithm>
#include <array>
#include <string>

#include "agreement.hpp"
#include "burst_options.hpp"
#include "coupled_group.hpp"
#include "file_import.hpp"
#include "memory_driver.hpp"
#include "open_driver.hpp"
#include "process_session.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/storage/posix_file_system.hpp"

namespace sluice::api {

namespace {

/// With NC_NOCLOBBER a file that is there must not be replaced by the one that is drained.
void expect_no_file(const OpenRequest& request, const runtime::RuleMatch& match) {
  if (!request.keeps_existing() || !match.rule.is_drained) return;
  together(request.comm, [&] {
    if (request.comm.is_root() && storage::PosixFileSystem().exists(match.file))
      throw Error(NC_EEXIST, match.file + " exists, and NC_NOCLOBBER was given");
  });
}

/// What is still written may grow between the answers that two ranks get: all go by rank 0's header, and by
/// the largest number of records.
void share_view(const Communicator& comm, runtime::Opened& answer) {
  std::string header(reinterpret_cast<const char*>(answer.header.data()), answer.header.size());
  broadcast(comm, header);
  const auto* const bytes = reinterpret_cast<const std::byte*>(header.data());
  answer.header.assign(bytes, bytes + header.size());
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &answer.record_count, 1, MPI_INT64_T, MPI_MAX, comm.get()),
            "share the number of records");
}

/// Where the rule says so, a step's data goes to logs: what is needed for them.
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

/// What this process's log says of itself, beside the place of its file.
struct LogIdentity {
  formats::BurstLogStep step;
  runtime::RunIdentity run;
};

/// Collective: the step of which all processes of the group have kept their logs, each in the same place; 0:
/// not all have.
std::uint64_t common_log(const Communicator& comm, const CoupledGroup& group,
                         const runtime::DatasetKey& key) {
  const auto step = static_cast<std::int64_t>(group.session->kept_log_of(key, group.member));
  std::array<std::int64_t, 2> most_and_least{step, -step};
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, most_and_least.data(), most_and_least.size(), MPI_INT64_T, MPI_MAX,
                          comm.get()),
            "share which logs are kept");
  return most_and_least[0] == -most_and_least[1] ? static_cast<std::uint64_t>(step) : 0;
}

/// The step is open for writing; it is given back where its log cannot be made.
std::unique_ptr<StepLog> make_log(const std::optional<BurstOptions>& options, const std::string& file,
                                  const Communicator& comm, const CoupledGroup& group,
                                  const LogIdentity& log) {
  if (!options) return nullptr;
  const formats::BurstLogStep& step = log.step;
  try {
    return std::make_unique<StepLog>(*group.session, *options,
                                     StepLog::Place{file,
                                                    group.member.group,
                                                    comm.rank(),
                                                    comm.size(),
                                                    step,
                                                    {log.run.number, log.run.begin_ns, group.member.group}});
  } catch (...) {
    group.session->discard({static_cast<std::uint64_t>(step.step)});
    throw;
  }
}

formats::BurstLogStep log_step(std::uint64_t step, std::uint64_t origin) noexcept {
  return {static_cast<std::int64_t>(step), static_cast<std::int64_t>(origin)};
}

/// How a step begins.
struct Beginning {
  formats::Version version;
  bool keeps_existing = false;  ///< NC_NOCLOBBER
  bool is_import = false;       ///< with what a file has
};

/// Collective: a new step; none where it is to begin with what a file has, and another group was faster.
std::optional<OpenedDriver> make_staged(const OpenRequest& request, const Beginning& beginning,
                                        const runtime::ClientEnvironment& environment,
                                        const runtime::RuleMatch& match) {
  const CoupledGroup group = make_coupled_group(request.comm, environment);
  const auto options = log_options(request, environment, match);
  OpenedDriver opened;
  bool is_there_by_now = false;
  const auto make = [&] {
    runtime::Created created;
    const std::uint64_t wait_us = microseconds_of([&] {
      try {
        created = group.session->create({match.key, group.member, beginning.keeps_existing,
                                         static_cast<std::uint8_t>(beginning.version), match.file,
                                         beginning.is_import});
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
  // On all ranks, or one has lost its connection.
  if (worst == NC_EEXIST && worst_status(request.comm, is_there_by_now ? NC_NOERR : NC_EEXIST) == NC_NOERR)
    return std::nullopt;
  throw_where_failed(outcome, worst);
  if (options) opened.hints = as_hints(*options);
  return opened;
}

/// Collective: goes on in a file from before the run, which is imported into a new step; or in the step that
/// another group of the component has made of it meanwhile.
OpenedDriver import_staged(const OpenRequest& request, const runtime::ClientEnvironment& environment,
                           const runtime::RuleMatch& match) {
  const OpenedDriver file = open_file({request.comm, match.file, 0, request.info, request.hints});
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
  const CoupledGroup group = make_coupled_group(request.comm, environment);
  const auto options = request.writes() ? log_options(request, environment, match) : std::nullopt;
  const std::uint64_t continues =
      request.writes() && !options ? common_log(request.comm, group, match.key) : 0;
  OpenedDriver opened;
  runtime::Opened answer;
  const auto take_header = [&] {
    opened.header = formats::decode_metadata(answer.header, request.path);
    opened.header.version = static_cast<formats::Version>(answer.version);
    opened.header.record_count = answer.record_count;
    // Sizes and offsets are those of the file that this stands for.
    opened.layout = formats::layout_of(opened.header, formats::encoded_size(opened.header));
  };
  // The step may be one that these processes are writing.
  const auto may_grow = [&] {
    return !request.writes() && (answer.publish_at != runtime::PublishAt::close || match.rule.writes);
  };
  together(request.comm, [&] {
    const std::uint64_t wait_us = microseconds_of([&] {
      answer = group.session->open({match.key, group.member, match.file, match.is_on_disk, continues},
                                   request.writes());
    });
    if (answer.step == 0) return;
    MemoryDriver::Parts parts{group.session,  request.comm,     match.rule.rule,     answer.step,
                              answer.control, request.writes(), answer.record_count, wait_us,
                              answer.pattern, answer.ranges,    answer.publish_at};
    parts.disk = make_log(options, match.file, request.comm, group,
                          {log_step(answer.step, answer.origin), environment.run});
    parts.first_offsets = answer.first_offsets;
    if (request.writes()) {
      parts.key = match.key;
      auto log = group.session->take_log(match.key);
      if (answer.is_continued) parts.log = std::move(log);
    }
    opened.driver = std::make_unique<MemoryDriver>(std::move(parts));
    if (!may_grow()) take_header();
  });
  if (answer.step == 0 && request.writes()) return import_staged(request, environment, match);
  // Its memory has gone, or it is from before the run: the file is as any other.
  if (answer.step == 0)
    return open_file({request.comm, answer.path, request.mode, request.info, request.hints});
  if (may_grow()) {
    answer.record_count =
        std::max(answer.record_count, group.session->step_logs(answer.step)->record_count());
    share_view(request.comm, answer);
    together(request.comm, take_header);
  }
  return opened;
}

void delete_staged(const std::string& path, const runtime::ClientEnvironment& environment,
                   const runtime::RuleMatch& match) {
  expect_writer(path, environment, match.rule, "delete");
  const auto session = process_session(environment);
  if (!match.rule.is_drained) return session->remove({match.key, match.file});
  // What was published goes, and nothing is drained any more that could bring it back; then the file.
  storage::PosixFileSystem system;
  const std::string& file = match.file;
  try {
    session->remove({match.key, match.file});
  } catch (const Error& error) {
    if (error.status() != NC_ENOENT || !system.exists(file)) throw;
  }
  if (system.exists(file)) system.remove(file);
}

std::optional<formats::Version> version_of_staged(const runtime::ClientEnvironment& environment,
                                                  const runtime::RuleMatch& match) {
  const runtime::Member alone{runtime::random_number() >> 1, 0, 1};
  const auto described =
      process_session(environment)->inquire({match.key, alone, match.file, match.is_on_disk});
  if (described.version == 0) return std::nullopt;
  return static_cast<formats::Version>(described.version);
}

}  // namespace sluice::api
