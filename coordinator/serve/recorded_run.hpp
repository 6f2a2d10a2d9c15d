#pragma once
#include <filesystem>
#include <vector>

#include "json_writer.hpp"
#include "sluice/runtime/protocol.hpp"
#include "timeline.hpp"

namespace sluice::coordinator {

/// What a run that has ended was at its end, in the form of one that goes on.
[[nodiscard]] runtime::RunView view_of(const Timeline& timeline);

/// The files that have steps of the run, the newest first; also those that are not there any more. Empty
/// where the run has no record of its steps.
[[nodiscard]] std::vector<runtime::PublishedFile> kept_files(const std::filesystem::path& log_directory);

/// Memory, and bytes put and got a second, over the time of the run: a list for the page.
void write_history(JsonWriter& json, const Timeline& timeline);

}  // namespace sluice::coordinator
