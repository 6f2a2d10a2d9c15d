#pragma once
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "child_process.hpp"
#include "console.hpp"
#include "exit_status.hpp"
#include "output_forwarder.hpp"
#include "rank_terminals.hpp"

namespace sluice::coordinator {

/// A process that sluice has started: its output goes to the console line by line, and its end is told once,
/// after its last line. It leads a process group of its own.
class SupervisedProcess {
 public:
  struct Callbacks {
    std::function<void()> on_exit;  ///< the process has been waited for
    std::function<void()>
        on_end;  ///< and all of its output has come (or a short time passed: somebody else holds the pipes)
  };
  /// Starts it; `options.output` and `.error` are replaced. Throws IoError. `terminals`: those of its ranks,
  /// if they have any.
  SupervisedProcess(boost::asio::io_context& context, Console& console, std::string label,
                    ChildOptions options, bool is_launcher, Callbacks callbacks,
                    std::optional<RankTerminals> terminals = std::nullopt);

  /// To be called after SIGCHLD.
  void reap();
  /// Signals the whole group; nothing when the leader has been waited for and nobody is left.
  void signal_group(int signal) const;

  [[nodiscard]] pid_t id() const noexcept { return id_; }
  [[nodiscard]] bool is_launcher() const noexcept { return is_launcher_; }
  [[nodiscard]] const std::optional<ProcessEnd>& end() const noexcept { return end_; }
  [[nodiscard]] bool has_ended() const noexcept { return told_end_; }
  [[nodiscard]] std::chrono::milliseconds duration() const;

 private:
  void forward(boost::asio::io_context& context, Console& console, Stream stream,
               runtime::FileDescriptor read_end);
  [[nodiscard]] bool has_open_outputs() const;
  void output_closed();
  void tell_end();

  std::string label_;
  bool is_launcher_;
  Callbacks callbacks_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point exited_;
  pid_t id_ = 0;
  std::optional<ProcessEnd> end_;
  bool told_end_ = false;
  std::vector<std::unique_ptr<OutputForwarder>> outputs_;
  std::vector<runtime::FileDescriptor> kept_open_;
  boost::asio::steady_timer grace_;
};

}  // namespace sluice::coordinator
