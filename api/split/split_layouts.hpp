#pragma once
#include <map>
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
  /// Null otherwise.
  formats::MasterReader* subfiles = nullptr;
};

/// A layout that keeps the data of one dataset in several files, of which the first is the master.
class SplitLayout {
 public:
  virtual ~SplitLayout() = default;
  /// Whether the program asks for it, for a dataset that it creates.
  [[nodiscard]] virtual bool is_asked(const Hints& hints) const = 0;
  /// Whether the file is a master of this layout, and its other files are to be used.
  [[nodiscard]] virtual bool has(const FoundMaster& found, const Hints& hints) const = 0;
  /// See create_file and open_file.
  [[nodiscard]] virtual OpenedDriver create(const OpenRequest& request) const = 0;
  [[nodiscard]] virtual OpenedDriver open(const OpenRequest& request, FoundMaster found) const = 0;
  /// Removes the other files, if this is a master of the layout. One process calls it.
  virtual void remove_files_of(const std::string& master) const = 0;
  /// Whether rules name it so (`through`).
  [[nodiscard]] virtual bool is_named(matcher::Through through) const noexcept = 0;
  /// Adds to the program's hints that a rule asks for it. What the program has chosen within the layout
  /// stays. `nodes`: of the writers.
  virtual void ask(Hints& hints, int nodes) const = 0;
};

/// All layouts, in the order in which hints are looked at.
[[nodiscard]] std::span<const SplitLayout* const> split_layouts() noexcept;

}  // namespace sluice::api
