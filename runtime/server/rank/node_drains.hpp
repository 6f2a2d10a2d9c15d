#pragma once
#include <map>
#include <string>

#include "drain_worker.hpp"
#include "matcher_base.hpp"
#include "published_files.hpp"
#include "step_views.hpp"

namespace sluice::runtime {

/// Drains steps to files when the registry orders it.
class NodeDrains {
 public:
  NodeDrains(MatcherBase& base, StepViews& views, PublishedFiles& published);

  /// Not of an image. Throws Error(NC_EIO) when this matcher does not have the step's view.
  void take(MakeCopy& copy) {
    std::visit([&](auto& what) { take(copy.step, what); }, copy.what);
  }

 private:
  void take(matcher::StepId step, DrainOrder& order);
  void take(matcher::StepId step, DrainTables& tables);
  void take(matcher::StepId step, const DrainEnd& end);
  void take(matcher::StepId /*step*/, const ImageOrder& /*order*/) {}  // NodeImages has it
  void fail(matcher::StepId step, const Error& error);
  void start(matcher::StepId step);
  void send_tables(matcher::StepId step);
  void note_stage(matcher::StepId step, DrainStage stage, const DrainReport& report);

  MatcherBase& base_;
  StepViews& views_;
  PublishedFiles& published_;
  std::map<matcher::StepId, DrainTask> tasks_;    ///< drains that this matcher takes part in
  std::map<matcher::StepId, std::string> files_;  ///< the paths of those that only copy a file
  DrainWorker worker_;
};

}  // namespace sluice::runtime
