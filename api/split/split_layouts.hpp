#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>

#include "header_probe.hpp"
#include "open_driver.hpp"
#include "sluice/formats/subfile_master.hpp"
#include "sluice/matcher/dataset_key.hpp"

namespace sluice::api {

using Hints = std::map<std::string, std::string>;

/// What was found at the path of a dataset.
struct FoundMaster {
  HeaderProbe look;
  /// The file is a master of subfiles, which the program wants: the parts of its header that `look` lacks.
  /// Then only rank 0 has a header in `look`. Null otherwise.
  formats::MasterReader* subfiles = nullptr;
};

/// A layout that keeps the data of one dataset in several files, of which the first is the master.
struct SplitLayout {
  /// Whether the program asks for it, for a dataset that it creates.
  bool (*is_asked)(const Hints& hints);
  /// Whether the file is a master of this layout, and its other files are to be used. All ranks find the
  /// same.
  bool (*has)(const FoundMaster& found, const Hints& hints);
  /// See create_file and open_file.
  OpenedDriver (*create)(const OpenRequest& request);
  OpenedDriver (*open)(const OpenRequest& request, FoundMaster found);
  /// Removes the other files, if this is a master of the layout. One process calls it.
  void (*remove_files_of)(const std::string& master);
  /// How rules name it (`through`); none: only hints do.
  std::optional<matcher::Through> through = std::nullopt;
  /// Adds to the program's hints that a rule asks for it. What the program has chosen within the layout
  /// stays. `nodes`: of the writers. Null where rules do not name it.
  void (*ask)(Hints& hints, int nodes) = nullptr;
};

/// All layouts, in the order in which create and open look for them.
[[nodiscard]] std::span<const SplitLayout> split_layouts() noexcept;

}  // namespace sluice::api
