#pragma once
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <string>
#include <string_view>

#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::coordinator {

/// Splits a stream of bytes into lines. A line ends at "\n", "\r\n" or "\r": each state of a progress display
/// becomes a line of its own. A line longer than `longest_line_bytes` is passed on in parts.
class LineSplitter {
 public:
  using Sink = std::function<void(std::string_view line)>;
  static constexpr std::size_t longest_line_bytes = 1 << 16;

  explicit LineSplitter(Sink sink) : sink_(std::move(sink)) {}

  void add(std::string_view bytes);
  /// Ends the stream: the remaining bytes are the last line.
  void finish();

 private:
  void emit();

  Sink sink_;
  std::string line_;
  bool after_return_ = false;
};

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
