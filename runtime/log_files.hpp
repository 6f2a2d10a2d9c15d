#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "sluice/matcher/segment_pool.hpp"
#include "sluice/runtime/file_descriptor.hpp"
#include "sluice/storage/file_system.hpp"

namespace sluice::runtime {

/// The burst-buffer logs whose data is in segments of this matcher. While they are here they are locked, so
/// that `sluice recover` leaves them alone. When the last segment of one has gone, what it holds is in its
/// file or not wanted, and its files are removed, unless it is kept.
class LogFiles {
 public:
  /// The segment is a part of this log's data. Returns the data file, shared by all its segments. Throws
  /// IoError where the log cannot be opened.
  [[nodiscard]] std::shared_ptr<const FileDescriptor> add(matcher::SegmentId segment,
                                                          const matcher::LogPlace& place);
  /// The segment is no more.
  void release(matcher::SegmentId segment) noexcept;
  /// The log that the segment is or was a part of; one that is not known any more is left as it is.
  void keep(matcher::SegmentId segment, bool is_kept) noexcept;
  /// Removes all that are not kept.
  void remove_all() noexcept;

 private:
  struct Log {
    std::unique_ptr<storage::File> lock;         ///< the metadata log
    std::shared_ptr<const FileDescriptor> data;  ///< shared by those who map it
    std::size_t segments = 0;                    ///< that are in use
    bool is_kept = false;                        ///< `sluice recover` may need it
    bool is_wanted = false;                      ///< its user wants it in any case
    [[nodiscard]] bool may_go() const noexcept { return !is_kept && !is_wanted; }
  };
  using Logs = std::map<std::string, Log>;  // by the path of the metadata log

  static void remove(const std::string& metadata_path, const Log& log) noexcept;
  void settle(Logs::iterator log) noexcept;

  Logs logs_;
  std::map<matcher::SegmentId, std::string> log_of_;
};

}  // namespace sluice::runtime
