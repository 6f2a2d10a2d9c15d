// A real matcher finds mail and messages of several groups at once: docs/design/offers.md.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>

#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <thread>

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
    const std::uint64_t step = session->open(request(name)).step;
    const HeaderRequest header{step, header_of({2, 2})};
    (void)session->prepare(&header, {});
    return step;
  }
  void write(const std::string& name) { session->close({closed(create(name))}); }
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
    session->close(offer, closed(offer.step));
    return offer.step;
  }
  /// With data: one number.
  std::uint64_t put(const std::string& name) {
    std::optional<Session::Offer> offer;
    std::uint64_t step = 0;
    if (session->find_offer(0, alone())) {
      offer = take(name);
      step = offer->step;
    } else {
      step = create(name);
    }
    WriteLog log(*session, step, std::nullopt);
    if (offer && offer->table) log.provide(matcher::SegmentUse::table, std::move(*offer->table));
    if (offer && offer->data) log.provide(matcher::SegmentUse::data, std::move(*offer->data));
    const std::int32_t number = 7;
    const auto room = log.reserve(sizeof number);
    std::memcpy(room.data, &number, sizeof number);
    const std::array<std::int64_t, 2> start{0, 0};
    const std::array<std::int64_t, 2> count{1, 1};
    log.append_request(0, log.next_sequence(), room.log_offset, {start, count, {}});
    log.commit();
    log.finish();
    const PublishRequest request{step, 0, {}, {}, log.ranges(), log.position()};
    offer ? session->close(*offer, request) : session->close({request});
    return step;
  }
  static PublishRequest closed(std::uint64_t step) {
    PublishRequest request{step, 0, {}};
    request.position = {0, 0, 0};  // no data
    return request;
  }
  static Open request(const std::string& name) {
    return {{0, name}, alone(), "/files/" + name, Purpose::create, {}, 5};
  }

  std::unique_ptr<Session> session;
};

/// A process that reads files alone.
class Analysis {
 public:
  explicit Analysis(const LiveMatcher& matcher) : session(matcher.session("analysis")) {}

  /// By messages.
  std::uint64_t read(const std::string& name) {
    const Opened opened = session->open({{0, name}, alone()});
    session->close({ReadEnd{opened.step, {}}});
    return opened.step;
  }
  /// Until the reads of all steps that are offered are offered, too.
  void get_reads(Model& model) {
    for (int i = 10; i < 20; ++i) {
      const std::string name = std::to_string(i) + ".nc";
      const std::uint64_t step = model.write_offered(name);
      CHECK(read(name) == step);
    }
  }
  std::optional<Session::Read> find(const std::string& name) { return session->find_read({0, name}, member); }
  bool take(const Session::Read& found, const std::string& name) {
    return session->take_read(found, {{0, name}, member});
  }
  void close(const Session::Read& found) { session->close(found, ReadEnd{found.step, {}, {}, member.group}); }

  std::unique_ptr<Session> session;
  const Member member = alone();
};

std::uint64_t newest(const LiveMatcher& matcher, const std::string& name) {
  const auto reader = matcher.session("analysis");
  const Opened opened = reader->open({{0, name}, alone()});
  reader->close({ReadEnd{opened.step, {}}});
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
        first.session->close({Model::closed(by_message)});
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
      second.session->close({Model::closed(by_message)});
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
    CHECK(status_of([&] { (void)reader->open({{0, "y.nc"}, alone()}); }) != NC_NOERR);
  }
}

TEST_SUITE("matcher: offered reads") {
  TEST_CASE("a reader opens and closes a step without a message, and the matcher knows it when it is asked") {
    const LiveMatcher matcher(one_rule());
    Model model(matcher);
    Analysis analysis(matcher);
    model.get_offers();
    analysis.get_reads(model);
    std::uint64_t step = 0;
    std::optional<Session::Read> read;
    {
      const Pause pause(matcher.process());
      step = model.write_offered("x.nc");
      read = analysis.find("x.nc");
      REQUIRE(read);
      CHECK(read->step == step);
      CHECK(read->opened.step == step);
      CHECK(read->opened.version == 5);
      CHECK(read->opened.header == header_of({2, 2}));
      CHECK_FALSE(read->opened.pattern.whole.empty());
      REQUIRE(analysis.take(*read, "x.nc"));
      CHECK_FALSE(analysis.take(*read, "x.nc"));
    }
    CHECK_NOTHROW((void)analysis.session->get({step, {}}));  // the matcher takes the mail first
    {
      const Pause pause(matcher.process());
      analysis.close(*read);
    }
    CHECK(status_of([&] { (void)analysis.session->get({step, {}}); }) != NC_NOERR);
    CHECK(newest(matcher, "x.nc") == step);
  }

  TEST_CASE("what a reader finds is what the answer to an open says") {
    const LiveMatcher matcher(one_rule());
    Model model(matcher);
    Analysis analysis(matcher);
    model.get_offers();
    analysis.get_reads(model);
    (void)model.write_offered("x.nc");
    const auto read = analysis.find("x.nc");
    REQUIRE(read);
    const auto other = matcher.session("analysis");
    const Opened opened = other->open({{0, "x.nc"}, alone()});
    CHECK(read->opened.header == opened.header);
    CHECK(read->opened.version == opened.version);
    CHECK(read->opened.record_count == opened.record_count);
    CHECK(read->opened.pattern.whole == opened.pattern.whole);
    CHECK(read->opened.pattern.latest == opened.pattern.latest);
    CHECK(read->opened.pattern.base_record == opened.pattern.base_record);
    CHECK(read->opened.pattern.first_writer == opened.pattern.first_writer);
    CHECK(read->opened.pattern.last_put == opened.pattern.last_put);
    CHECK(read->opened.ranges == opened.ranges);
    CHECK(read->opened.publish_at == opened.publish_at);
    CHECK(read->opened.first_offsets == opened.first_offsets);
    CHECK(read->opened.stream_number == opened.stream_number);
    CHECK(read->opened.is_in_files == opened.is_in_files);
  }

  TEST_CASE("a step whose last header was too long for a letter is opened by messages") {
    const LiveMatcher matcher(one_rule());
    Model model(matcher);
    Analysis analysis(matcher);
    model.get_offers();
    analysis.get_reads(model);
    const HeaderRequest longer{0, std::vector<std::byte>(20000)};
    for (const bool has_letter_after : {false, true}) {
      const std::string name = has_letter_after ? "x.nc" : "y.nc";
      Session::Offer offer = model.take(name);
      HeaderRequest last{offer.step, longer.header};
      REQUIRE_FALSE(model.session->post_header(offer, last));
      (void)model.session->prepare(&last, {});
      if (has_letter_after) {
        last.header = header_of({2, 2});
        REQUIRE(model.session->post_header(offer, last));
      }
      model.session->close(offer, Model::closed(offer.step));
      CHECK_FALSE(analysis.find(name));
      const Opened opened = analysis.session->open({{0, name}, alone()});
      CHECK(opened.step == offer.step);
      CHECK(opened.header == last.header);
      analysis.session->close({ReadEnd{opened.step, {}}});
    }
    (void)model.write_offered("z.nc");
    CHECK(analysis.find("z.nc"));
  }

  TEST_CASE("a step is found only where no newer one of its name may be unknown to the page") {
    const LiveMatcher matcher(one_rule());
    Model model(matcher);
    Model other(matcher);
    Analysis analysis(matcher);
    model.get_offers();
    analysis.get_reads(model);
    (void)model.write_offered("x.nc");
    const auto before = analysis.find("x.nc");
    REQUIRE(before);
    const std::uint64_t newer = other.create("x.nc");
    CHECK_FALSE(analysis.find("x.nc"));
    CHECK_FALSE(analysis.take(*before, "x.nc"));
    {
      const Pause pause(matcher.process());
      other.session->close({Model::closed(newer)});
      CHECK_FALSE(analysis.find("x.nc"));
    }
    CHECK(newest(matcher, "x.nc") == newer);
    CHECK_FALSE(analysis.find("x.nc"));
  }

  TEST_CASE("two steps of one name in the page are for the registry to tell apart") {
    const LiveMatcher matcher(one_rule());
    Model model(matcher);
    Analysis analysis(matcher);
    model.get_offers();
    analysis.get_reads(model);
    std::uint64_t second = 0;
    {
      const Pause pause(matcher.process());
      (void)model.write_offered("x.nc");
      CHECK(analysis.find("x.nc"));
      second = model.write_offered("x.nc");
      CHECK_FALSE(analysis.find("x.nc"));
    }
    CHECK(newest(matcher, "x.nc") == second);
  }

  TEST_CASE("who begins to wait hears of what was left before, and of what is left afterwards") {
    const LiveMatcher matcher(one_rule());
    Model model(matcher);
    Analysis analysis(matcher);
    model.get_offers();
    analysis.get_reads(model);
    for (int i = 0; i < 20; ++i) {
      const std::string name = "w" + std::to_string(i) + ".nc";
      std::uint64_t found = 0;
      std::thread waiting([&] { found = newest(matcher, name); });
      if (i % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      const std::uint64_t step = model.write_offered(name);
      waiting.join();
      CHECK(found == step);
    }
  }

  TEST_CASE(
      "a wait that a letter has just ended is not taken for hopeless, although its sender sleeps by now") {
    const LiveMatcher matcher(one_rule(), 64 * mib, {{"model", 1}, {"analysis", 1}});
    Model model(matcher);
    Analysis analysis(matcher);
    model.get_offers();
    analysis.get_reads(model);
    for (int i = 0; i < 5; ++i) {
      const std::string name = "w" + std::to_string(i) + ".nc";
      std::uint64_t found = 0;
      std::uint64_t step = 0;
      std::optional<std::thread> waiting;
      {
        const Pause pause(matcher.process());
        waiting.emplace([&] {
          try {
            found = analysis.read(name);
          } catch (const Error& error) {
            MESSAGE(error.what());
          }
        });
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        step = model.write_offered(name);  // the page is quiet
      }
      waiting->join();  // all threads of this process sleep
      CHECK(found == step);
    }
  }

  TEST_CASE("the matcher finds mail that nobody tells it of") {
    const LiveMatcher matcher(one_rule());
    Model model(matcher);
    Analysis analysis(matcher);
    model.get_offers();
    analysis.get_reads(model);
    const auto offer = model.session->find_offer(0, alone());
    REQUIRE(offer);
    const OfferPage page(offer->page->writable());
    const std::uint32_t all = page.offered();
    (void)model.write_offered("x.nc");
    (void)model.write_offered("y.nc");
    while (page.offered() < all) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    CHECK(page.bell().is_quiet == 1);
  }

  TEST_CASE("a reader that does something else while very many steps are written stays connected") {
    LiveMatcher matcher(one_rule(), 1024 * mib);
    Model model(matcher);
    Analysis analysis(matcher);
    for (int i = 10; i < 20; ++i) {
      const std::string name = std::to_string(i) + ".nc";
      const std::uint64_t step = model.put(name);
      CHECK(analysis.read(name) == step);
      model.session->await_taken();
    }
    model.put("x.nc");
    REQUIRE(analysis.find("x.nc"));
    constexpr int more_than_may_be_unread = 18000;
    std::uint64_t last = 0;
    for (int i = 0; i < more_than_may_be_unread; ++i) last = model.put("s" + std::to_string(i) + ".nc");
    CHECK(analysis.read("s" + std::to_string(more_than_may_be_unread - 1) + ".nc") == last);
    CHECK_FALSE(matcher.has_event("does not read its answers"));
  }

  TEST_CASE("what a reader has posted before its end counts, and its page ends with it") {
    LiveMatcher matcher(one_rule());
    Model model(matcher);
    Analysis analysis(matcher);
    model.get_offers();
    analysis.get_reads(model);
    const std::uint64_t step = model.write_offered("x.nc");
    {
      const Pause pause(matcher.process());
      const auto read = analysis.find("x.nc");
      REQUIRE(read);
      REQUIRE(analysis.take(*read, "x.nc"));
      analysis.session.reset();
    }
    CHECK(newest(matcher, "x.nc") == step);
    const auto offer = model.session->find_offer(0, alone());
    REQUIRE(offer);
    CHECK(OfferPage(offer->page->writable()).bell().is_quiet == 0);
    CHECK(model.write_offered("y.nc") != 0);
    CHECK(newest(matcher, "y.nc") != 0);
  }
}
