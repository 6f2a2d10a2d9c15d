#include "node_drains.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "memory_reads.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/wire.hpp"
#include "task_segments.hpp"

namespace sluice::runtime {

NodeDrains::NodeDrains(MatcherBase& base, StepViews& views, PublishedFiles& published)
    : base_(base),
      views_(views),
      published_(published),
      worker_(base.loop, {[this](matcher::StepId step, const matcher::DrainProgress& progress) {
                            base_.tree.send_up(CopyNote{step, progress});
                          },
                          [this](matcher::StepId step, DrainStage stage, const DrainReport& report) {
                            note_stage(step, stage, report);
                          }}) {}

void NodeDrains::take(matcher::StepId step, DrainOrder& order) {
  const CachedStep* const known = views_.find(step);
  if (known == nullptr) throw Error(NC_EIO, "the registry has not described the step");
  DrainTask task{known->view, std::move(order), {}};
  const bool is_whole =
      task.order.keep.variables.empty() || task.order.version == 0;  // 0: it has no variables
  DrainTask& known_task = tasks_.insert_or_assign(step, std::move(task)).first->second;
  try {
    if (is_whole) known_task.file = published_.contents(step);
  } catch (const Error& error) {
    return fail(step, error);
  }
  const auto segments = name_segments(known_task, base_.node());
  base_.neighbours.fetch(segments, [this, step] { start(step); });
}

/// Not at once: the registry may be in the middle of a call.
void NodeDrains::fail(matcher::StepId step, const Error& error) {
  if (tasks_.at(step).order.parts == 1) tasks_.erase(step);
  const DrainReport report{error.status(), error.what(), 0};
  boost::asio::post(base_.loop, [this, step, report] { base_.tree.send_up(CopyNote{step, report}); });
}

/// The step's segments on this node are in the store.
void NodeDrains::start(matcher::StepId step) {
  DrainTask& task = tasks_.at(step);
  try {
    find_segments(task, base_.store);
  } catch (const Error& error) {
    return fail(step, error);
  }
  if (task.file) files_[step] = task.order.path;
  if (task.order.parts == 1)
    return worker_.submit(DrainStage::whole, std::move(tasks_.extract(step).mapped()));
  if (task.order.part == 0) return worker_.submit(DrainStage::make, {task.view, task.order, {}});
  send_tables(step);
}

/// The other nodes need this node's request tables to know which of two puts is later.
void NodeDrains::send_tables(matcher::StepId step) {
  DrainTables tables;
  const DrainTask& task = tasks_.at(step);
  tables.partial = task.partial;
  const std::uint32_t node = base_.node();
  for (const matcher::LogView& log : task.view->logs) {
    for (const matcher::LogSegment& table : log.tables) {
      if (matcher::node_of(table.segment) == node)
        tables.tables.push_back({table.segment, used_part(base_.store.contents(table.segment))});
    }
  }
  base_.tree.send_up(CopyNote{step, std::move(tables)});
}

void NodeDrains::take(matcher::StepId step, DrainTables& tables) {
  DrainTask& task = tasks_.at(step);
  task.partial = std::move(tables.partial);
  DrainTask work{task.view, task.order, std::exchange(task.segments, {}), std::move(tables.tables),
                 task.partial};
  worker_.submit(DrainStage::part, std::move(work));
}

void NodeDrains::take(matcher::StepId step, const DrainEnd& end) {
  DrainTask task = std::move(tasks_.extract(step).mapped());
  if (task.order.part != 0) return;
  task.segments.clear();
  worker_.submit(end.are_parts_written ? DrainStage::finish : DrainStage::remove, std::move(task));
}

void NodeDrains::note_stage(matcher::StepId step, DrainStage stage, const DrainReport& report) {
  if (stage == DrainStage::make && report.status == NC_NOERR) {
    tasks_.at(step).partial = report.partial;
    return send_tables(step);
  }
  if (const auto file = files_.extract(step); !file.empty() && report.status == NC_NOERR)
    published_.note_kept(step, file.mapped());
  if (stage == DrainStage::whole && report.status == NC_NOERR) published_.remove_saved(step);
  base_.tree.send_up(CopyNote{step, report});
}

}  // namespace sluice::runtime
