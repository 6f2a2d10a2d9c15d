#pragma once
#include <optional>

#include "schema.hpp"

namespace sluice::workflows {

/// Reads how a reader takes the steps of a sequence: all, latest, or a number N.
[[nodiscard]] std::optional<matcher::ReaderMode> read_mode(ValueReader& reader, const NamedValue& value);

/// Reads `steps`, `queue` and `when-full` of a rule. The rule's other keys have been read: what does not go
/// with them is a mistake.
void read_sequence_keys(ValueReader& reader, const Section& section, FileRule& rule);

}  // namespace sluice::workflows
