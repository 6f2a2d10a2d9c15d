// A real matcher finds mail and messages of several groups at once: docs/design/mail-order.md.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>

#include <memory>
#include <optional>
#include <string>

#include "unit/runtime/live_matcher.hpp"

using namespace sluice;
using namespace sluice::runtime;
using namespace sluice::runtime::test;

namespace {

/// While it lives, the matcher stands still, so that it finds everything at once.
class Pause {
 public:
  explicit Pause(pid_t process) : process_(process) {
    ::kill(process_, SIGSTOP);
    int status = 0;
    ::waitpid(process_, &status, WUNTRACED);
  }
  ~Pause() { ::kill(process_, SIGCONT); }
  Pause(const Pause&) = delete;
  Pause& operator=(const Pause&) = delete;

 private:
  pid_t process_;
};

/// A process that writes files without data, alone.
class Model {
 public:
  explicit Model(const LiveMatcher& matcher) : session(matcher.session("model")) {}

  std::uint64_t create(const std::string& name) {
    const std::uint64_t step = session->create(request(name)).step;
    const HeaderRequest header{step, header_of({2, 2})};
    (void)session->prepare(&header, {});
    return step;
  }
  void write(const std::string& name) { session->publish(closed(create(name))); }
  /// Two files that are alike; then the next steps are offered.
  void get_offers() {
    write("1.nc");
    write("2.nc");
    session->await_taken();
    REQUIRE(session->find_offer(0, alone()));
  }
  /// Creates a file by an offer.
  Session::Offer take(const std::string& name) {
    auto offer = session->find_offer(0, alone());
    REQUIRE(offer);
    REQUIRE(session->take_offer(*offer, request(name)));
    REQUIRE(session->post_header(*offer, {offer->step, header_of({2, 2})}));
    return *offer;
  }
  std::uint64_t write_offered(const std::string& name) {
    const Session::Offer offer = take(name);
    session->publish(offer, closed(offer.step));
    return offer.step;
  }
  static PublishRequest closed(std::uint64_t step) {
    PublishRequest request{step, 0, {}};
    request.position = {0, 0, 0};  // no data
    return request;
  }
  static CreateRequest request(const std::string& name) {
    return {{0, name}, alone(), false, 5, "/files/" + name};
  }

  std::unique_ptr<Session> session;
};

std::uint64_t newest(const LiveMatcher& matcher, const std::string& name) {
  const auto reader = matcher.session("analysis");
  const Opened opened = reader->open({{0, name}, alone()}, false);
  reader->close_read({opened.step, {}});
  return opened.step;
}

/// A message that has no answer and no meaning here: the matcher reads from this connection first.
void send_first(Model& model) {
  model.session->announce_put({0});
}

}  // namespace

TEST_SUITE("matcher: offered steps") {
  TEST_CASE("mail comes after the messages that other processes have sent before it") {
    // The matcher reads first from the connection of the mail's sender, or finds the message first.
    for (const bool has_message_of_second : {true, false}) {
      CAPTURE(has_message_of_second);
      const LiveMatcher matcher(one_rule());
      Model first(matcher);
      Model second(matcher);
      second.get_offers();
      const std::uint64_t by_message = first.create("x.nc");
      std::uint64_t by_mail = 0;
      {
        const Pause pause(matcher.process());
        if (has_message_of_second) send_first(second);
        first.session->publish(Model::closed(by_message));
        by_mail = second.write_offered("x.nc");
      }
      CHECK(newest(matcher, "x.nc") == by_mail);
    }
  }

  TEST_CASE("messages come after the mail that other processes have posted before them") {
    const LiveMatcher matcher(one_rule());
    Model first(matcher);
    Model second(matcher);
    first.get_offers();
    const std::uint64_t by_message = second.create("x.nc");
    {
      const Pause pause(matcher.process());
      send_first(second);
      first.write_offered("x.nc");
      second.session->publish(Model::closed(by_message));
    }
    CHECK(newest(matcher, "x.nc") == by_message);
  }

  TEST_CASE("the mail of two groups comes in the order in which it was posted") {
    const LiveMatcher matcher(one_rule());
    Model first(matcher);
    Model second(matcher);
    first.get_offers();
    second.get_offers();
    for (const bool is_turned : {false, true}) {
      Model& earlier = is_turned ? second : first;
      Model& later = is_turned ? first : second;
      std::uint64_t last = 0;
      {
        const Pause pause(matcher.process());
        send_first(later);
        earlier.write_offered("x.nc");
        last = later.write_offered("x.nc");
      }
      CHECK(newest(matcher, "x.nc") == last);
    }
  }

  TEST_CASE("what a process has posted before its end counts, and what it has not closed is discarded") {
    LiveMatcher matcher(one_rule());
    Model model(matcher);
    model.get_offers();
    std::uint64_t step = 0;
    {
      const Pause pause(matcher.process());
      step = model.write_offered("x.nc");
      (void)model.take("y.nc");
      model.session.reset();
    }
    CHECK(newest(matcher, "x.nc") == step);
    matcher.component_exited("model");
    const auto reader = matcher.session("analysis");
    CHECK(status_of([&] { (void)reader->open({{0, "y.nc"}, alone()}, false); }) != NC_NOERR);
  }
}
