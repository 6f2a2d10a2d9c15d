// Creating, opening and deleting datasets of the workflow.
#include <algorithm>
#include <string>

#include "agreement.hpp"
#include "burst_options.hpp"
#include "coupled_group.hpp"
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

/// The step is open for writing; it is given back where its log cannot be made.
std::unique_ptr<StepLog> make_log(const std::optional<BurstOptions>& options, const std::string& file,
                                  const Communicator& comm, const CoupledGroup& group,
                                  const formats::BurstLogStep& step) {
  if (!options) return nullptr;
  try {
    return std::make_unique<StepLog>(
        *group.session, *options, StepLog::Place{file, group.member.group, comm.rank(), comm.size(), step});
  } catch (...) {
    group.session->discard({static_cast<std::uint64_t>(step.step)});
    throw;
  }
}

formats::BurstLogStep log_step(std::uint64_t step, std::uint64_t origin) noexcept {
  return {static_cast<std::int64_t>(step), static_cast<std::int64_t>(origin)};
}

}  // namespace

OpenedDriver create_staged(const OpenRequest& request, formats::Version version,
                           const runtime::ClientEnvironment& environment, const runtime::RuleMatch& match) {
  expect_writer(request.path, environment, match.rule, "create");
  expect_no_file(request, match);
  const CoupledGroup group = make_coupled_group(request.comm, environment);
  const auto options = log_options(request, environment, match);
  OpenedDriver opened;
  together(request.comm, [&] {
    runtime::Created created;
    const std::uint64_t wait_us = microseconds_of([&] {
      created = group.session->create({match.key, group.member, request.keeps_existing(),
                                       static_cast<std::uint8_t>(version), match.file});
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
    parts.disk = make_log(options, match.file, request.comm, group, log_step(created.step, created.step));
    opened.driver = std::make_unique<MemoryDriver>(std::move(parts));
  });
  if (options) opened.hints = as_hints(*options);
  return opened;
}

OpenedDriver open_staged(const OpenRequest& request, const runtime::ClientEnvironment& environment,
                         const runtime::RuleMatch& match) {
  if (request.writes()) expect_writer(request.path, environment, match.rule, "open for writing");
  const CoupledGroup group = make_coupled_group(request.comm, environment);
  const auto options = request.writes() ? log_options(request, environment, match) : std::nullopt;
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
      answer = group.session->open({match.key, group.member, match.file}, request.writes());
    });
    if (answer.step == 0) return;
    MemoryDriver::Parts parts{group.session,  request.comm,     match.rule.rule,     answer.step,
                              answer.control, request.writes(), answer.record_count, wait_us,
                              answer.pattern, answer.ranges,    answer.publish_at};
    parts.disk = make_log(options, match.file, request.comm, group, log_step(answer.step, answer.origin));
    opened.driver = std::make_unique<MemoryDriver>(std::move(parts));
    if (!may_grow()) take_header();
  });
  // Its memory has gone, and the file that was kept of it is as any other.
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

formats::Version version_of_staged(const runtime::ClientEnvironment& environment,
                                   const runtime::RuleMatch& match) {
  const runtime::Member alone{runtime::random_number() >> 1, 0, 1};
  return static_cast<formats::Version>(process_session(environment)->inquire({match.key, alone}).version);
}

}  // namespace sluice::api
