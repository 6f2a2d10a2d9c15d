#include "coupled_group.hpp"

#ifdef SLUICE_ONE_PROCESS
#include <dlfcn.h>
#endif

#include <array>
#include <filesystem>
#include <mutex>
#include <system_error>

#include "agreement.hpp"
#include "sluice/runtime/files_matcher.hpp"
#include "sluice/storage/posix_file_system.hpp"

namespace sluice::api {

namespace {
/// Without MPI, the library for files has a session of its own in this process; both are one process of the
/// run.
std::uint64_t token_of_process() {
#ifdef SLUICE_ONE_PROCESS
  if (void* const function = ::dlsym(RTLD_DEFAULT, "sluice_process_token"); function != nullptr)
    return reinterpret_cast<std::uint64_t (*)()>(function)();
#endif
  static const std::uint64_t token = runtime::random_number();
  return token;
}

}  // namespace

std::shared_ptr<runtime::Session> process_session(const runtime::ClientEnvironment& environment) {
  // One session for each process, like the table of ids. Never destroyed: the library does nothing at a
  // program's exit.
  static auto& mutex = *new std::mutex;
  static auto& session = *new std::shared_ptr<runtime::Session>;
  const std::lock_guard lock(mutex);
  if (session == nullptr || session->is_forked_child())
    session = std::make_shared<runtime::Session>(environment, token_of_process());
  return session;
}

std::shared_ptr<runtime::Session> session_for_files(const runtime::ClientEnvironment& environment) {
  auto own = process_session(environment);
  runtime::ClientEnvironment files = environment;
  files.socket_path = runtime::files_matcher().socket_path;
  if (files.socket_path == environment.socket_path) return own;
  static auto& mutex = *new std::mutex;  // never destroyed, as the process's session
  static auto& session = *new std::shared_ptr<runtime::Session>;
  const std::lock_guard lock(mutex);
  if (session != nullptr && !session->is_forked_child()) return session;
  own->connect();  // first: what comes later, by the other matcher, counts as no thread
  return session = std::make_shared<runtime::Session>(files, token_of_process());
}

void expect_writer(const std::string& path, const runtime::ClientEnvironment& environment,
                   const runtime::ClientRule& rule, const char* action) {
  if (rule.writes) return;
  const std::string text = std::string("may not ") + action + " " + path + ": the workflow's rule for \"" +
                           rule.pattern + "\" names " + environment.component + " as a reader only. Make " +
                           environment.component + " the writer in this rule, or use another file name";
  try {  // the program may not look at the status
    process_session(environment)->complain({rule.rule, "it " + text});
  } catch (const Error&) {  // without a matcher, the status has to do
  }
  throw Error(NC_EPERM, "component " + environment.component + " " + text);
}

std::string absolute_path(const std::string& path) {
  std::error_code error;
  const auto absolute = std::filesystem::absolute(storage::without_prefix(path), error);
  if (error) throw Error(NC_EFILE, path + ": the working directory cannot be found: " + error.message());
  return absolute.lexically_normal().string();
}

CoupledGroup make_coupled_group(const Communicator& comm, const runtime::ClientEnvironment& environment,
                                std::optional<std::uint32_t> created_by,
                                const runtime::DatasetKey* read_from) {
  CoupledGroup group;
  group.member.rank = static_cast<std::uint32_t>(comm.rank());
  group.member.size = static_cast<std::uint32_t>(comm.size());
  std::uint64_t number = 0;
  std::int64_t offer = 0;
  std::int64_t page = 0;
  std::int64_t node = 0;
  const Outcome outcome = outcome_of([&] {
    group.session = process_session(environment);
    group.session->connect();
    node = group.session->node();
    if (comm.is_root()) number = group.session->new_group();
    if (created_by) group.offer = group.session->find_offer(*created_by, group.member);
    if (group.offer) offer = static_cast<std::int64_t>(group.offer->step);
    if (read_from != nullptr) group.read = group.session->find_read(*read_from, group.member);
    if (group.read) offer = static_cast<std::int64_t>(group.read->step);
    if (group.read) page = static_cast<std::int64_t>(group.read->page_id);
  });
  // The number is rank 0's; the other ranks have 0. For nodes: the largest and (negated) the smallest number.
  // Statuses are negative, so the worst status is the negated maximum. For offers: as for nodes. The
  // read of a step may be offered to several groups, each by its own page.
  std::array<std::int64_t, 8> shared{
      static_cast<std::int64_t>(number), node, -node, -outcome.status, offer, -offer, page, -page};
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, shared.data(), shared.size(), MPI_INT64_T, MPI_MAX, comm.get()),
            "share the group's number");
  throw_where_failed(outcome, -static_cast<int>(shared[3]));
  const auto group_number = static_cast<std::uint64_t>(shared[0]);
  group.nodes = static_cast<int>(shared[1] + shared[2]) + 1;
  group.member.group = group_number;
  group.member.spans_nodes = group.nodes > 1;
  if (shared[4] == -shared[5] && shared[6] == -shared[7]) return group;
  group.offer.reset();
  group.read.reset();
  return group;
}

}  // namespace sluice::api
