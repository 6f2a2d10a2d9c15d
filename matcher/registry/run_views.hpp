#pragma once
#include "copies.hpp"
#include "drains.hpp"
#include "file_uses.hpp"
#include "gatherings.hpp"
#include "group_table.hpp"
#include "reader_book.hpp"
#include "retention.hpp"
#include "run_history.hpp"
#include "sluice/matcher/run_view.hpp"
#include "step_sequences.hpp"
#include "wait_texts.hpp"

namespace sluice::matcher {

/// Tells what the run does now. The cost goes with what is open or waiting now:
/// docs/design/watching-a-run.md.
class RunViews {
 public:
  struct Parts {
    const FileRules& rules;
    const NodePools& pools;
    const ProcessTable& processes;
    const DatasetTable& datasets;
    const ReaderBook& readers;
    const Gatherings& gatherings;
    const Copies& copies;
    const Drains& drains;
    const Retention& retention;
    const FileUses& uses;
    const StepSequences& sequences;
    const WaitTexts& texts;
    const RunHistory& history;
  };
  explicit RunViews(const Parts& parts) : parts_(parts) {}

  [[nodiscard]] RunView view(const WatchRequest& request) const;

 private:
  void add_components(RunView& view) const;
  void add_rules(RunView& view) const;
  void add_files(RunView& view) const;
  void add_drains(RunView& view) const;
  [[nodiscard]] FileView view_of(const Step& step) const;

  Parts parts_;
};

}  // namespace sluice::matcher
