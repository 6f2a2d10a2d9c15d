#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/formats/error.hpp"

namespace sluice::workflows {

/// A place in a workflow file; both from 1.
struct Position {
  int line = 0;
  int column = 0;
};

/// One mistake: where, what was found, what is allowed.
struct Mistake {
  Position position;
  std::string text;
};

/// All mistakes of one workflow file. what() lists them as "FILE:LINE:COLUMN: text", one a line.
class WorkflowError : public Error {
 public:
  WorkflowError(std::filesystem::path file, std::vector<Mistake> mistakes);
  [[nodiscard]] const std::vector<Mistake>& mistakes() const noexcept { return mistakes_; }

 private:
  std::vector<Mistake> mistakes_;
};

struct Component {
  std::string name;
  std::vector<std::string> command;           ///< words; a string in the YAML is split as a POSIX shell would (quotes, backslash), without expansion
  int ranks = 0;                              ///< 0: serial, started without the launcher
  std::filesystem::path directory;            ///< absolute
  std::map<std::string, std::string> environment;
  std::vector<std::string> launcher_options;
  Position position;
};

struct FileRule {
  std::string pattern;
  std::string writer;
  std::vector<std::string> readers;
  Position position;
};

struct Launcher {
  enum class Kind { mpirun, none } kind = Kind::mpirun;
};

/// A checked workflow; design in docs/workflow-reference.md.
struct Workflow {
  std::filesystem::path file;  ///< absolute
  std::string name;
  Launcher launcher;
  std::uint64_t memory_bytes = 0;  ///< staging.memory per node; default: a quarter of physical memory
  std::vector<Component> components;
  std::vector<FileRule> files;
};

/// Parses and checks. Throws WorkflowError with all mistakes in one go, IoError when the file cannot be read.
[[nodiscard]] Workflow parse_workflow(const std::filesystem::path& file);
/// The same from text; `file` is for messages and relative directories.
[[nodiscard]] Workflow parse_workflow(std::string_view text, const std::filesystem::path& file);

}  // namespace sluice::workflows
