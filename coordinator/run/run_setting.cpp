#include "run_setting.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "format.hpp"
#include "log_directory.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/rules.hpp"
#include "sluice/runtime/session.hpp"

namespace sluice::coordinator {
namespace {

constexpr const char* log_file = "events.log";

/// Puts the files of Open MPI's jobs into the run's directories, so that they are removed with the run even
/// after a kill. Other machines do not have these directories.
void keep_jobs_together(Environment& environment, const RunDirectory& directory, const JobNodes& nodes) {
  if (nodes.are_several()) return;
  if (!environment.contains("OMPI_MCA_orte_local_tmpdir_base"))
    environment.emplace("OMPI_MCA_orte_tmpdir_base", directory.sessions().string());
  if (directory.shared_memory().empty()) return;
  for (const char* user : {"btl_vader", "osc_sm", "osc_rdma"})
    environment.emplace(std::string("OMPI_MCA_") + user + "_backing_directory",
                        directory.shared_memory().string());
}

/// One time for the whole run: logs and files use it to name their run.
runtime::RunIdentity new_identity() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {runtime::random_number(), std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()};
}

LaunchContext launch_context(const Installation& installation, const RunDirectory& directory,
                             const JobNodes& nodes, const runtime::RunIdentity& run) {
  LaunchContext context;
  context.environment = current_environment();
  context.environment.erase("SLUICE_ATTACHED");  // it may run in a shell that is attached to another run
  context.environment.erase("SLUICE_DOOR");
  if (!directory.door().empty()) context.environment["SLUICE_DOOR"] = directory.door().string();
  context.environment["SLUICE_RUN"] = runtime::encode_run_identity(run);
  remove_surrounding_job(context.environment);
  keep_jobs_together(context.environment, directory, nodes);
  context.socket_path = directory.socket().string();
  context.preload_library = installation.preload_library;
  context.files_library = installation.files_library;
  context.nodes = static_cast<int>(std::max<std::size_t>(nodes.names.size(), 1));
  if (context.preload_library.string().find_first_of(" :") != std::string::npos) {
    if (nodes.are_several()) {
      throw Error(NC_EINVAL,
                  "the path " + context.preload_library.string() +
                      " contains a blank or a colon, and LD_PRELOAD cannot name this path on other "
                      "machines: install Sluice in another directory");
    }
    // LD_PRELOAD has no quoting
    context.preload_library = directory.library_link();
    std::filesystem::create_symlink(installation.preload_library, context.preload_library);
    if (!installation.files_library.empty()) {
      context.files_library = directory.files_library_link();
      std::filesystem::create_symlink(installation.files_library, context.files_library);
    }
  }
  context.cores = usable_cores();
  context.is_root = ::geteuid() == 0;
  return context;
}

}  // namespace

RunSetting::RunSetting(const workflows::Workflow& the_workflow, const Installation& the_installation,
                       const Console::Options& console_options,
                       const std::filesystem::path& wanted_log_directory, const JobNodes& the_nodes)
    : workflow(the_workflow),
      installation(the_installation),
      nodes(the_nodes),
      console(console_options),
      log_directory(create_log_directory(wanted_log_directory, workflow.file, workflow.name)),
      events(log_directory / log_file),
      directory(base_for_run_directories(nodes.are_several())),
      guardian(installation, directory),
      run(new_identity()),
      launch(launch_context(installation, directory, nodes, run)) {}

bool RunSetting::keeps_record(std::string_view record) const {
  const auto some = launch.environment.find("SLUICE_RECORDS");
  return some == launch.environment.end() || some->second == record;
}

void RunSetting::notice(std::string_view text) {
  log("sluice", text);
  console.notice(text);
}

void RunSetting::error(std::string_view text) {
  log("sluice", text);
  console.error(text);
}

namespace {

/// Makes Open MPI's top directory for sessions, with something in it. Two jobs that begin at once would both
/// make it, and the second one would fail; a job that ends removes it when it is empty.
void make_top_session_directory(const std::filesystem::path& base) {
  const std::string whole = host_name();
  if (whole.empty()) return;
  const std::string host = whole.substr(0, whole.find('.'));  // Open MPI's name of the node
  std::error_code ignored;                                    // then Open MPI makes it
  std::filesystem::create_directories(base / ("ompi." + host + '.' + std::to_string(::geteuid())) / "run",
                                      ignored);
}

}  // namespace

void part_jobs(Environment& environment, const RunDirectory& directory, const std::string& job) {
  const auto base = environment.find("OMPI_MCA_orte_tmpdir_base");
  if (base == environment.end() || base->second != directory.sessions().string()) return;
  base->second = (directory.sessions() / job).string();
  std::error_code ignored;  // on failure Open MPI reports the error
  std::filesystem::create_directory(base->second, ignored);
  make_top_session_directory(base->second);
}

std::string text_of_rest(const std::string& command, const std::vector<pid_t>& rest) {
  return command + " has ended, and has left process " + std::to_string(rest.front()) +
         (rest.size() > 1 ? " and others" : "") +
         " in the background: opens of coupled files there fail from now on. Let the command wait for them "
         "(wait)";
}

}  // namespace sluice::coordinator
