#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "awaited_reads.hpp"
#include "drain_worker.hpp"
#include "matcher_base.hpp"
#include "published_files.hpp"
#include "step_views.hpp"

namespace sluice::runtime {

class SharedGets;

/// Makes images as the registry orders: a step as a file of its own, in memory or on disk, with the bytes of
/// the file that it stands for. A thread makes one after the other; small ones are made at once.
class NodeImages {
 public:
  /// `shared`: for data of other matchers; null: there is one matcher only. `written`: has the images of
  /// steps that were written as files here.
  NodeImages(MatcherBase& base, StepViews& views, SharedGets* shared, PublishedFiles& published);
  ~NodeImages();

  /// Sends an ImageReport, later.
  void take(matcher::StepId step, const ImageOrder& order);

 private:
  void begin(matcher::StepId step, const ImageOrder& order);
  [[nodiscard]] bool give_written(matcher::StepId step, const ImageOrder& order);
  void copy_written(matcher::StepId step, const ImageOrder& order);
  void submit(DrainTask task);
  [[nodiscard]] DrainReport make_here(const DrainTask& task);
  void end(matcher::StepId step, const DrainReport& report);
  void complete_on_disk(matcher::StepId step, const ImageOrder& order, const DrainReport& made);
  void report(matcher::StepId step, const ImageOrder& order, const DrainReport& report);

  MatcherBase& base_;
  StepViews& views_;
  SharedGets* shared_;
  PublishedFiles& published_;
  std::shared_ptr<AwaitedReads> remote_;             ///< shared with the tasks; null: one matcher only
  std::map<matcher::StepId, ImageOrder> under_way_;  ///< the registry orders one of a step at a time
  storage::PosixFileSystem system_;
  DrainWorker worker_;
};

}  // namespace sluice::runtime
