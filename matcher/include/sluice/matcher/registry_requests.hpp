#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "sluice/matcher/dataset_key.hpp"
#include "sluice/matcher/group.hpp"
#include "sluice/matcher/status_report.hpp"
#include "sluice/matcher/step.hpp"

namespace sluice::matcher {

/// A create call.
struct CreateRequest {
  DatasetKey key;
  Member member;
  bool no_clobber = false;
  std::uint8_t version = 1;
  std::string path = {};  ///< absolute, of the file that the dataset stands for
};

struct OpenRequest {
  DatasetKey key;
  Member member;
  std::string path = {};  ///< open_write, where the data is in files: as in CreateRequest
};

struct SegmentRequest {
  StepId step = 0;
  SegmentUse use = SegmentUse::data;
  std::uint64_t bytes = 0;
  std::uint64_t wanted_bytes = 0;  ///< better so many, if they are there without a wait
};

/// What is asked for to land in.
struct LandingSize {
  std::uint64_t bytes = 0;
  std::uint64_t wanted_bytes = 0;  ///< better so many
  bool is_ahead = false;           ///< nobody waits for it yet
};

/// A process's report at its close.
struct CloseRequest {
  StepId step = 0;
  AccessCounters counters;
};

/// A writer's report: what it wrote, as far as the registry needs it.
struct PublishRequest {
  StepId step = 0;
  std::int64_t record_count = 0;
  AccessCounters counters;
  LogPattern pattern = {};
  std::vector<LogRange> ranges = {};
};

/// A writer's report at ncmpi_sync.
struct SyncRequest {
  StepId step = 0;
  SyncPoint point;
};

/// A get that waits for puts of a step in progress (publish: write).
struct GetWait {
  Ticket ticket;
  ProcessId process{};
  StepId step = 0;
  std::string text;  ///< what it waits for: "'wave.nc' (variable h)"
  std::uint64_t since_ms = 0;
};

/// How far a drain is.
struct DrainProgress {
  std::uint64_t done_bytes = 0;
  std::uint64_t total_bytes = 0;
};

/// How a drain has ended.
struct DrainOutcome {
  int status = 0;    ///< NC_NOERR: the file is there, and on storage
  std::string text;  ///< why not
  std::uint64_t bytes = 0;
};

/// What rank 0 tells at enddef.
struct HeaderRequest {
  StepId step = 0;
  std::vector<std::byte> header;
  Fingerprint structure = {};
};

}  // namespace sluice::matcher
