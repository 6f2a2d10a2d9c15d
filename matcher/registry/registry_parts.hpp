#pragma once
#include <cstdint>
#include <functional>
#include <set>

#include "burst_logs.hpp"
#include "continued_files.hpp"
#include "copies.hpp"
#include "dataset_names.hpp"
#include "dataset_table.hpp"
#include "drains.hpp"
#include "file_rules.hpp"
#include "file_uses.hpp"
#include "gatherings.hpp"
#include "get_waits.hpp"
#include "group_table.hpp"
#include "hopeless_waits.hpp"
#include "job_book.hpp"
#include "kept_variables.hpp"
#include "looks.hpp"
#include "memory_waits.hpp"
#include "node_pools.hpp"
#include "offer_book.hpp"
#include "offer_maker.hpp"
#include "progress.hpp"
#include "published_files.hpp"
#include "read_offers.hpp"
#include "reader_book.hpp"
#include "retention.hpp"
#include "run_history.hpp"
#include "segment_grants.hpp"
#include "sluice/matcher/open_files.hpp"
#include "sluice/matcher/process_table.hpp"
#include "sluice/matcher/registry.hpp"
#include "spare_images.hpp"
#include "staging_memory.hpp"
#include "step_images.hpp"
#include "step_sequences.hpp"

namespace sluice::matcher {

/// The parts of the registry, bottom to top: each part uses only parts above it in this list. Those of this
/// folder find the others here.
struct RegistryParts {
  RegistryParts(RegistryOptions options, SegmentMemory& segments, RegistryAnswers& registry_answers);
  RegistryParts(const RegistryParts&) = delete;
  RegistryParts& operator=(const RegistryParts&) = delete;
  /// Of the matcher by which the process has asked: its own, or the first of its node, which has the files.
  [[nodiscard]] MatcherPlace place_of(const Ticket& ticket, const Process& process) const noexcept;

  RegistryAnswers& answers;
  std::optional<std::uint64_t> held_ms;  ///< for requests that have come together, the time is the same
  std::function<std::uint64_t()> now_ms;
  PackingChoice packing;
  RunHistory history;
  FileRules rules;
  NodePools pools;
  ProcessTable processes;
  OpenFiles files;
  DatasetTable datasets;
  DatasetNames names;
  PublishedFiles published;
  JobBook jobs;
  StepSequences sequences;
  ContinuedFiles continued;
  KeptVariables kept;
  ReaderBook readers;
  FileUses uses;
  Gatherings gatherings;
  Copies copies;
  BurstLogs logs;
  Drains drains;
  ReadOffers reads;
  Retention retention;
  SpareImages spare_images;
  OfferBook offers;
  StagingMemory memory;
  OfferMaker offer_maker;
  SegmentGrants grants;
  MemoryWaits memory_waits;
  GetWaits get_waits;
  StepImages images;
  std::set<std::uint32_t> shortened_rules;  ///< of which the run was told that steps are discarded unread
  GroupTable groups;
  Looks looks;
  HopelessWaits hopeless;
  Progress progress;
};

}  // namespace sluice::matcher
