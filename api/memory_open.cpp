// Creating, opening and deleting datasets of the workflow.
#include <algorithm>
#include <string>

#include "agreement.hpp"
#include "coupled_group.hpp"
#include "memory_driver.hpp"
#include "open_driver.hpp"
#include "process_session.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/storage/posix_file_system.hpp"

namespace sluice::api {

namespace {

/// With NC_NOCLOBBER a file that is there must not be replaced by the one that is drained.
void expect_no_file(const OpenRequest& request, const runtime::ClientRule& rule) {
  if (!request.keeps_existing() || !rule.is_drained) return;
  together(request.comm, [&] {
    const std::string file = absolute_path(request.path);
    if (request.comm.is_root() && storage::PosixFileSystem().exists(file))
      throw Error(NC_EEXIST, file + " exists, and NC_NOCLOBBER was given");
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

}  // namespace

OpenedDriver create_staged(const OpenRequest& request, formats::Version version,
                           const runtime::ClientEnvironment& environment, const runtime::RuleMatch& match) {
  expect_writer(request.path, environment, match.rule, "create");
  expect_no_file(request, match.rule);
  const CoupledGroup group = make_coupled_group(request.comm, environment);
  OpenedDriver opened;
  together(request.comm, [&] {
    runtime::Created created;
    const std::string file = absolute_path(request.path);
    const std::uint64_t wait_us = microseconds_of([&] {
      created = group.session->create(
          {match.key, group.member, request.keeps_existing(), static_cast<std::uint8_t>(version), file});
    });
    opened.driver = std::make_unique<MemoryDriver>(MemoryDriver::Parts{group.session,
                                                                       request.comm,
                                                                       match.rule.rule,
                                                                       created.step,
                                                                       created.control,
                                                                       true,
                                                                       0,
                                                                       wait_us,
                                                                       {},
                                                                       {},
                                                                       created.publish_at});
  });
  return opened;
}

OpenedDriver open_staged(const OpenRequest& request, const runtime::ClientEnvironment& environment,
                         const runtime::RuleMatch& match) {
  if (request.writes()) expect_writer(request.path, environment, match.rule, "open for writing");
  const CoupledGroup group = make_coupled_group(request.comm, environment);
  OpenedDriver opened;
  runtime::Opened answer;
  together(request.comm, [&] {
    const std::uint64_t wait_us = microseconds_of([&] {
      answer = group.session->open({match.key, group.member}, request.writes());
    });
    opened.driver = std::make_unique<MemoryDriver>(MemoryDriver::Parts{
        group.session, request.comm, match.rule.rule, answer.step, answer.control, request.writes(),
        answer.record_count, wait_us, answer.pattern, answer.ranges, answer.publish_at});
  });
  // The step may be one that these processes are writing.
  const bool may_grow = answer.publish_at != runtime::PublishAt::close || match.rule.writes;
  if (!request.writes() && may_grow) {
    answer.record_count =
        std::max(answer.record_count, group.session->step_logs(answer.step)->record_count());
    share_view(request.comm, answer);
  }
  together(request.comm, [&] {
    opened.header = formats::decode_metadata(answer.header, request.path);
    opened.header.version = static_cast<formats::Version>(answer.version);
    opened.header.record_count = answer.record_count;
    // Sizes and offsets are those of the file that this stands for.
    opened.layout = formats::layout_of(opened.header, formats::encoded_size(opened.header));
  });
  return opened;
}

void delete_staged(const std::string& path, const runtime::ClientEnvironment& environment,
                   const runtime::RuleMatch& match) {
  expect_writer(path, environment, match.rule, "delete");
  const auto session = process_session(environment);
  if (!match.rule.is_drained) return session->remove({match.key});
  // What was published goes, and nothing is drained any more that could bring it back; then the file.
  storage::PosixFileSystem system;
  const std::string file = absolute_path(path);
  try {
    session->remove({match.key});
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
