#pragma once
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/formats/error.hpp"
#include "sluice/matcher/dataset_key.hpp"

namespace sluice::workflows {

/// Variables that only `sluice run` sets in the environment of the components' processes.
inline constexpr std::array<std::string_view, 10> own_variables{
    "SLUICE_SOCKET",       "SLUICE_COMPONENT",   "SLUICE_RULES",    "SLUICE_OTHERS",
    "SLUICE_RUN",          "SLUICE_LOGS",        "SLUICE_ATTACHED", "SLUICE_RECORD_VALUES",
    "SLUICE_RECORD_READS", "SLUICE_COPY_THREADS"};

/// A position in a workflow file; line and column count from 1, and columns count characters.
struct Position {
  int line = 1;
  int column = 1;
};

/// A mistake or warning: its position, the value found, and the allowed values.
struct Mistake {
  Position position;
  std::string text;
  /// "FILE:LINE:COLUMN: text".
  [[nodiscard]] std::string describe(const std::filesystem::path& file) const;
};

/// All mistakes of one workflow file. what() lists them as "FILE:LINE:COLUMN: text", one on each line.
class WorkflowError : public Error {
 public:
  WorkflowError(const std::filesystem::path& file, std::vector<Mistake> mistakes);
  [[nodiscard]] const std::vector<Mistake>& mistakes() const noexcept { return mistakes_; }

 private:
  std::vector<Mistake> mistakes_;
};

/// The program that starts components with ranks.
struct Launcher {
  /// mpirun: that of the program's MPI, which `sluice run` finds out; hydra: MPICH's.
  enum class Kind { mpirun, hydra, srun, custom, none } kind = Kind::mpirun;
  /// For a custom launcher: the words of its command line. {ranks} may be a part of a word. {program} is a
  /// separate word; the words of the program replace it. For mpirun and hydra: the name under which it was
  /// found, or nothing.
  std::vector<std::string> command{};
};
inline constexpr std::string_view ranks_placeholder = "{ranks}";
inline constexpr std::string_view program_placeholder = "{program}";

/// What follows the failure of a component.
struct FailurePolicy {
  int restarts = 0;  ///< how often it is started again
  std::chrono::milliseconds restart_delay{1000};
  bool stops_run = false;  ///< on-failure: stop, when it is not started again
};

/// A component that is started once for each published file of a rule. One start is a job.
struct ForEach {
  enum class Order { publication, any };
  enum class OnFailure { go_on, stop };
  std::string pattern;     ///< the path of the rule
  Position position;       ///< position of the pattern
  std::uint32_t rule = 0;  ///< the rule's index
  int at_most = 1;         ///< jobs at a time
  int every = 1;           ///< the first file, and each N-th after it
  bool is_latest = false;  ///< only the newest file, when no job runs
  Order order = Order::publication;
  OnFailure on_failure = OnFailure::go_on;
  int retries = 0;  ///< how often a job that fails is started again
};
inline constexpr std::array<std::string_view, 4> job_placeholders{"{file}", "{name}", "{stem}", "{step}"};

/// A program that a run starts. Each member of an ensemble (instances: N) is a component.
struct Component {
  std::string name;                  ///< of a member: "model.7"
  std::vector<std::string> command;  ///< words; a string in the YAML is split as a POSIX shell would (quotes,
                                     ///< backslash), without expansion
  int ranks = 0;                     ///< 0: serial, started without the launcher
  std::filesystem::path directory;   ///< absolute
  std::map<std::string, std::string> environment;
  std::optional<Launcher> launcher;  ///< nothing: the workflow's
  std::vector<std::string> launcher_options;
  FailurePolicy failure;
  std::string ensemble;             ///< of a member: the name in the workflow file; else empty
  int instance = 0;                 ///< of a member: its number, from 0
  int instances = 1;                ///< of its ensemble
  int at_most = 0;                  ///< members of its ensemble that run at a time; 0: all
  bool has_instances = false;       ///< the workflow file says `instances`
  std::optional<ForEach> for_each;  ///< nothing: it is started once
  bool starts_when_done = false;    ///< start: when-done: after the writers of its files have ended
  /// opens-per-step: how often it opens a stream to read one step
  std::uint16_t opens_per_step = 1;
  Position position;          ///< position of its name
  Position command_position;  ///< position of its command
};

/// Whether something else than the begin of the run starts the component.
[[nodiscard]] inline bool starts_later(const Component& component) {
  return component.for_each || component.starts_when_done;
}

/// The values of a rule's keys, shared with the matchers.
using matcher::Identity;       ///< which paths mean one file: identity
using matcher::Keep;           ///< the data that stays on disk when files pass through memory: keep
using matcher::PartitionKind;  ///< how several matchers share the work: partition
using matcher::PublishAt;      ///< when readers see the data of puts: publish
using matcher::Through;        ///< the medium of the data: through

/// A path that `sluice init` could not find out, and that is to be filled in.
inline constexpr std::string_view path_placeholder = "???";

/// Files that one component writes and others read.
struct FileRule : matcher::FileRule {
  Position position{};         ///< position of its pattern
  bool exposes = false;        ///< expose: published files are linked into their directories
  bool has_hyperslabs = true;  ///< netcdf: netCDF's calls are coupled as PnetCDF's are
  std::string family{};  ///< of a member of an ensemble: the pattern as written, with {instance}; else empty
  /// expect: how many files there will be, with a stream how many steps; 0: not known
  std::uint64_t expected = 0;
};

/// A checked workflow; docs/workflow-reference.md describes the file.
struct Workflow {
  std::filesystem::path file;  ///< the path as the user gave it
  std::string name;
  Launcher launcher;  ///< of components without their own
  std::filesystem::path
      hostfile;  ///< absolute path of mpirun's list of nodes for all components; empty: none
  Position hostfile_position;
  std::uint64_t memory_bytes = 0;  ///< staging.memory per node; default: a quarter of physical memory
  std::optional<std::uint64_t> retain_bytes;  ///< staging.retain: consumed data that stays readable
  /// staging.prewarm: memory per node that is made ahead. Nothing: a suitable amount if the memory has huge
  /// pages
  std::optional<std::uint64_t> prewarm_bytes;
  bool has_huge_pages = true;  ///< staging.huge-pages: if the system provides them
  /// staging.spill: an absolute directory for data that does not fit in memory; empty: automatic, or none
  std::filesystem::path spill_directory;
  bool has_automatic_spill = true;
  Position spill_position;
  int matchers = 1;      ///< staging.matchers: number per node
  int copy_threads = 1;  ///< staging.copy-threads: of a reader process, at most
  std::vector<Component> components;
  std::vector<FileRule> files;
  std::vector<Mistake> warnings;  ///< findings that are allowed but probably not intended
};

/// The launcher of a component: its own, or the workflow's.
[[nodiscard]] inline const Launcher& launcher_of(const Workflow& workflow, const Component& component) {
  return component.launcher ? *component.launcher : workflow.launcher;
}

/// The components that write files for the component, without itself.
[[nodiscard]] std::set<std::string> writers_for(const Workflow& workflow, const std::string& component);

/// Parses and checks a workflow file. Throws WorkflowError with all mistakes, or IoError if the file cannot
/// be read.
[[nodiscard]] Workflow parse_workflow(const std::filesystem::path& file);
/// Parses a workflow from text. `file` serves for messages, the default name, and relative directories.
[[nodiscard]] Workflow parse_workflow(std::string_view text, const std::filesystem::path& file);

/// A cycle among components: each component writes a file that the next one reads, and the last one writes
/// for the first.
using Cycle = std::vector<std::string>;
/// Returns one cycle for each group of components that depend on each other, in the file's order. A component
/// that reads its own files is not a cycle.
[[nodiscard]] std::vector<Cycle> find_cycles(const Workflow& workflow);

}  // namespace sluice::workflows
