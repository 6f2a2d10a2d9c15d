#pragma once
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::matcher {

/// What a dataset is known by: the rule of the workflow (index in its `files` list), and within it the file:
/// what Identity says.
struct DatasetKey {
  std::uint32_t rule = 0;
  std::string name;
  auto operator<=>(const DatasetKey&) const = default;
};

/// A process of a group (the communicator of a create or open call). `group` was drawn by rank 0 and shared
/// by the communicator.
struct Member {
  std::uint64_t group = 0;
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  bool spans_nodes = false;  ///< the group's processes are on several nodes: no memory is common to them
};

/// Which paths that a rule covers are one dataset.
enum class Identity : std::uint8_t {
  path,  ///< those that lead to one file: the absolute path, without symbolic links
  name,  ///< those with the same trailing components, as many as the pattern has
};

/// When readers see what was put.
enum class PublishAt : std::uint8_t {
  close,  ///< all of it, when the group that writes it has closed the dataset
  sync,   ///< what was put before ncmpi_sync
  write,  ///< each put at once
};

/// What the data of a rule's files passes through.
enum class Through : std::uint8_t {
  memory,        ///< segments in memory (and spilled ones)
  burst_buffer,  ///< logs on a local disk, drained to the file
  subfiles,      ///< files on disk; the matchers only tell readers when they are there
  blobs,
  file,
};

/// Whether the processes write and read files themselves: then matchers have no data, and readers wait until
/// the writer has closed a file.
[[nodiscard]] constexpr bool is_in_files(Through through) noexcept {
  return through == Through::subfiles || through == Through::blobs || through == Through::file;
}

/// How the index space of a step's variables is divided among the matchers.
enum class PartitionKind : std::uint8_t {
  range,     ///< each variable by ranges of one of its dimensions
  variable,  ///< whole variables in turn
};

/// What is left on disk of a rule's files that do not pass through files.
struct Keep {
  bool keeps = false;
  std::vector<std::string> variables;  ///< globs over the names of variables; none: all
};

/// A rule of the workflow: who writes and who reads the files that the pattern covers. It is the coordinator
/// that parsed the file.
struct FileRule {
  std::string pattern;
  std::string writer;
  std::vector<std::string> readers;
  bool replays = true;  ///< plans may be used for later steps of the same pattern
  PublishAt publish_at = PublishAt::close;
  Through through = Through::memory;
  PartitionKind partition = PartitionKind::range;
  Keep keep{};
  Identity identity = Identity::path;

  /// The matchers write a file of each complete step.
  [[nodiscard]] bool is_drained() const noexcept {
    return through == Through::burst_buffer || (through == Through::memory && keep.keeps);
  }
};

/// A component of the workflow and how many processes it is started with (at least 1). Known sizes let the
/// registry see that all of a component's processes wait; 0: not known, then a component is taken to be able
/// to write until it has exited.
struct ComponentSize {
  std::string name;
  std::uint32_t processes = 0;
};

}  // namespace sluice::matcher
