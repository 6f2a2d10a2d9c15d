// Steps that this matcher writes to files.
#include <fcntl.h>

#include <boost/asio/post.hpp>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "matcher_server.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime {
namespace {

/// A link at the path stays: the file that it names is replaced.
std::string behind_links(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_symlink(path, error)) return path;
  const auto target = std::filesystem::weakly_canonical(path, error);
  return error ? path : target.string();
}

FileDescriptor duplicate(int descriptor) {
  FileDescriptor copy(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  if (!copy) throw IoError(NC_EIO, errno, "a segment", "duplicate the descriptor of");
  return copy;
}

}  // namespace

void MatcherRank::Server::begin_drain(const RelayItem& item) {
  try {
    const KnownStep* const known = known_steps_.find(item.number);
    if (known == nullptr) throw Error(NC_EIO, "the registry did not tell of the step");
    DrainTask task{known->view, decode<DrainOrder>(item.fields), {}};
    task.order.path = behind_links(task.order.path);
    for (const matcher::LogView& log : known->view->logs) {
      for (const auto* const segments : {&log.tables, &log.data}) {
        for (const matcher::LogSegment& segment : *segments)
          task.segments.push_back(
              {segment.segment, segment.bytes, duplicate(store_.descriptor(segment.segment))});
      }
    }
    drain_worker_.submit(std::move(task));
  } catch (const Error& error) {
    // Later: the registry may be in the middle of something.
    boost::asio::post(loop_,
                      [this, step = item.number, report = DrainReport{error.status(), error.what(), 0}] {
                        end_drain(step, report);
                      });
  }
}

void MatcherRank::Server::tell_drain(matcher::StepId step, const matcher::DrainProgress& progress) {
  RelayItem item;
  item.kind = RelayItemKind::drain_progress;
  item.number = step;
  item.bytes = progress.done_bytes;
  item.wanted_bytes = progress.total_bytes;
  tree_.send_up(std::move(item));
}

void MatcherRank::Server::end_drain(matcher::StepId step, const DrainReport& report) {
  RelayItem item;
  item.kind = RelayItemKind::drained;
  item.number = step;
  item.fields = encode(report);
  tree_.send_up(std::move(item));
}

}  // namespace sluice::runtime
