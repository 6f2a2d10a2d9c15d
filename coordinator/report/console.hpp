#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "colours.hpp"

namespace sluice::coordinator {

enum class Stream { out, error };

/// How the progress of a run is shown.
enum class ProgressForm {
  automatic,  ///< a table below all other lines of a terminal; lines otherwise
  lines,      ///< a line now and then
  json,       ///< an object on each line, once a second
  none,
};

/// A line of the status.
struct StatusLine {
  std::string text;
  Colour colour = Colour::none;
  bool operator==(const StatusLine&) const = default;
};

/// The output that the user sees: whole lines, each written at once. On a terminal, the status always stays
/// below them. Output is dropped if nobody can receive it any more (a closed pipe). Output that cannot be
/// written for another reason (a full disk) is lost, and the first failure is kept.
class Console {
 public:
  struct Options {
    bool quiet = false;    ///< only the components' output and errors
    bool verbose = false;  ///< every event
    ProgressForm progress = ProgressForm::automatic;
  };
  explicit Console(Options options);
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  /// "[label] text".
  void line(Stream stream, std::string_view label, std::string_view text);
  /// Print a line of sluice itself on stderr: errors always, notices unless quiet, details if verbose.
  void error(std::string_view text);
  void notice(std::string_view text);
  void detail(std::string_view text);
  /// Prints a text of several lines unchanged on stdout; prints nothing if quiet.
  void block(std::string_view text);
  /// Prints a line for programs on stderr, without a label.
  void machine_line(std::string_view text);

  /// Replaces the status; does nothing if has_status() is false. Lines longer than the terminal are cut, and
  /// lines that do not fit are left out.
  void status(std::vector<StatusLine> lines);
  [[nodiscard]] bool has_status() const noexcept { return has_status_; }
  [[nodiscard]] ProgressForm progress() const noexcept { return options_.progress; }

  /// "output was lost: stdout: No space left on device"; empty if all output was written.
  [[nodiscard]] const std::string& failure() const noexcept { return failure_; }

 private:
  void write(Stream stream, std::string_view text);
  void write_all(Stream stream, std::string_view text);
  void hide_status();
  void show_status();

  Options options_;
  bool has_status_;
  bool has_status_colours_;
  /// Only where all lines stay on the terminal: within a job, stdout may be a terminal that mpirun has made.
  bool has_label_colours_;
  std::vector<StatusLine> status_;
  std::size_t shown_lines_ = 0;  ///< of the status, on the terminal now
  std::string failure_;
};

}  // namespace sluice::coordinator
