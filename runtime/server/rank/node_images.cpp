#include "node_images.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <string>
#include <utility>
#include <vector>

#include "file_copies.hpp"
#include "memory_file.hpp"
#include "shared_gets.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/formats/netcdf4.hpp"
#include "sluice/storage/netcdf4_file.hpp"
#include "task_segments.hpp"

namespace sluice::runtime {

namespace {

constexpr mode_t file_mode = 0644;
/// Images of at most this size are made by the loop.
constexpr std::uint64_t most_bytes_here = 128U << 10;

bool is_cdf_version(std::uint8_t version) noexcept {
  return version == 1 || version == 2 || version == 5;
}

/// A file on disk cannot be sealed, and is longer than its contents. `has_facts`: of the file that it is.
bool cut_on_disk(const FileDescriptor& file, std::uint64_t bytes, bool has_facts) noexcept {
  return ::ftruncate(file.number(), static_cast<off_t>(bytes)) == 0 &&
         (has_facts || ::fchmod(file.number(), file_mode) == 0);
}

bool is_all_here(const matcher::StepView& view, std::uint32_t node) {
  bool is_here = true;
  for_each_segment(view, [&](const matcher::LogSegment& segment) {
    is_here = is_here && matcher::node_of(segment.segment) == node;
  });
  return is_here;
}

}  // namespace

NodeImages::NodeImages(MatcherBase& base, StepViews& views, SharedGets* shared, PublishedFiles& published)
    : base_(base),
      views_(views),
      shared_(shared),
      published_(published),
      remote_(shared == nullptr ? nullptr : std::make_shared<AwaitedReads>(base.loop, shared->reads())),
      worker_(base.loop,
              {[](matcher::StepId, const matcher::DrainProgress&) {},
               [this](matcher::StepId step, DrainStage, const DrainReport& report) { end(step, report); }}) {}

/// The thread may wait for other matchers.
NodeImages::~NodeImages() {
  if (remote_ != nullptr) remote_->end();
}

void NodeImages::take(matcher::StepId step, const ImageOrder& order) {
  try {
    begin(step, order);
  } catch (const Error& error) {
    report(step, order, {error.status(), error.what(), 0});
  }
}

void NodeImages::begin(matcher::StepId step, const ImageOrder& order) {
  if (give_written(step, order)) return;
  if (order.source && shared_ != nullptr) {
    under_way_.insert_or_assign(step, order);
    return copy_written(step, order);
  }
  if (!is_cdf_version(order.version)) throw Error(NC_EIO, "no matcher of the run has its bytes any more");
  const CachedStep* const known = views_.find(step);
  if (known == nullptr) throw Error(NC_EIO, "the registry did not tell of the step");
  DrainTask task{known->view, {}, {}};
  task.order.path = known->view->name;
  task.order.version = order.version;
  task.shows_all = order.shows_all;
  task.remote = remote_;
  task.image = base_.store.descriptor(order.file);
  under_way_.insert_or_assign(step, order);
  const auto segments = name_segments(task, base_.node());
  // Shared with the callbacks, which must be copyable.
  const auto shared_task = std::make_shared<DrainTask>(std::move(task));
  const auto take_tables = [this, step, shared_task](const Outcome& outcome, std::vector<TableCopy> tables) {
    if (outcome.is_failure()) return end(step, {outcome.status, outcome.text, 0});
    shared_task->tables = std::move(tables);
    submit(std::move(*shared_task));
  };
  base_.neighbours.fetch(segments, [this, shared_task, take_tables] {
    if (shared_ == nullptr) return take_tables({}, {});
    bring_tables(shared_->reads(), *shared_task->view, base_.node(), take_tables);
  });
}

/// The written file itself becomes the image. Its memory counts as the step's data already, so a segment on
/// disk for the image stays empty.
bool NodeImages::give_written(matcher::StepId step, const ImageOrder& order) {
  const auto file = published_.contents(step);
  if (!file) return false;
  seal_for_others(*file);
  struct stat facts {};
  if (::fstat(file->number(), &facts) != 0) throw Error(NC_EIO, "the file cannot be looked at");
  const auto bytes = static_cast<std::uint64_t>(facts.st_size);
  base_.store.replace_image(order.file, file, bytes);
  report(step, order, {NC_NOERR, {}, bytes});
  return true;
}

/// Another matcher has the file.
void NodeImages::copy_written(matcher::StepId step, const ImageOrder& order) {
  const FileSource source = *order.source;
  const FileWork on_disk = [this](auto work, auto then) {
    base_.store.use_disk(std::move(work), std::move(then));
  };
  const SharedFile image = base_.store.descriptor(order.file);
  const auto take = [this, step, image, bytes = source.bytes](Outcome outcome, const FileFacts& facts) {
    if (!under_way_.contains(step)) return;
    if (!outcome.is_failure() && facts.bytes < bytes)
      outcome = {NC_EIO, "another matcher sent fewer bytes of a file than were asked for"};
    if (!outcome.is_failure()) set_facts(*image, facts);
    end(step, {outcome.status, outcome.text, bytes});
  };
  copy_file(shared_->reads(), base_.nodes.place_of(source.matcher), {step, 0, 0, source.bytes}, image,
            matcher::is_spilled(order.file) ? on_disk : work_at_once, take);
}

void NodeImages::submit(DrainTask task) {
  const matcher::StepId step = task.view->step;
  try {
    find_segments(task, base_.store);
    const matcher::SegmentId file = under_way_.at(step).file;
    const bool is_small = !matcher::is_spilled(file) && base_.store.extent(file).bytes <= most_bytes_here;
    if (is_small && !formats::is_netcdf4(task.view->header) && is_all_here(*task.view, base_.node()))
      return end(step, make_here(task));
    worker_.submit(DrainStage::image, std::move(task));
  } catch (const Error& error) {
    end(step, {error.status(), error.what(), 0});
  }
}

/// It takes less time than to wake the thread.
DrainReport NodeImages::make_here(const DrainTask& task) {
  return {NC_NOERR, {}, make_image(system_, task, [](const matcher::DrainProgress&) {})};
}

void NodeImages::end(matcher::StepId step, const DrainReport& made) {
  const auto order = under_way_.extract(step);
  if (order.empty()) return;
  DrainReport outcome = made;
  try {
    if (made.status == NC_NOERR && matcher::is_spilled(order.mapped().file))
      return complete_on_disk(step, order.mapped(), made);
    if (made.status == NC_NOERR) seal_for_others(*base_.store.descriptor(order.mapped().file));
  } catch (const Error& error) {
    outcome = {error.status(), error.what(), 0};
  }
  report(step, order.mapped(), outcome);
}

void NodeImages::complete_on_disk(matcher::StepId step, const ImageOrder& order, const DrainReport& made) {
  const auto is_cut = std::make_shared<bool>(false);  // shared by the two functions
  base_.store.use_disk(
      [is_cut, file = base_.store.descriptor(order.file), bytes = made.bytes,
       has_facts = order.source.has_value()] { *is_cut = cut_on_disk(*file, bytes, has_facts); },
      [this, is_cut, step, order, made] {
        report(step, order,
               *is_cut ? made : DrainReport{NC_EIO, "the image of a file cannot be cut to its length", 0});
      });
}

/// Later: the registry may be in the middle of something.
void NodeImages::report(matcher::StepId step, const ImageOrder& order, const DrainReport& report) {
  boost::asio::post(base_.loop, [this, step, file = order.file, report] {
    base_.tree.send_up(CopyNote{step, ImageReport{file, report}});
  });
}

}  // namespace sluice::runtime
