#pragma once
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>

#include "line_splitter.hpp"
#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::coordinator {

/// Reads lines from the read end of a pipe and passes them on, until every writer has closed the pipe.
class OutputForwarder {
 public:
  OutputForwarder(boost::asio::io_context& context, runtime::FileDescriptor read_end, LineSplitter::Sink sink,
                  std::function<void()> on_closed);

  /// Reads the bytes that are available now, and closes the read end. Processes that still write then get an
  /// error.
  void finish();
  [[nodiscard]] bool is_open() const noexcept { return pipe_.is_open(); }

 private:
  void read();
  void close();

  boost::asio::posix::stream_descriptor pipe_;
  LineSplitter splitter_;
  std::function<void()> on_closed_;
  std::array<char, 65536> buffer_;
};

}  // namespace sluice::coordinator
