#include "trial.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <utility>

#include "child_process.hpp"
#include "exit_status.hpp"
#include "files_on_disk.hpp"
#include "launch.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/formats/tool_files.hpp"

namespace sluice::coordinator {
namespace {

void note_moved(const std::filesystem::path& directory, TriedProgram& program) {
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->is_regular_file(error)) program.moved.insert(entry->path());
}

/// Counts how often a file was closed since it was begun.
void count_close(const TrialCall& call, TriedProgram& program) {
  const auto known = program.closes.find(call.file);
  const bool is_begun = known != program.closes.end();
  if (is_begun && (call.letter == 'w' || call.letter == 'n')) program.rewritten.insert(call.file);
  if (call.letter == 'n' || call.letter == 'w' || (call.letter == 'v' && !is_begun)) {
    program.closes[call.file] = 1;
  } else if (is_begun && call.letter != 'j') {
    ++known->second;
  }
}

/// Python lists the directory of the script and then those of its library, to find what is installed: the
/// former says nothing of the script.
void forget_listing(TriedProgram& program) {
  if (!program.calls.empty() && program.calls.back().letter == 'l') program.calls.pop_back();
}

/// The file in which the processes of a program record their opens. The destructor removes it.
class Record {
 public:
  Record() {
    const char* const directory = std::getenv("TMPDIR");
    path_ = std::string(directory == nullptr ? "/tmp" : directory) + "/sluice-record-XXXXXX";
    const runtime::FileDescriptor file(::mkstemp(path_.data()));
    if (!file) throw IoError(NC_EIO, errno, path_, "create");
  }
  ~Record() { ::unlink(path_.c_str()); }
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  void read_into(TriedProgram& program) const {
    std::ifstream lines(path_);
    for (std::string line; std::getline(lines, line, '\0');) {
      const bool is_of_python = line.find("/lib/python3") != std::string::npos;
      if (is_of_python && line.front() == 'l') forget_listing(program);
      if (line.size() > 2 && !is_of_python && !formats::is_tool_file(line.substr(2)))
        note_trial_call(line.front(), line.substr(2), program);
    }
    finish_trial(program);
  }

 private:
  std::string path_;
};

}  // namespace

std::filesystem::path name_of(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::path last = path.filename();
  if (last.empty() || last == "." || last == "..") return std::filesystem::weakly_canonical(path, error);
  const std::filesystem::path directory = std::filesystem::weakly_canonical(path.parent_path(), error);
  return error ? std::filesystem::path() : directory / last;
}

void note_trial_call(char letter, const std::filesystem::path& path, TriedProgram& program) {
  TrialCall call{letter, path, name_of(path), {}};
  if (call.name.empty()) return;
  std::error_code error;
  if (std::filesystem::path file = std::filesystem::canonical(call.name, error); !error)
    call.file = std::move(file);
  if (letter == 'i' && call.file.empty()) return;  // MPI-IO made it for itself, and has removed it
  if (letter == 'i') letter = call.letter = 'n';
  const bool is_write = call.is_write();
  if (letter == 'm') program.named.insert(call.name);
  if (is_write && std::filesystem::is_directory(call.file, error)) note_moved(call.file, program);
  if (is_write && call.file.empty()) program.gone.insert(call.name);
  if (std::filesystem::is_regular_file(call.file, error)) {
    const bool is_from_before = (letter == 'r' || letter == 'a') && !program.written.contains(call.file);
    if (is_from_before) program.begun_with.insert(call.file);
    if (letter == 'r') program.read.insert(call.file);
    if (is_write) program.written.insert(call.file);
    if (letter == 'n') program.made.insert(call.file);
    if (is_write) count_close(call, program);
  }
  program.calls.push_back(std::move(call));
}

void finish_trial(TriedProgram& program) {
  for (const std::filesystem::path& file : program.written)
    program.modified_ns[file] = modification_time_of(file);
  std::erase_if(program.closes, [](const auto& one) { return one.second == 1; });
  std::erase_if(program.begun_with, [&](const std::filesystem::path& file) {
    return !program.written.contains(file) || program.made.contains(file);
  });
}

TriedProgram try_program(const std::vector<std::string>& words, const Environment& environment,
                         const std::filesystem::path& files_library) {
  const Record record;
  ChildOptions options;
  options.program = words.front();
  options.arguments = words;
  options.environment = environment;
  std::string& preload = options.environment["LD_PRELOAD"];
  preload = files_library.string() + (preload.empty() ? "" : ":" + preload);
  options.environment["SLUICE_RECORD"] = record.path();
  LaunchContext context;
  context.is_root = ::geteuid() == 0;
  allow_root(options.environment, context);
  TriedProgram program;
  program.status = end_of_process(wait_for_end(start_child(options)), false).shell_status();
  record.read_into(program);
  return program;
}

}  // namespace sluice::coordinator
