#include "child_process.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/guard_process.hpp"

namespace sluice::coordinator {
namespace {

/// A failure in the child before the program ran.
struct ExecFailure {
  enum class Step : int { directory, program } step;
  int error_number;
};

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (std::string& text : strings) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

void close_all_from(int first) {
  if (::close_range(static_cast<unsigned>(first), ~0u, 0) == 0) return;
  for (int descriptor = first; descriptor < 1024; ++descriptor) ::close(descriptor);
}

/// Moves descriptors to their targets and closes all others. First moves away sources that occupy a target's
/// number. Returns the new number of `report`.
int arrange_descriptors(const ChildOptions& options, int report) {
  constexpr int out_of_the_way = 64;
  const auto moved = [](int descriptor) { return ::fcntl(descriptor, F_DUPFD, out_of_the_way); };
  int targets = first_inherited;
  std::vector<int> sources;
  for (const int descriptor : options.inherited) sources.push_back(moved(descriptor));
  sources.push_back(moved(report));
  const int null = ::open("/dev/null", O_RDONLY);
  const int output = options.output >= 0 ? moved(options.output) : -1;
  const int error = options.error >= 0 ? moved(options.error) : -1;
  ::dup2(null, STDIN_FILENO);
  if (output >= 0) ::dup2(output, STDOUT_FILENO);
  if (error >= 0) ::dup2(error, STDERR_FILENO);
  for (const int source : sources) ::dup2(source, targets++);
  ::fcntl(targets - 1, F_SETFD, FD_CLOEXEC);
  close_all_from(targets);
  return targets - 1;
}

void default_signals() {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  runtime::restore_idle_signals();  // exec resets handled signals, but not ignored ones
}

/// The child's work between fork and exec.
[[noreturn]] void become(const ChildOptions& options, pid_t parent, char* const* arguments,
                         char* const* environment, int report_to) {
  ::setpgid(0, 0);
  if (options.signal_at_our_death != 0) {
    ::prctl(PR_SET_PDEATHSIG, options.signal_at_our_death);
    if (::getppid() != parent) ::_exit(1);
  }
  default_signals();
  const int report = arrange_descriptors(options, report_to);
  ExecFailure failure{ExecFailure::Step::directory, 0};
  if (options.directory.empty() || ::chdir(options.directory.c_str()) == 0) {
    failure.step = ExecFailure::Step::program;
    ::environ = const_cast<char**>(environment);  // so that execvp searches the child's PATH
    ::execvp(options.program.c_str(), arguments);
  }
  failure.error_number = errno;
  (void)!::write(report, &failure, sizeof failure);
  ::_exit(127);
}

}  // namespace

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw IoError(NC_ENFILE, errno, "a pipe", "create");
  return {runtime::FileDescriptor(ends[0]), runtime::FileDescriptor(ends[1])};
}

pid_t start_child(const ChildOptions& options) {
  std::vector<std::string> arguments = options.arguments;
  std::vector<std::string> variables = as_strings(options.environment);
  const std::vector<char*> argument_pointers = pointers(arguments);
  const std::vector<char*> variable_pointers = pointers(variables);
  Pipe report = make_pipe();
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) throw IoError(NC_ENFILE, errno, options.program, "start");
  if (child == 0)
    become(options, parent, argument_pointers.data(), variable_pointers.data(), report.write_end.number());
  ::setpgid(child, child);
  report.write_end.reset();
  ExecFailure failure{};
  ssize_t got = 0;
  do {
    got = ::read(report.read_end.number(), &failure, sizeof failure);
  } while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(sizeof failure)) return child;
  ::waitpid(child, nullptr, 0);
  const bool in_directory = failure.step == ExecFailure::Step::directory;
  throw IoError(NC_EACCESS, failure.error_number, in_directory ? options.directory.string() : options.program,
                in_directory ? "enter the directory" : "start");
}

int wait_for_end(pid_t child) noexcept {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return status;
}

std::string output_of(ChildOptions options) {
  std::string text;
  try {
    Pipe output = make_pipe();
    options.output = options.error = output.write_end.number();
    const pid_t process = start_child(options);
    output.write_end.reset();
    char buffer[4096];
    ssize_t got = 0;
    while ((got = ::read(output.read_end.number(), buffer, sizeof buffer)) > 0)
      text.append(buffer, static_cast<std::size_t>(got));
    wait_for_end(process);
  } catch (const IoError& error) {
    if (error.error_number() == EMFILE || error.error_number() == ENFILE)
      throw;  // the program exists, but no descriptors are left
    text.clear();
  }
  return text;
}

}  // namespace sluice::coordinator
