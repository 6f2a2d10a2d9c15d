#pragma once
#include <functional>
#include <string>
#include <string_view>

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

}  // namespace sluice::coordinator
