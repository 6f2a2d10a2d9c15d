#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

/// A line KEY=VALUE.
struct IniEntry {
  workflows::Position position;  ///< of its key
  std::string key;               ///< in small letters
  std::string value;             ///< without quotes and comment
};

/// A line [NAME], and the entries up to the next one.
struct IniSection {
  workflows::Position position;
  std::string name;  ///< in small letters
  std::vector<IniEntry> entries;
};

/// Divides a text into sections; a name may occur several times. `#`, `;` and `!` begin a comment, at the
/// beginning of a line or behind a blank, outside of quotes. Lines that it cannot read are added to
/// `mistakes`.
[[nodiscard]] std::vector<IniSection> read_ini(std::string_view text,
                                               std::vector<workflows::Mistake>& mistakes);

}  // namespace sluice::coordinator
