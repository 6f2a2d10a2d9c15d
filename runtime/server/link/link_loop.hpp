#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>

#include "doorbell.hpp"
#include "sluice/runtime/peer_link.hpp"

namespace sluice::runtime {

/// Runs the event loop of a matcher that has other matchers. Their packets do not always wake it.
class LinkLoop {
 public:
  struct Options {
    std::shared_ptr<Doorbell> bell;  ///< shared with the link; null: none
    std::chrono::microseconds longest_sleep{2000};
    /// A handler has failed; the loop goes on unless this throws.
    std::function<void(const std::exception& error)> failed;
  };
  /// `turn` handles the link in each turn, and returns whether anything happened.
  LinkLoop(boost::asio::io_context& loop, PeerLink& link, Options options, std::function<bool()> turn);
  ~LinkLoop();
  LinkLoop(const LinkLoop&) = delete;
  LinkLoop& operator=(const LinkLoop&) = delete;

  /// Runs until the loop is stopped, or `is_over`. Sockets wake the loop, and so does the bell of matchers on
  /// the same machine. Packets from other machines do not: the loop looks for them at growing intervals.
  void run(const std::function<bool()>& is_over);
  /// Runs without sleeping while `condition` holds.
  void run_while(const std::function<bool()>& condition);

 private:
  void watch_bell();
  template <class Run>
  auto survive(const Run& run) -> decltype(run());

  boost::asio::io_context& loop_;
  PeerLink& link_;
  Options options_;
  std::function<bool()> turn_;
  boost::asio::posix::stream_descriptor bell_watch_;
  boost::asio::steady_timer idle_timer_;
};

}  // namespace sluice::runtime
