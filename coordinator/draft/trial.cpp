#include "trial.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>

#include "child_process.hpp"
#include "exit_status.hpp"
#include "launch.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::coordinator {
namespace {

std::int64_t modification_time_of(const std::filesystem::path& file) {
  constexpr std::int64_t ns_per_s = 1'000'000'000;
  struct stat facts {};
  if (::stat(file.c_str(), &facts) != 0) return 0;
  return facts.st_mtim.tv_sec * ns_per_s + facts.st_mtim.tv_nsec;
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

  /// Only what is an ordinary file now: what programs share outlives them.
  void read_into(TriedProgram& program) const {
    std::ifstream lines(path_);
    std::map<std::filesystem::path, int> closes;
    std::set<std::filesystem::path> anew;
    for (std::string line; std::getline(lines, line);) {
      if (line.size() < 3) continue;
      std::error_code error;
      const auto file = std::filesystem::canonical(line.substr(2), error);
      if (error || !std::filesystem::is_regular_file(file, error)) continue;
      (line.front() == 'r' ? program.read : program.written).insert(file);
      const bool is_made = line.front() == 'n';
      if (is_made) program.made.insert(file);
      if (is_made || line.front() == 'w') anew.insert(file);
      if (is_made || line.front() == 'w') closes[file] = 1;
      if (line.front() == 'a') ++closes[file];
    }
    for (const std::filesystem::path& file : program.written)
      program.modified_ns[file] = modification_time_of(file);
    for (const auto& [file, count] : closes)
      if (count > 1 && anew.contains(file)) program.closes.emplace(file, count);
  }

 private:
  std::string path_;
};

}  // namespace

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
