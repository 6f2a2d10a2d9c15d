#include "guardian.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "child_process.hpp"
#include "sluice/runtime/run_processes.hpp"

namespace sluice::coordinator {
namespace {

constexpr char dismissal = 'q';

}  // namespace

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
  (void)!::write(line_.number(), &dismissal, 1);
  line_.reset();
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) continue;
}

int guard(const std::filesystem::path& run_directory, const std::filesystem::path& socket) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(signal, SIG_IGN);
  ::prctl(PR_SET_NAME, guardian_name.data());
  ::setsid();
  char word = 0;
  ssize_t got = 0;
  do {
    got = ::read(first_inherited, &word, 1);
  } while (got < 0 && errno == EINTR);
  if (got == 1 && word == dismissal) return 0;
  runtime::stop_processes(runtime::run_mark(socket));
  runtime::stop_processes(runtime::matcher_mark(socket));
  std::error_code ignored;
  std::filesystem::remove_all(run_directory, ignored);
  return 0;
}

}  // namespace sluice::coordinator
