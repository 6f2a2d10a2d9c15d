#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::matcher {

/// Counters of one process for one open or create, for the summary.
struct AccessCounters {
  std::uint64_t puts = 0, put_bytes = 0, gets = 0, get_bytes = 0;
  std::uint64_t open_wait_us = 0;   ///< time spent waiting in open/create
  std::uint64_t replayed_gets = 0;  ///< of the gets, those that needed no matching

  AccessCounters& operator+=(const AccessCounters& other) noexcept {
    puts += other.puts, put_bytes += other.put_bytes, gets += other.gets, get_bytes += other.get_bytes;
    replayed_gets += other.replayed_gets, open_wait_us += other.open_wait_us;
    return *this;
  }
};

/// Figures of one dataset key, for the summary and the progress line.
struct DatasetStatus {
  std::uint32_t rule = 0;
  std::string tail;
  std::uint32_t steps_published = 0;
  std::uint32_t steps_discarded = 0;
  AccessCounters counters;
  std::uint64_t bytes_staged = 0;   ///< in memory now
  std::uint64_t bytes_kept = 0;     ///< written to files on disk
  std::uint64_t bytes_spilled = 0;  ///< on disk, in segments, ever
  std::uint32_t steps_lost = 0;     ///< their writers ended before they had closed them
};

/// A file that a component creates or opens by PnetCDF as an ordinary one, although a rule covers it for
/// others, or although rules name the component.
struct OrdinaryFile {
  static constexpr std::uint32_t no_rule = ~std::uint32_t{0};
  std::uint32_t rule = no_rule;  ///< that covers the path, and does not name the component
  std::string path;              ///< absolute
  bool is_written = false;
  std::int64_t modified_s = 0;  ///< of the file that it found there, since 1970; 0: there was none
  std::string component = {};   ///< as the registry knows it
};

/// Who has used the files of a rule.
struct RuleStatus {
  std::vector<std::string> users;      ///< components that have asked for any of them
  std::uint64_t published_for_ms = 0;  ///< since the first was published; 0: none was
};

/// A file whose burst-buffer logs wait for `sluice recover`.
struct KeptLogs {
  std::string tail;
  std::string directory;  ///< of one of the logs
};

/// A step that is being written to its file, or is to be.
struct DrainStatus {
  std::uint32_t rule = 0;
  std::string tail;
  bool is_active = false;
  std::uint64_t done_bytes = 0;   ///< active
  std::uint64_t total_bytes = 0;  ///< active; 0: not known yet
};

/// Processes of one component that wait for the same thing.
struct WaitStatus {
  std::string component;
  std::uint32_t processes = 0;
  std::string waits_for;       ///< "wave_0003.nc from model", "memory for wave_0004.nc"
  std::uint64_t since_ms = 0;  ///< for how long the first of them has been waiting
};

/// What a matcher has sent to the others and received from them, of one kind of packets.
struct LinkCounters {
  std::uint64_t packets_sent = 0, bytes_sent = 0;
  std::uint64_t packets_received = 0, bytes_received = 0;
};

/// Figures of one matcher.
struct MatcherStatus {
  std::uint32_t rank = 0;
  std::uint32_t node = 0;
  std::uint64_t requests = 0;       ///< messages of its processes
  std::uint64_t landed_bytes = 0;   ///< of data that it has fetched from other nodes
  std::vector<LinkCounters> links;  ///< by kind: relay, exchange; none when it is alone
};

struct StatusReport {
  std::vector<DatasetStatus> datasets;
  std::vector<WaitStatus> waits;
  std::uint64_t bytes_staged = 0;       ///< on the node that has most
  std::uint64_t bytes_staged_peak = 0;  ///< on the node that ever had most
  std::uint64_t bytes_spilled = 0;      ///< on disk now, of all nodes
  std::uint64_t bytes_spilled_ever = 0;
  std::vector<MatcherStatus> matchers;  ///< at the end of a run
  std::vector<DrainStatus> drains;      ///< in their order
  std::vector<std::string> drain_failures;
  std::uint32_t components_ended = 0;  ///< of which all has been taken that they sent
  std::vector<RuleStatus> rules;       ///< in their order
  std::vector<std::string> connected;  ///< components of which a process has ever connected
  std::vector<OrdinaryFile> ordinary_files;
  std::vector<KeptLogs> kept_logs;
};

}  // namespace sluice::matcher
