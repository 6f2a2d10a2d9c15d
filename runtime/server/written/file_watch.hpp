#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::runtime {

/// Tells when a descriptor for writing is closed for the last time, in whatever process and way: by a call,
/// by exec, by the end of the process, or by the end of a mapping. The kernel tells it (inotify), so no
/// process has to be asked.
class FileWatch {
 public:
  /// `closed` is called from the loop with the number that add() has returned; once too often where the
  /// kernel has dropped some of its news.
  FileWatch(boost::asio::io_context& loop, std::function<void(int watch)> closed);
  ~FileWatch();
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

  /// Throws IoError(NC_ENFILE): the system has no watch left.
  [[nodiscard]] int add(const FileDescriptor& file);
  /// The kernel is asked only if the file is still watched after a moment: most files are written and closed
  /// within one, and their processes tell. Until then, and where the system has no watch left, the file is
  /// looked at from time to time, and `closed` is called when nobody can write to it. The descriptor stays
  /// the caller's, who keeps it open until remove().
  [[nodiscard]] int add_later(const FileDescriptor& file);
  /// The kernel is asked now: the file's process will tell before it closes it, and not after that.
  void ask_early(int watch);
  void remove(int watch) noexcept;
  /// Calls `closed` for what has happened so far.
  void take_news();

 private:
  /// A file that the kernel does not watch.
  struct Young {
    int watch = -1;
    const FileDescriptor* file = nullptr;
  };

  [[nodiscard]] bool ask_kernel(int watch, const FileDescriptor& file);
  void listen();
  void take_events();
  void tell(int of_kernel);
  void tell_all();
  void look_at_young();
  void wait_for_young();
  void grow_up();

  std::function<void(int watch)> closed_;
  FileDescriptor inotify_;
  boost::asio::posix::stream_descriptor news_;
  boost::asio::steady_timer timer_;
  bool is_timer_set_ = false;
  bool lacks_watches_ = false;
  /// The numbers that add() has returned, by those of the kernel, which has one for each file on disk: its
  /// names are watched as one.
  std::multimap<int, int> by_kernel_;
  std::map<int, int> of_kernel_;  ///< the other way round
  std::vector<Young> young_;
  std::deque<int> untold_;  ///< events of the kernel
  int last_ = 0;
};

}  // namespace sluice::runtime
