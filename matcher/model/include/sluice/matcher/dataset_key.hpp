#pragma once
#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::matcher {

/// The key of a dataset: the rule of the workflow (an index in its `files` list), and the file within the
/// rule. Identity decides how the file is named.
struct DatasetKey {
  std::uint32_t rule = 0;
  std::string name;
  auto operator<=>(const DatasetKey&) const = default;
};

/// A process of a group (the communicator of a create or open call). Rank 0 drew the random number `group`
/// and shared it with the communicator.
struct Member {
  std::uint64_t group = 0;
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  bool spans_nodes = false;  ///< the group's processes are on several nodes and have no common memory
  bool operator==(const Member&) const = default;
};

/// A file that a process writes by the C library. The matcher that has it is a client of the registry for it.
struct WrittenFile {
  std::uint32_t matcher = 0;
  std::uint64_t connection = 0;  ///< the matcher's number; 0: no file
  auto operator<=>(const WrittenFile&) const = default;
};

/// A process waits inside a collective call for other processes of a communicator. It creates, opens or uses
/// a dataset with them. When they create or open it, they have no group number yet.
struct Gathering {
  enum class Call : std::uint8_t {
    open,
    create,
    access,  ///< a later collective call on the open dataset
  };
  DatasetKey key;
  Call call = Call::open;
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::uint64_t ranks = 0;       ///< a hash of the communicator's ranks within the component
  std::uint32_t first_rank = 0;  ///< rank of the communicator's rank 0 within the component
  std::uint32_t stride = 0;      ///< distance between successive ranks; 0: the distances differ
  std::uint64_t waited_ms = 0;   ///< so far
  bool is_over = false;          ///< the process no longer waits
};

/// A thread of a process begins or ends a large copy: a put or get of many bytes of one step.
struct CopyNotice {
  std::uint64_t number = 0;  ///< of the copy within the process; the begin and the end have the same
  std::uint64_t step = 0;
  bool is_put = false;
  bool is_over = false;
};

/// Which paths that a rule covers are one dataset.
enum class Identity : std::uint8_t {
  path,  ///< paths that lead to one file: the absolute path, without symbolic links
  name,  ///< paths with the same trailing components, as many as the pattern has
};

/// When readers see data that was put.
enum class PublishAt : std::uint8_t {
  close,  ///< all data, when the group that writes the dataset has closed it
  sync,   ///< data put before ncmpi_sync
  write,  ///< each put at once
};

/// The medium through which the data of a rule's files passes.
enum class Through : std::uint8_t {
  memory,        ///< segments in memory (and spilled ones)
  burst_buffer,  ///< logs on a local disk, drained to the file
  subfiles,      ///< files on disk; the matchers only tell readers that a file is ready
  blobs,
  file,
  /// `sluice run --through-files`: files on disk, for which programs that use the C library wait, too. Each
  /// step of a stream has a file of its own.
  ordered_file,
};
/// The words of `through`, by enumerator. A workflow file has all but the last one.
inline constexpr std::array<std::string_view, 6> through_words{"memory", "burst-buffer", "subfiles",
                                                               "blobs",  "file",         "ordered-file"};
inline constexpr std::size_t through_words_of_users = through_words.size() - 1;
[[nodiscard]] constexpr std::string_view word_of(Through through) noexcept {
  return through_words[static_cast<std::size_t>(through)];
}
/// Empty for any other word.
[[nodiscard]] constexpr std::optional<Through> through_of(std::string_view word) noexcept {
  for (std::size_t i = 0; i < through_words.size(); ++i) {
    if (through_words[i] == word) return static_cast<Through>(i);
  }
  return std::nullopt;
}

/// Whether the processes write and read files themselves. Then matchers have no data, and readers wait until
/// the writer has closed a file.
[[nodiscard]] constexpr bool is_in_files(Through through) noexcept {
  return through != Through::memory && through != Through::burst_buffer;
}

/// Whether the data of one dataset is in several files, by a layout of api/split.
[[nodiscard]] constexpr bool is_split(Through through) noexcept {
  return is_in_files(through) && through != Through::file && through != Through::ordered_file;
}

/// Whether opens by the C library are ordered as those by PnetCDF are.
[[nodiscard]] constexpr bool covers_c_library(Through through) noexcept {
  return !is_split(through);
}

/// Whether the C library writes the file on the disk itself, and not a file in memory.
[[nodiscard]] constexpr bool is_written_in_place(Through through) noexcept {
  return through == Through::file;
}

/// How the index space of a step's variables is divided among the matchers.
enum class PartitionKind : std::uint8_t {
  range,     ///< each variable by ranges of one of its dimensions
  variable,  ///< each variable as a whole, in turn
};

/// The data of a rule's files that stays on disk. Not for files that pass through files.
struct Keep {
  bool keeps = false;
  std::vector<std::string> variables;  ///< globs over the names of variables; empty: all variables
  bool operator==(const Keep&) const = default;
};

/// Which steps of a sequence a reader takes: docs/steps.md.
enum class ReadMode : std::uint8_t {
  all,
  latest,  ///< the newest published step; older ones are skipped
  every,   ///< the first step and every N-th after it
};

/// A reader whose mode is not ReadMode::all.
struct ReaderMode {
  std::string reader = {};
  ReadMode mode = ReadMode::all;
  std::uint32_t every = 1;  ///< ReadMode::every: N
  bool operator==(const ReaderMode&) const = default;

  /// Whether the reader may want the step with that number; numbers begin at 1.
  [[nodiscard]] constexpr bool selects(std::uint64_t number) const noexcept {
    return mode != ReadMode::every || (number - 1) % every == 0;
  }
};

/// What happens when a sequence has as many unread steps as FileRule::queue says.
enum class WhenFull : std::uint8_t {
  spill,    ///< the next steps go to disk
  wait,     ///< the writer's create waits
  discard,  ///< the oldest unread steps go
};

/// A rule of the workflow: the components that write and read the files of the pattern. The coordinator has
/// parsed the workflow file.
struct FileRule {
  std::string pattern;
  std::string writer;
  std::vector<std::string> readers;
  bool replays = true;  ///< plans may be reused for later steps of the same pattern
  PublishAt publish_at = PublishAt::close;
  Through through = Through::memory;
  PartitionKind partition = PartitionKind::range;
  Keep keep{};
  Identity identity = Identity::path;
  /// A file that is written by the C library is published when it is closed for the n-th time; 0: when its
  /// writer has ended.
  std::uint32_t closes = 1;
  std::vector<ReaderMode> modes = {};  ///< of the readers that do not take all steps
  /// Opens for reading of one name go through its steps in order.
  bool is_stream = false;
  std::uint32_t queue = 0;  ///< unread steps of a sequence; 0: no limit
  WhenFull when_full = WhenFull::spill;
  /// Patterns of files that readers do not wait for while their writer has not created them.
  std::vector<std::string> optional = {};
  bool operator==(const FileRule&) const = default;

  /// Calls `take` with all members, in the order in which messages have them.
  static void each(auto& rule, auto&& take) {
    take(rule.pattern, rule.writer, rule.readers, rule.replays, rule.publish_at, rule.through, rule.partition,
         rule.keep, rule.identity, rule.closes, rule.modes, rule.is_stream, rule.queue, rule.when_full,
         rule.optional);
  }
  /// Its index among the readers; empty: it is none.
  [[nodiscard]] std::optional<std::size_t> index_of(std::string_view reader) const {
    const auto found = std::ranges::find(readers, reader);
    if (found == readers.end()) return std::nullopt;
    return static_cast<std::size_t>(found - readers.begin());
  }
  [[nodiscard]] ReaderMode mode_of(std::string_view reader) const {
    for (const ReaderMode& mode : modes)
      if (mode.reader == reader) return mode;
    return {};
  }
  /// All steps of a path are one file, so it is not written while somebody reads it.
  [[nodiscard]] bool has_one_file() const noexcept { return is_in_files(through) && !is_stream; }
  /// The matchers write a file for each complete step.
  [[nodiscard]] bool is_drained() const noexcept {
    return through == Through::burst_buffer || (through == Through::memory && keep.keeps);
  }
  /// A create always gets a step at once, and nobody hears of the step before it is published. So groups may
  /// get their next steps ahead.
  [[nodiscard]] bool may_offer_steps() const noexcept {
    const bool may_wait = queue > 0 && when_full != WhenFull::discard;
    return through == Through::memory && publish_at == PublishAt::close && identity == Identity::path &&
           !may_wait;
  }
  /// Besides, nothing follows from a publication, an open or a close but that somebody may go on, and every
  /// open gets the newest step. So groups may get the reads of such steps ahead.
  [[nodiscard]] bool may_offer_reads() const noexcept {
    return may_offer_steps() && replays && modes.empty() && !is_stream && queue == 0 && !is_drained();
  }
};

/// A component of the workflow and its number of processes at start (at least 1). With a known number the
/// registry can see that all processes of the component wait. 0: not known; then the component counts as able
/// to write until it has exited.
struct ComponentSize {
  std::string name;
  std::uint32_t processes = 0;
  std::uint32_t restarts = 0;           ///< how often it is started again after a failure
  std::uint32_t opens_per_step = 1;     ///< opens of a stream that read one step
  std::vector<std::string> after = {};  ///< the components that end before it starts (start: when-done)
  std::string ensemble = {};            ///< of a member; the members have the order in which they start
  std::uint32_t at_most = 0;            ///< members of the ensemble that run at a time; 0: all
};

/// A component of which the coordinator starts a job for each published file of a rule: for-each.
struct JobReader {
  std::string component;
  std::uint32_t rule = 0;
  std::uint32_t at_most = 1;    ///< jobs at a time
  std::uint32_t processes = 1;  ///< that each job has at least
};

}  // namespace sluice::matcher
