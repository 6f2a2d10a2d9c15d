#include "stage_limit.hpp"

#include <utility>

namespace sluice::coordinator {
namespace {

using std::chrono::seconds;

constexpr seconds time_until_slow{5};  ///< then a slow stage is reported

}  // namespace

StageLimit::StageLimit(boost::asio::io_context& loop, Tell on_slow, Tell on_over)
    : on_slow_(std::move(on_slow)), on_over_(std::move(on_over)), deadline_(loop), slow_timer_(loop) {}

void StageLimit::after(std::chrono::milliseconds time, std::function<void()> work) {
  deadline_.expires_after(time);
  deadline_.async_wait([work = std::move(work)](const boost::system::error_code& error) {
    if (!error) work();
  });
}

void StageLimit::begin(seconds limit, const std::string& what, const std::string& option) {
  tell_slow(limit, what, option);
  extend(limit, what, option);
}

void StageLimit::extend(seconds limit, const std::string& what, const std::string& option) {
  if (limit == seconds::zero()) return;
  after(limit, [this, text = what + " after " + std::to_string(limit.count()) + " s; " + option +
                             " allows more"] { on_over_(text); });
}

void StageLimit::tell_slow(seconds limit, const std::string& what, const std::string& option) {
  const std::string until =
      limit == seconds::zero() ? "" : "; the run ends after " + std::to_string(limit.count()) + " s";
  const std::string text =
      what + " after " + std::to_string(time_until_slow.count()) + " s" + until + " (" + option + ")";
  slow_timer_.expires_after(time_until_slow);
  slow_timer_.async_wait([this, text](const boost::system::error_code& error) {
    if (!error) on_slow_(text);
  });
}

void StageLimit::cancel() {
  deadline_.cancel();
  slow_timer_.cancel();
}

}  // namespace sluice::coordinator
