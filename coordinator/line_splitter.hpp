#pragma once
#include <functional>
#include <string>
#include <string_view>

namespace sluice::coordinator {

/// Cuts a stream of bytes into lines. A line ends at "\n", "\r\n" or "\r" (what a progress display overwrites
/// becomes lines of its own); a line of more than `longest_line_bytes` is handed on in parts.
class LineSplitter {
 public:
  using Sink = std::function<void(std::string_view line)>;
  static constexpr std::size_t longest_line_bytes = 1 << 16;

  explicit LineSplitter(Sink sink) : sink_(std::move(sink)) {}

  void add(std::string_view bytes);
  /// The stream has ended: what is left is a line.
  void finish();

 private:
  void emit();

  Sink sink_;
  std::string line_;
  bool after_return_ = false;
};

}  // namespace sluice::coordinator
