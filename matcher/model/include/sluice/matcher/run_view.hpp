#pragma once
// What a run does now and has just done, for people: `sluice status`, and the record of a run. The structs
// are also messages. docs/design/watching-a-run.md
#include <cstdint>
#include <string>
#include <vector>

#include "sluice/matcher/status_report.hpp"

namespace sluice::matcher {

/// A process whose rank is not known, for example one that a script has started.
inline constexpr std::int32_t no_rank = -1;

/// A period in which a process did something with a file. All times are of the clock of RunView::now_ms.
struct Activity {
  enum class Kind : std::uint8_t {
    write,        ///< had the file open for writing
    read,         ///< had the file open for reading
    wait_open,    ///< was held in a create or open
    wait_memory,  ///< was held in a put or get until there was memory, or space on a disk
    drain,        ///< the matchers wrote the file to disk
    put,          ///< from the begin of its first put into a step to the end of its last one
    get,          ///< the same for gets
    open,         ///< had the file open for reading by the C library; its bytes are the file's size
  };
  Kind kind = Kind::write;
  std::string component = {};   ///< drain: empty
  std::int32_t rank = no_rank;  ///< in the component's MPI_COMM_WORLD
  std::uint32_t rule = 0;
  std::string file = {};  ///< as messages show it
  std::uint64_t begin_ms = 0, end_ms = 0;
  std::uint64_t bytes = 0;    ///< that it has put and got; drain: written to disk
  std::uint64_t busy_us = 0;  ///< put, get: the time within the calls
};

/// Asks what the run does. Who asks for activities keeps a record: the answer then lists no files.
struct WatchRequest {
  bool has_activities = false;       ///< activities are wanted, too
  std::uint64_t after_activity = 0;  ///< those with a larger number
  /// For the coordinator's progress: the answer lists no files. Waits that look hopeless are looked at again.
  bool is_for_progress = false;
};

struct ComponentView {
  std::string name;
  std::uint32_t processes = 0;  ///< at start; 0: not known
  std::uint32_t connected = 0;  ///< processes that have used coupled files and are there now
  std::uint32_t waiting = 0;    ///< of these: processes that wait, by all their connections
  bool has_connected = false;   ///< a process has ever used coupled files
  bool has_exited = false;
  std::string how = {};  ///< it has exited
};

/// The calls of one component on files of one rule, as far as they have been closed.
struct RuleUse {
  std::uint32_t rule = 0;
  std::string component;
  AccessCounters counters;
};

/// What has been published by one rule.
struct RuleTotals {
  std::uint64_t files = 0;  ///< that were published
  std::uint64_t steps = 0;
  std::uint64_t discarded = 0;  ///< steps
};

struct RuleView {
  std::string pattern;
  std::string writer;
  std::vector<std::string> readers;
  RuleTotals totals;
  RuleStatus use = {};  ///< who has used its files, and how far its readers are
};

/// Processes of one component that have a file open.
struct FileUser {
  std::string component;
  std::uint32_t processes = 0;
  bool is_writing = false;
  std::uint64_t since_ms = 0;  ///< the time since the first of them opened it
};

/// A step of a file that is open, or that a reader has yet to read.
struct FileView {
  std::uint32_t rule = 0;
  std::string name;
  bool is_published = false;
  std::uint64_t bytes = 0;  ///< in memory and on the spill disk
  std::vector<FileUser> users;
  std::vector<std::string> read_by;    ///< readers of which a process has closed it
  std::vector<std::string> unread_by;  ///< readers that are to read it
};

struct NodeView {
  std::uint64_t used_bytes = 0, limit_bytes = 0, peak_bytes = 0;  ///< of staging memory
  std::uint64_t spilled_bytes = 0;                                ///< on disk now
};

/// Processes of one component that copy data of one file in a large put or get.
struct CopyStatus {
  std::string component;
  std::string file;
  bool is_put = false;
  std::uint32_t processes = 0;
  std::uint64_t since_ms = 0;             ///< time since the first of these copies began
  std::vector<std::uint32_t> ranks = {};  ///< the first few of the processes whose ranks are known
};

/// Processes of one component that wait for the same thing.
struct WaitStatus {
  std::string component;
  std::uint32_t processes = 0;
  std::string waits_for;                  ///< "wave_0003.nc from model", "memory for wave_0004.nc"
  std::uint64_t since_ms = 0;             ///< waiting time of the first process
  std::vector<std::uint32_t> ranks = {};  ///< the first few of these processes whose ranks are known
  bool is_doubtful = false;               ///< a file of the same name was published in another directory
};

/// Processes of one component that create or open a dataset together, and have reached the call.
struct GatheringStatus {
  std::string component;
  std::string call;  ///< "open of wave_0003.nc"
  std::uint32_t present = 0;
  std::uint32_t size = 0;             ///< of the communicator
  std::vector<std::uint32_t> absent;  ///< the first few ranks that have not reached the call
  bool are_all_processes = true;      ///< the communicator is the whole component
  bool are_its_ranks = true;          ///< `absent` are ranks of the component, not of the communicator
  std::uint64_t since_ms = 0;         ///< waiting time of the first process
};

/// A step that is being written to its file.
struct DrainStatus {
  std::uint32_t rule = 0;
  std::string name;  ///< as messages show it
  std::uint64_t done_bytes = 0;
  std::uint64_t total_bytes = 0;  ///< 0: not known yet
};

/// A matcher other than matcher 0 that has not answered for some seconds.
struct SilentMatcher {
  std::uint32_t rank = 0;
  std::uint32_t node = 0;
  std::string host;          ///< empty: it has never answered
  std::int64_t process = 0;  ///< its process id there
  std::uint64_t silence_ms = 0;
};

/// The state of a run. Its size goes with what is open or waiting now. What is over is only counted.
struct RunView {
  std::uint64_t now_ms = 0;  ///< since the matchers began, by the clock of matcher 0
  std::vector<ComponentView> components;
  std::vector<RuleView> rules;  ///< in their order
  std::vector<RuleUse> uses;
  std::vector<FileView> files;   ///< first the open ones
  std::uint64_t more_files = 0;  ///< steps that would be in `files` if it had no limit
  std::vector<WaitStatus> waits;
  std::vector<GatheringStatus> gatherings;
  std::vector<CopyStatus> copies;
  std::vector<SilentMatcher> silent;  ///< for the coordinator
  std::vector<NodeView> nodes;
  std::vector<DrainStatus> drains;  ///< the active one
  std::uint64_t waiting_drains = 0;
  std::vector<Activity> activities;
  std::uint64_t last_activity = 0;    ///< the number of the last one of `activities`, or of the run
  std::uint64_t lost_activities = 0;  ///< that were wanted, and are not kept any more
};

}  // namespace sluice::matcher
