#pragma once
// The visible part of a step while it is written, and the end of a step: complete, cut off, or discarded.
// docs/design/reading.md.
#include <cstdint>
#include <string>

#include "memory_waits.hpp"

namespace sluice::matcher {

struct RegistryParts;

void take_header(Step& step, HeaderRequest request);
/// A writer has closed the step, and reports its puts. Returns what counts as its use.
FileUse note_closed(RegistryParts& parts, GroupMembership writer, PublishRequest&& request);
/// A writer has called ncmpi_sync. Returns true for the last writer: readers then see the puts of all
/// writers.
bool note_synced(RegistryParts& parts, GroupMembership writer, const SyncPoint& point);

/// All writers have closed the step.
void complete_step(RegistryParts& parts, Step& step);
/// All processes of the group have finished with the step.
void end_written(RegistryParts& parts, Step& step);
/// The step, of a former run, is published again.
void publish_again(RegistryParts& parts, Step& step);
/// The step ends before its writers have closed it. It keeps the part that readers could see, or it is
/// discarded.
void end_unfinished(RegistryParts& parts, Step& step, const std::string& reason);
/// The same, because a writer has ended.
void end_by_death(RegistryParts& parts, Step& step, const std::string& reason);
/// The same: what the writer has written cannot be published.
void lose_step(RegistryParts& parts, Step& step, const std::string& reason);
/// Counts a step that is lost.
void note_lost(RegistryParts& parts, Component& writer, const LostStep& lost);
/// The writer is started again: what it had not published is gone, and not lost.
void forget_lost(RegistryParts& parts, const Component& writer);
/// The name was removed. Returns whether something was being written there: its writers go on without it.
bool take_name(RegistryParts& parts, const DatasetKey& key);
/// The step was not begun: the file is unchanged.
void withdraw_step(RegistryParts& parts, Step& step);

}  // namespace sluice::matcher
