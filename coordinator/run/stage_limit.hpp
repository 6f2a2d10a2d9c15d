#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <string>

namespace sluice::coordinator {

/// The time that the current stage of a run may take, or the time until its next act. Each new one replaces
/// the one before.
class StageLimit {
 public:
  using Tell = std::function<void(const std::string&)>;

  /// `on_slow` gets the sentence about a slow stage, `on_over` the one that says which limit is over.
  StageLimit(boost::asio::io_context& loop, Tell on_slow, Tell on_over);

  /// Calls `work` when the time is over.
  void after(std::chrono::milliseconds time, std::function<void()> work);
  /// Reports that the stage is slow, and calls `on_over` when it takes longer than `limit`; 0: it may take
  /// any time. `what` describes the state while the stage lasts; `option` sets the limit.
  void begin(std::chrono::seconds limit, const std::string& what, const std::string& option);
  /// There was progress: the limit begins anew.
  void extend(std::chrono::seconds limit, const std::string& what, const std::string& option);
  void cancel();

 private:
  void tell_slow(std::chrono::seconds limit, const std::string& what, const std::string& option);

  Tell on_slow_;
  Tell on_over_;
  boost::asio::steady_timer deadline_;
  boost::asio::steady_timer slow_timer_;  ///< until a slow stage is reported
};

}  // namespace sluice::coordinator
