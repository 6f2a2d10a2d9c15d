#pragma once
#include <cstddef>
#include <optional>
#include <string>

#include "process_samples.hpp"
#include "sluice/runtime/protocol.hpp"

namespace sluice::coordinator {

/// What the whole run has put and got so far, and at which rates.
struct Traffic {
  std::uint64_t put_bytes = 0, get_bytes = 0, opened_bytes = 0;
  double put_rate = 0, get_rate = 0;  ///< bytes a second
};
/// The rates are those since `earlier`, or since the beginning of the run.
[[nodiscard]] Traffic traffic_of(const runtime::RunView& view,
                                 const std::optional<runtime::RunView>& earlier = std::nullopt);

/// What a run does now, in lines for a terminal: components, waits as sentences, memory, files by rule,
/// files. `earlier`: an earlier view, for the rates. `states`: own_states(). Of long blocks, `most_lines`
/// shows the beginning.
[[nodiscard]] std::string describe_status(const runtime::RunView& view,
                                          const std::optional<runtime::RunView>& earlier = std::nullopt,
                                          const ProcessStates& states = {},
                                          std::size_t most_lines = std::size_t{1} << 20);

/// The same as JSON, on one line. `name`, `process`: of the run.
[[nodiscard]] std::string status_as_json(const runtime::RunView& view, const std::string& name,
                                         std::int64_t process,
                                         const std::optional<runtime::RunView>& earlier = std::nullopt,
                                         const ProcessStates& states = {});

/// The text with lines cut to `columns` characters, and at most `lines` of them.
[[nodiscard]] std::string fit_to_screen(const std::string& text, std::size_t columns, std::size_t lines);

}  // namespace sluice::coordinator
