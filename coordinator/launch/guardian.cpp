#include "guardian.hpp"

#include <fcntl.h>

#include "child_process.hpp"
#include "sluice/runtime/guard_process.hpp"
#include "sluice/runtime/run_processes.hpp"

namespace sluice::coordinator {

Guardian::Guardian(const Installation& installation, const RunDirectory& directory) {
  Pipe pipe = make_pipe();
  const runtime::FileDescriptor nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  ChildOptions options;
  options.program = installation.program.string();
  options.arguments = {std::string(guardian_name), directory.path().string(), directory.socket().string()};
  options.output = options.error = nowhere.number();
  options.inherited = {pipe.read_end.number(), directory.lock()};
  process_ = start_child(options);
  line_ = std::move(pipe.write_end);
}

Guardian::~Guardian() {
  runtime::dismiss(line_, process_);
}

int guard(const std::filesystem::path& run_directory, const std::filesystem::path& socket) {
  runtime::begin_to_guard(guardian_name.data());
  if (runtime::await_dismissal(first_inherited)) return 0;
  runtime::stop_processes(runtime::run_mark(socket));
  runtime::stop_processes(runtime::matcher_mark(socket));
  runtime::end_launchers(runtime::launcher_mark(socket));
  remove_run_directory(run_directory);
  return 0;
}

}  // namespace sluice::coordinator
