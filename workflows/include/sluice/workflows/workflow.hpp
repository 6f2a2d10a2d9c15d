#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/formats/error.hpp"

namespace sluice::workflows {

/// A place in a workflow file; both from 1, columns count characters.
struct Position {
  int line = 1;
  int column = 1;
};

/// One mistake (or warning): where, what was found, what is allowed.
struct Mistake {
  Position position;
  std::string text;
  /// "FILE:LINE:COLUMN: text".
  [[nodiscard]] std::string describe(const std::filesystem::path& file) const;
};

/// All mistakes of one workflow file. what() lists them as "FILE:LINE:COLUMN: text", one a line.
class WorkflowError : public Error {
 public:
  WorkflowError(const std::filesystem::path& file, std::vector<Mistake> mistakes);
  [[nodiscard]] const std::vector<Mistake>& mistakes() const noexcept { return mistakes_; }

 private:
  std::vector<Mistake> mistakes_;
};

/// A program that a run starts.
struct Component {
  std::string name;
  std::vector<std::string> command;  ///< words; a string in the YAML is split as a POSIX shell would (quotes,
                                     ///< backslash), without expansion
  int ranks = 0;                     ///< 0: serial, started without the launcher
  std::filesystem::path directory;   ///< absolute
  std::map<std::string, std::string> environment;
  std::vector<std::string> launcher_options;
  Position position;          ///< of its name
  Position command_position;  ///< of its command
};

/// When readers see what was put: publish.
enum class PublishAt { close, sync, write };

/// What the data passes through: through.
enum class Through { memory, burst_buffer, subfiles, blobs, file };
/// The words of `through`, by enumerator.
inline constexpr std::array<std::string_view, 5> through_words{"memory", "burst-buffer", "subfiles", "blobs",
                                                               "file"};

/// Whether the components write and read files on disk.
[[nodiscard]] constexpr bool is_in_files(Through through) noexcept {
  return through == Through::subfiles || through == Through::blobs || through == Through::file;
}

/// Which paths are one file: identity.
enum class Identity { path, name };

/// How several matchers share the work: partition.
enum class PartitionBy { range, variable };

/// What is left on disk of files that pass through memory: keep.
struct Keep {
  bool keeps = false;
  std::vector<std::string> variables;  ///< globs; none: all variables
};

/// Files that pass from one component to others.
struct FileRule {
  std::string pattern;
  std::string writer;
  std::vector<std::string> readers;
  Position position;    ///< of its pattern
  bool replays = true;  ///< replay: auto
  PublishAt publish_at = PublishAt::close;
  Through through = Through::memory;
  PartitionBy partition = PartitionBy::range;
  Keep keep{};
  Identity identity = Identity::path;
};

/// What starts the components that have ranks.
struct Launcher {
  enum class Kind { mpirun, srun, custom, none } kind = Kind::mpirun;
  /// Of a custom one: the words of its command line. {ranks} may be a part of a word; {program} is a word, in
  /// place of which come the words of the program.
  std::vector<std::string> command{};
};
inline constexpr std::string_view ranks_placeholder = "{ranks}";
inline constexpr std::string_view program_placeholder = "{program}";

/// A checked workflow; docs/workflow-reference.md describes the file.
struct Workflow {
  std::filesystem::path file;  ///< as the user named it
  std::string name;
  Launcher launcher;
  std::filesystem::path hostfile;  ///< absolute: mpirun's list of nodes for all components; empty: none
  Position hostfile_position;
  std::uint64_t memory_bytes = 0;  ///< staging.memory per node; default: a quarter of physical memory
  std::optional<std::uint64_t> retain_bytes;  ///< staging.retain: consumed data that stays readable
  /// staging.prewarm: memory per node that is made ahead; nothing: where it has huge pages, so much as suits
  /// it
  std::optional<std::uint64_t> prewarm_bytes;
  bool has_huge_pages = true;  ///< staging.huge-pages: where the system gives them
  /// staging.spill: an absolute directory for what memory has no room for; empty: automatic, or none
  std::filesystem::path spill_directory;
  bool has_automatic_spill = true;
  Position spill_position;
  int matchers = 1;  ///< staging.matchers: of each node
  std::vector<Component> components;
  std::vector<FileRule> files;
  std::vector<Mistake> warnings;  ///< what is allowed but probably not meant
};

/// Parses and checks. Throws WorkflowError with all mistakes in one go, IoError when the file cannot be read.
[[nodiscard]] Workflow parse_workflow(const std::filesystem::path& file);
/// The same from text; `file` is for messages, the default name, and relative directories.
[[nodiscard]] Workflow parse_workflow(std::string_view text, const std::filesystem::path& file);

/// A cycle among components: each writes a file that the next one reads, the last one for the first.
using Cycle = std::vector<std::string>;
/// One cycle for each group of components that depend on each other, in the file's order. A component that
/// reads its own files is not one.
[[nodiscard]] std::vector<Cycle> find_cycles(const Workflow& workflow);

}  // namespace sluice::workflows
