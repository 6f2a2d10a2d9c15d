// Creates, opens and deletes datasets of the workflow whose data is in files.
#include <algorithm>
#include <filesystem>

#include "agreement.hpp"
#include "burst_driver.hpp"
#include "coupled_file.hpp"
#include "coupled_group.hpp"
#include "open_driver.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/storage/partial_file.hpp"
#include "sluice/storage/posix_file_system.hpp"
#include "split_layouts.hpp"

namespace sluice::api {
namespace {

/// Adds the rule's hints to the program's hints.
Hints hints_of(const OpenRequest& request, matcher::Through through, int nodes) {
  Hints hints = request.hints;
  for (const SplitLayout& layout : split_layouts())
    if (layout.through == through) layout.ask(hints, nodes);
  return hints;
}

/// Collective: opens the files' driver as a part of the step. A failure ends the step on all ranks.
template <class Open>
OpenedDriver open_files(std::unique_ptr<FileStep> step, std::uint64_t wait_us, const Open& open) {
  try {
    OpenedDriver opened = open();
    step->note_begin();
    opened.driver = std::make_unique<CoupledFileDriver>(std::move(step), std::move(opened.driver), wait_us);
    return opened;
  } catch (const Error& error) {
    step->note_failure(error.status());
    throw;
  }
}

/// Readers go on with the former steps of a stream, so the next one begins with another file. One process
/// calls it.
void leave_former_steps(const std::string& path, bool goes_on) {
  storage::PosixFileSystem system;
  if (!system.exists(path)) return;
  if (!goes_on) return system.remove(path);
  const std::string copy = storage::partial_path(path, 1);
  std::error_code error;
  std::filesystem::copy_file(path, copy, std::filesystem::copy_options::overwrite_existing, error);
  if (!error) std::filesystem::rename(copy, path, error);
  if (!error) return;
  std::error_code ignored;
  if (std::filesystem::is_regular_file(copy, ignored)) std::filesystem::remove(copy, ignored);
  throw Error(NC_EIO,
              path + " cannot be copied, and readers of the stream need the former file: " + error.message() +
                  ". The copy needs as much space as the file, in the same directory");
}

/// A share in a step that this group will write. Waits until no process reads the file.
std::unique_ptr<FileStep> create_step(const CoupledGroup& group, const runtime::Open& create) {
  const runtime::Opened created = group.session->open(create);
  return std::make_unique<FileStep>(group.session, created.step, FileStep::Use::create);
}

}  // namespace

OpenedDriver create_coupled_file(const OpenRequest& request, int ncid, formats::Version version,
                                 const runtime::ClientEnvironment& environment,
                                 const runtime::RuleMatch& match) {
  expect_writer(request.path, environment, match.rule, "create");
  const CoupledGroup group = make_coupled_group(request.comm, environment);
  std::unique_ptr<FileStep> step;
  std::uint64_t wait_us = 0;
  run_collectively(request.comm, [&] {
    wait_us = microseconds_of([&] {
      runtime::Open create = match.open(group.member, runtime::Purpose::create);
      create.version = static_cast<std::uint8_t>(version);
      create.no_clobber = request.keeps_existing();
      step = create_step(group, create);
    });
    if (match.rule.is_stream && request.comm.is_root() && !request.keeps_existing())
      leave_former_steps(match.file, false);
  });
  const Hints hints = hints_of(request, match.rule.through, group.nodes);
  const OpenRequest on_disk{request.comm, request.path, request.mode, request.info, hints};
  return open_files(std::move(step), wait_us,
                    [&] { return open_with_burst_buffer(on_disk, ncid, true, create_file); });
}

OpenedDriver open_coupled_file(const OpenRequest& request, int ncid,
                               const runtime::ClientEnvironment& environment,
                               const runtime::RuleMatch& match) {
  const bool writes = request.writes();
  if (writes) expect_writer(request.path, environment, match.rule, "open for writing");
  const CoupledGroup group = make_coupled_group(request.comm, environment);
  std::unique_ptr<FileStep> step;
  std::uint64_t wait_us = 0;
  std::string path;
  std::uint64_t stream_number = 0;
  run_collectively(request.comm, [&] {
    wait_us = microseconds_of([&] {
      auto opened = group.session->open(
          match.open(group.member, writes ? runtime::Purpose::write : runtime::Purpose::read));
      path = std::move(opened.path);
      stream_number = opened.stream_number;
      if (opened.step == 0) return;
      step = std::make_unique<FileStep>(group.session, opened.step,
                                        writes ? FileStep::Use::reopen : FileStep::Use::read);
    });
    if (writes && match.rule.is_stream && request.comm.is_root()) leave_former_steps(path, true);
  });
  const OpenRequest on_disk{request.comm, path, request.mode, request.info, request.hints};
  if (!step) return open_with_burst_buffer(on_disk, ncid, writes, open_file);  // from before the run
  OpenedDriver files = open_files(std::move(step), wait_us,
                                  [&] { return open_with_burst_buffer(on_disk, ncid, writes, open_file); });
  files.stream_number = stream_number;
  return files;
}

OpenedDriver open_file_of_step(const OpenRequest& request, std::unique_ptr<FileStep> step) {
  return open_files(std::move(step), 0, [&] { return open_file(request); });
}

void delete_coupled_file(const std::string& path, MPI_Info info,
                         const runtime::ClientEnvironment& environment, const runtime::RuleMatch& match) {
  expect_writer(path, environment, match.rule, "delete");
  // Takes part as the file's writer, which waits until no process reads the file.
  const CoupledGroup alone{process_session(environment), {runtime::random_number() >> 1, 0, 1}};
  const auto step = create_step(alone, match.open(alone.member, runtime::Purpose::create));
  alone.session->remove(match.key, match.file);
  delete_file(path, info);
}

FoundFile find_coupled_file(const std::string& path, const runtime::ClientEnvironment& environment,
                            const runtime::RuleMatch& match) {
  if (match.rule.writes) return {path, nullptr};
  const auto session = process_session(environment);
  const runtime::Member alone{runtime::random_number() >> 1, 0, 1};
  auto opened = session->open({match.key, alone, match.file});
  return {std::move(opened.path), std::make_unique<FileStep>(session, opened.step, FileStep::Use::read)};
}

}  // namespace sluice::api
