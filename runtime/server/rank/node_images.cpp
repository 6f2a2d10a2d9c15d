#include "node_images.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

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
/// Of a file that another matcher has.
constexpr std::uint64_t most_bytes_of_piece = 1U << 20;

bool is_cdf_version(std::uint8_t version) noexcept {
  return version == 1 || version == 2 || version == 5;
}

/// A file on disk cannot be sealed, and is longer than its contents.
bool cut_on_disk(const FileDescriptor& file, std::uint64_t bytes) noexcept {
  return ::ftruncate(file.number(), static_cast<off_t>(bytes)) == 0 &&
         ::fchmod(file.number(), file_mode) == 0;
}

/// Nobody may change a file in memory any more.
void complete(const FileDescriptor& file) {
  // Nobody has mapped it for writing. F_SEAL_WRITE would look at each page, and wait for all processors.
  const int size_seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW;
  if (::fcntl(file.number(), F_ADD_SEALS, size_seals | F_SEAL_FUTURE_WRITE) != 0 &&
      ::fcntl(file.number(), F_ADD_SEALS, size_seals | F_SEAL_WRITE) != 0)
    throw Error(NC_EIO, "the image of a file cannot be sealed");
}

/// The tables of other nodes, by the matcher that has them.
std::map<matcher::MatcherPlace, ReadMemory> tables_elsewhere(const matcher::StepView& view,
                                                             std::uint32_t node) {
  std::map<matcher::MatcherPlace, ReadMemory> requests;
  for (const matcher::LogView& log : view.logs) {
    for (const matcher::LogSegment& table : log.tables) {
      if (matcher::node_of(table.segment) != node)
        requests[matcher::owner_of(table.segment)].tables.push_back(table.segment);
    }
  }
  return requests;
}

bool is_all_here(const matcher::StepView& view, std::uint32_t node) {
  bool is_here = true;
  for_each_segment(view, [&](const matcher::LogSegment& segment) {
    is_here = is_here && matcher::node_of(segment.segment) == node;
  });
  return is_here;
}

/// The tables that come from several matchers.
struct Gathered {
  std::size_t missing = 0;
  Outcome outcome;
  std::vector<TableCopy> tables;

  void add(const std::vector<matcher::SegmentId>& segments, MemoryRead read) {
    --missing;
    if (!read.outcome.is_failure() && read.tables.size() != segments.size())
      read.outcome = {NC_EIO, "another matcher sent fewer request tables than were asked for"};
    if (read.outcome.is_failure()) {
      outcome = std::move(read.outcome);
      return;
    }
    for (std::size_t i = 0; i < segments.size(); ++i)
      tables.push_back({segments[i], std::move(read.tables[i])});
  }
};

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
    return copy_written(step, 0);
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
  base_.neighbours.fetch(segments, [this, step, shared_task] {
    bring_tables(shared_task->view,
                 [this, step, shared_task](const Outcome& outcome, std::vector<TableCopy> tables) {
                   if (outcome.is_failure()) return end(step, {outcome.status, outcome.text, 0});
                   shared_task->tables = std::move(tables);
                   submit(std::move(*shared_task));
                 });
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

/// Another matcher has the file. Its bytes come piece by piece, so that neither loop stands still.
void NodeImages::copy_written(matcher::StepId step, std::uint64_t copied) {
  const FileSource source = *under_way_.at(step).source;
  if (copied == source.bytes) return end(step, {NC_NOERR, {}, copied});
  ReadMemory request;
  request.file = FileRange{step, copied, std::min(most_bytes_of_piece, source.bytes - copied)};
  shared_->reads().ask(base_.nodes.place_of(source.matcher), request,
                       [this, step, copied](MemoryRead read) { take_piece(step, copied, std::move(read)); });
}

void NodeImages::take_piece(matcher::StepId step, std::uint64_t copied, MemoryRead read) {
  const auto order = under_way_.find(step);
  if (order == under_way_.end()) return;
  if (!read.outcome.is_failure() && read.bytes.empty())
    read.outcome = {NC_EIO, "another matcher sent fewer bytes of a file than were asked for"};
  if (read.outcome.is_failure()) return end(step, {read.outcome.status, read.outcome.text, 0});
  const matcher::SegmentId file = order->second.file;
  const std::uint64_t next = copied + read.bytes.size();
  const auto trouble = std::make_shared<int>(0);  // shared by the two functions
  const auto work = [trouble, copied, to = base_.store.descriptor(file), bytes = std::move(read.bytes)] {
    *trouble = write_range(*to, copied, bytes);
  };
  const auto then = [this, trouble, step, next] {
    if (!under_way_.contains(step)) return;
    if (*trouble == 0) return copy_written(step, next);
    end(step, {NC_EIO, std::string("the image of a file cannot be written: ") + std::strerror(*trouble), 0});
  };
  if (matcher::is_spilled(file)) return base_.store.use_disk(work, then);
  work();
  then();
}

/// With all tables at hand, the thread knows of every element who has put it last.
void NodeImages::bring_tables(const StepViewPointer& view, const TablesReceiver& receiver) {
  const auto requests = tables_elsewhere(*view, base_.node());
  if (requests.empty()) return receiver({}, {});
  const auto gathered = std::make_shared<Gathered>();  // shared by the receivers
  gathered->missing = requests.size();
  for (const auto& [owner, request] : requests) {
    shared_->reads().ask(owner, request, [receiver, gathered, segments = request.tables](MemoryRead read) {
      gathered->add(segments, std::move(read));
      if (gathered->missing == 0) receiver(gathered->outcome, std::move(gathered->tables));
    });
  }
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
    if (made.status == NC_NOERR) complete(*base_.store.descriptor(order.mapped().file));
  } catch (const Error& error) {
    outcome = {error.status(), error.what(), 0};
  }
  report(step, order.mapped(), outcome);
}

void NodeImages::complete_on_disk(matcher::StepId step, const ImageOrder& order, const DrainReport& made) {
  const auto is_cut = std::make_shared<bool>(false);  // shared by the two functions
  base_.store.use_disk(
      [is_cut, file = base_.store.descriptor(order.file), bytes = made.bytes] {
        *is_cut = cut_on_disk(*file, bytes);
      },
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
