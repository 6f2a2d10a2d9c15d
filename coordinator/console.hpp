#pragma once
#include <string>
#include <string_view>

namespace sluice::coordinator {

enum class Stream { out, error };

/// What the user sees: whole lines, each written at once, and on a terminal a status line below them that
/// stays the last. Output that nobody can receive any more (a closed pipe) is dropped. Output that cannot be
/// written for another reason (a full disk) is lost, and the first such failure is kept.
class Console {
 public:
  struct Options {
    bool quiet = false;    ///< only the components' output and errors
    bool verbose = false;  ///< every event
  };
  explicit Console(Options options);
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  /// "[label] text".
  void line(Stream stream, std::string_view label, std::string_view text);
  /// A line of sluice's own, on stderr; errors always, notices unless quiet, details if verbose.
  void error(std::string_view text);
  void notice(std::string_view text);
  void detail(std::string_view text);
  /// A text of several lines on stdout, as it is; nothing if quiet.
  void block(std::string_view text);

  /// Replaces the status line; nothing where has_status_line() is false.
  void status(std::string text);
  [[nodiscard]] bool has_status_line() const noexcept { return has_status_line_; }

  /// "output was lost: stdout: No space left on device"; empty: all was written.
  [[nodiscard]] const std::string& failure() const noexcept { return failure_; }

 private:
  void write(Stream stream, std::string_view text);
  void write_all(Stream stream, std::string_view text);
  void hide_status();
  void show_status();

  Options options_;
  bool has_status_line_;
  std::string status_;
  std::string failure_;
};

}  // namespace sluice::coordinator
