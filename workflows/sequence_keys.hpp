#pragma once
#include <optional>

#include "schema.hpp"

namespace sluice::workflows {

/// Reads how a reader takes the steps of a sequence: all, latest, or a number N.
[[nodiscard]] std::optional<matcher::ReaderMode> read_mode(ValueReader& reader, const NamedValue& value);

/// Completes the keys of a rule about sequences of steps. All keys of the rule have been read: what does not
/// go with `steps`, `queue`, `when-full` or modes is a mistake.
void check_sequence_keys(ValueReader& reader, const Section& section, FileRule& rule);

}  // namespace sluice::workflows
