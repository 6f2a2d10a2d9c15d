#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>

#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::runtime {

/// Tells when a descriptor for writing is closed for the last time, in whatever process and way: by a call,
/// by exec, by the end of the process, or by the end of a mapping. The kernel tells it (inotify), so no
/// process has to be asked.
class FileWatch {
 public:
  /// `closed` is called from the loop with the number that add() has returned.
  FileWatch(boost::asio::io_context& loop, std::function<void(int watch)> closed);
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  /// Throws IoError(NC_ENFILE): the system has no watch left.
  [[nodiscard]] int add(const FileDescriptor& file);
  void remove(int watch) noexcept;
  /// Calls `closed` for what has happened so far.
  void take_news();

 private:
  void listen();

  std::function<void(int watch)> closed_;
  FileDescriptor inotify_;
  boost::asio::posix::stream_descriptor news_;
};

}  // namespace sluice::runtime
