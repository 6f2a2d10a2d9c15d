#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::matcher {

/// Counters of one process for one open or create, for the summary.
struct AccessCounters {
  std::uint64_t puts = 0, put_bytes = 0, gets = 0, get_bytes = 0;
  std::uint64_t open_wait_us = 0;   ///< time spent waiting in open/create
  std::uint64_t replayed_gets = 0;  ///< the gets that needed no matching
  /// By the C library. A file counts with its size, once for each process: nobody knows what is read of it.
  std::uint64_t opens = 0, opened_bytes = 0;

  AccessCounters& operator+=(const AccessCounters& other) noexcept {
    puts += other.puts, put_bytes += other.put_bytes, gets += other.gets, get_bytes += other.get_bytes;
    replayed_gets += other.replayed_gets, open_wait_us += other.open_wait_us;
    opens += other.opens, opened_bytes += other.opened_bytes;
    return *this;
  }
};

/// When a process made its puts, or its gets, of a step that it had open. Times are microseconds. Nothing:
/// `first_us` is 0.
struct CallSpan {
  std::uint64_t first_us = 0;  ///< from the begin of the first call to the close
  std::uint64_t last_us = 0;   ///< from the end of the last call to the close
  std::uint64_t busy_us = 0;   ///< within calls; of small calls estimated
};
struct AccessTimes {
  CallSpan puts, gets;
};

/// What a process has done with a file, as it says when it closes it.
struct FileUse {
  AccessCounters counters;
  AccessTimes times;
};

/// Figures of one dataset key, for the summary.
struct DatasetStatus {
  std::uint32_t rule = 0;
  std::string name;  ///< as messages show it
  std::uint32_t steps_published = 0;
  std::uint32_t steps_discarded = 0;
  AccessCounters counters;
  std::uint64_t bytes_staged = 0;   ///< in memory now
  std::uint64_t bytes_kept = 0;     ///< written to files on disk
  std::uint64_t bytes_spilled = 0;  ///< in segments on disk, over the whole run
  std::uint32_t steps_lost = 0;     ///< not closed by their writers, or given up before a reader opened them
  std::uint32_t files = 1;          ///< more than one, and no name: the sum of files that are over
};

/// A file that a component creates or opens with PnetCDF as an ordinary file, although a rule covers it for
/// other components, or rules name the component.
struct OrdinaryFile {
  static constexpr std::uint32_t no_rule = ~std::uint32_t{0};
  std::uint32_t rule = no_rule;  ///< the rule that covers the path, but does not name the component
  std::string path;              ///< absolute
  bool is_written = false;
  /// modification time of the file that it found, since 1970; 0: there was no file
  std::int64_t modified_s = 0;
  std::string component = {};  ///< as the registry knows it
};

/// What a reader has done with the published steps of a rule.
struct ReaderStatus {
  std::string reader;
  std::uint64_t taken = 0;    ///< opened
  std::uint64_t skipped = 0;  ///< passed over by its mode
  std::uint64_t missed = 0;   ///< neither
};

/// A reader that opened files, and did not open them again after their writer had gone on in them.
struct PartlyRead {
  std::string reader;
  std::uint64_t files = 0;
  std::string name;          ///< one of them, as messages show it
  std::uint32_t closes = 0;  ///< how often its writer has closed each of them; 0: the numbers differ
  bool is_by_puts = false;   ///< its writer used PnetCDF
};

/// The components that have used the files of a rule.
struct RuleStatus {
  std::vector<std::string> users;      ///< components that have asked for a file of the rule
  std::uint64_t published_for_ms = 0;  ///< time since the first file was published; 0: no file was published
  std::vector<ReaderStatus> readers = {};  ///< in the rule's order
  std::vector<PartlyRead> partly_read = {};
};

/// A file whose burst-buffer logs wait for `sluice recover`.
struct KeptLogs {
  std::string name;       ///< as messages show it
  std::string directory;  ///< the directory of one of the logs
};

/// Packets of one kind that a matcher has sent to the other matchers and received from them.
struct LinkCounters {
  std::uint64_t packets_sent = 0, bytes_sent = 0;
  std::uint64_t packets_received = 0, bytes_received = 0;
};

/// Figures of one matcher.
struct MatcherStatus {
  std::uint32_t rank = 0;
  std::uint32_t node = 0;
  std::uint64_t requests = 0;       ///< messages of its processes
  std::uint64_t landed_bytes = 0;   ///< data that the matcher has fetched from other nodes
  std::vector<LinkCounters> links;  ///< by kind: relay, exchange; empty for a single matcher
};

/// The final figures of a run.
struct StatusReport {
  std::vector<DatasetStatus> datasets;
  std::uint64_t bytes_staged = 0;       ///< on the node that has most
  std::uint64_t bytes_staged_peak = 0;  ///< the largest value that any node ever had
  std::uint64_t bytes_spilled = 0;      ///< on disk now, on all nodes
  std::uint64_t bytes_spilled_ever = 0;
  std::vector<MatcherStatus> matchers;  ///< at the end of a run
  std::vector<std::string> drain_failures;
  std::vector<RuleStatus> rules;       ///< in their order
  std::vector<std::string> connected;  ///< components with a process that has ever connected
  std::vector<OrdinaryFile> ordinary_files;
  std::vector<KeptLogs> kept_logs;
};

}  // namespace sluice::matcher
