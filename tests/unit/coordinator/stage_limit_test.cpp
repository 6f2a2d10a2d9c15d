#include "stage_limit.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using sluice::coordinator::StageLimit;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// A limit that writes down what it says, in the order in which it says it.
struct Stage {
  boost::asio::io_context loop;
  std::vector<std::string> said;
  StageLimit limit{loop, [this](const std::string& text) { said.push_back("slow: " + text); },
                   [this](const std::string& text) {
                     said.push_back("over: " + text);
                     limit.cancel();
                   }};
};

}  // namespace

TEST_CASE("a stage that takes longer than its limit is over, and the option is named") {
  Stage stage;
  stage.limit.begin(seconds(1), "the matcher is not ready", "--ready-timeout");
  stage.loop.run();
  CHECK(stage.said ==
        std::vector<std::string>{"over: the matcher is not ready after 1 s; --ready-timeout allows more"});
}

TEST_CASE("a stage without a limit is reported as slow, and goes on") {
  Stage stage;
  stage.limit.begin(seconds(0), "components run", "--end-timeout");
  stage.loop.run();
  CHECK(stage.said == std::vector<std::string>{"slow: components run after 5 s (--end-timeout)"});
}

TEST_CASE("a slow stage says when the run ends, once, however often its limit begins anew") {
  Stage stage;
  stage.limit.begin(seconds(6), "components run", "--end-timeout");
  stage.limit.extend(seconds(7), "components run", "--end-timeout");
  stage.loop.run();
  CHECK(stage.said ==
        std::vector<std::string>{"slow: components run after 5 s; the run ends after 6 s (--end-timeout)",
                                 "over: components run after 7 s; --end-timeout allows more"});
}

TEST_CASE("the next act of a stage replaces its limit, and a cancelled stage says nothing") {
  Stage stage;
  stage.limit.begin(seconds(1), "components run", "--end-timeout");
  stage.limit.after(milliseconds(1), [&] { stage.said.push_back("act"); });
  boost::asio::steady_timer later(stage.loop, milliseconds(1200));
  later.async_wait([&](const boost::system::error_code&) { stage.limit.cancel(); });
  stage.loop.run();
  CHECK(stage.said == std::vector<std::string>{"act"});
}
