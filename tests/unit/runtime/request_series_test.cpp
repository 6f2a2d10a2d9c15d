// Requests of one kind that go as one message: docs/design/matchers-and-ranks.md.
#include "request_series.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "relay_tree.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/wire.hpp"
#include "support/seed.hpp"

using namespace sluice;
using namespace sluice::runtime;

namespace {

ClientRequest create(std::uint64_t connection, std::uint64_t group, std::uint32_t rank,
                     const std::string& name = "a.nc") {
  return {connection, 100 + rank,
          Open{{0, name}, {group, rank, 8, true}, "/run/" + name, Purpose::create, {}, 5}};
}
ClientRequest open(std::uint64_t connection, std::uint64_t group, std::uint32_t rank) {
  return {connection, 100 + rank, Open{{0, "a.nc"}, {group, rank, 8, true}, "/run/a.nc"}};
}
ClientRequest publish(std::uint64_t connection, std::uint64_t step) {
  PublishRequest request;
  request.step = step;
  return {connection, 0, Close{std::move(request)}};
}
ClientRequest close(std::uint64_t connection, std::uint64_t step) {
  ReadEnd request;
  request.step = step;
  return {connection, 0, Close{request}};
}
ClientRequest header(std::uint64_t connection, std::uint64_t step) {
  HeaderRequest request;
  request.step = step;
  return {connection, 0, std::move(request)};
}
ClientRequest segment(std::uint64_t connection, std::uint32_t tag, std::uint64_t bytes = 4096) {
  return {connection, tag, SegmentRequest{7, SegmentUse::data, bytes, bytes}};
}

/// What the registry sees of a message, one by one: kind, connection, tag and what it is about.
struct Seen {
  std::string kind;
  std::uint64_t connection = 0;
  std::uint64_t about = 0;
  bool operator==(const Seen&) const = default;
};
std::vector<Seen> seen_in(const RegistryBody& body) {
  std::vector<Seen> seen;
  const auto request = [&](std::uint64_t connection, std::uint32_t tag, const RegistryRequest& one) {
    if (const auto* const opened = std::get_if<Open>(&one))
      seen.push_back({opened->purpose == Purpose::create ? "create" : "open", connection,
                      opened->member.group * 1000 + opened->member.rank});
    if (const auto* const closed = std::get_if<Close>(&one))
      seen.push_back(
          {std::holds_alternative<ReadEnd>(closed->how) ? "close" : "publish", connection, closed->step()});
    if (std::holds_alternative<SegmentRequest>(one)) seen.push_back({"segment", connection, tag});
    if (const auto* const header = std::get_if<HeaderRequest>(&one))
      seen.push_back({"header", connection, header->step});
  };
  const auto several = [&](const auto& requests) {
    for (const auto& one : requests) request(one.connection, one.tag, one.request);
  };
  if (const auto* const one = std::get_if<ClientRequest>(&body))
    request(one->connection, one->tag, one->request);
  if (const auto* const call = std::get_if<GroupCall>(&body)) {
    for (const GroupCall::Caller& caller : call->callers) {
      Open own = call->call;
      own.member.rank = caller.rank;
      request(caller.connection, caller.tag, own);
    }
  }
  if (const auto* const made = std::get_if<SegmentCalls>(&body)) {
    for (const auto& [one, callers] : made->calls) {
      for (const auto& [connection, tag] : callers) request(connection, tag, one);
    }
  }
  if (const auto* const made = std::get_if<Closes>(&body)) several(made->requests);
  if (const auto* const notes = std::get_if<SegmentsMapped>(&body)) {
    for (const SegmentsMapped::One& note : notes->notes)
      seen.push_back({"mapped", note.connection, note.segment});
  }
  if (const auto* const end = std::get_if<ConnectionEnded>(&body)) seen.push_back({"end", end->connection});
  return seen;
}

/// The number of messages that the bodies become.
std::size_t joined(std::vector<RegistryBody> bodies) {
  std::size_t messages = 0;
  RegistryBody* last = nullptr;
  for (RegistryBody& body : bodies) {
    if (last != nullptr && join(*last, body)) continue;
    last = &body;
    ++messages;
  }
  return messages;
}

}  // namespace

TEST_SUITE("series of requests") {
  TEST_CASE("the same call of a group is one message, and nothing else joins it") {
    CHECK(joined({create(1, 5, 0), create(2, 5, 1), create(3, 5, 2)}) == 1);
    CHECK(joined({open(1, 5, 0), open(2, 5, 1)}) == 1);
    CHECK(joined({create(1, 5, 0), create(2, 6, 1)}) == 2);
    CHECK(joined({create(1, 5, 0), create(2, 5, 1, "b.nc")}) == 2);
    CHECK(joined({create(1, 5, 0), open(2, 5, 1)}) == 2);
    CHECK(joined({create(1, 5, 0), create(2, 5, 1), open(3, 5, 2), create(4, 5, 3)}) == 3);
    ClientRequest differs = create(2, 5, 1);
    std::get<Open>(differs.request).no_clobber = true;
    CHECK(joined({create(1, 5, 0), differs}) == 2);
    ClientRequest newest = open(2, 5, 1);
    std::get<Open>(newest.request).which = Open::Which::newest;
    CHECK(joined({open(1, 5, 0), newest}) == 2);
  }

  TEST_CASE("closes of one step are one message, and those of several steps keep their order") {
    CHECK(joined({publish(2, 7), publish(1, 7), publish(3, 7)}) == 1);
    CHECK(joined({publish(2, 7), publish(1, 8), publish(3, 7)}) == 3);
    CHECK(joined({close(2, 7), close(1, 7), close(1, 8)}) == 2);
    CHECK(joined({publish(1, 7), close(2, 7)}) == 2);
    CHECK(joined({segment(1, 1), segment(1, 2), segment(2, 1)}) == 1);
    CHECK(joined({SegmentsMapped{{{1, 4}}}, SegmentsMapped{{{2, 5}}}, SegmentsMapped{{{1, 6}}}}) == 1);
    CHECK(joined({segment(1, 1), ConnectionEnded{1}, segment(2, 1)}) == 3);
  }

  TEST_CASE("equal requests for memory are one call, and those of one process keep their order") {
    RegistryBody all = segment(1, 1, 4096);
    for (ClientRequest next : {segment(2, 1, 4096), segment(1, 2, 8192), segment(2, 2, 8192),
                               segment(1, 3, 4096), segment(3, 1, 8192)}) {
      RegistryBody body = std::move(next);
      REQUIRE(join(all, body));
    }
    const auto& calls = std::get<SegmentCalls>(all).calls;
    REQUIRE(calls.size() == 3);
    CHECK(calls[0].request.bytes == 4096);
    CHECK(calls[0].callers.size() == 2);
    CHECK(calls[1].request.bytes == 8192);
    CHECK(calls[1].callers.size() == 3);
    CHECK(calls[2].callers.size() == 1);
    CHECK(calls[2].callers[0].tag == 3);
  }

  TEST_CASE("grants to a matcher are one message, which is taken apart: memory first, then who gets it") {
    const auto links = links_within_process(3);
    std::size_t packets = 0;
    std::vector<std::vector<std::byte>> taken;
    const auto ignore = [](const auto&) {};
    RelayTree root(links[0].get(), {ignore, ignore, [](std::uint64_t) {}});
    RelayTree leaf(
        links[1].get(),
        {ignore, [&](MessageToMatcher message) { taken.push_back(encode(message)); }, [](std::uint64_t) {}});
    RelayTree other(links[2].get(),
                    {ignore, [&](const MessageToMatcher&) { ++packets; }, [](std::uint64_t) {}});
    using Grant = GrantSeries::Grant;
    for (const GrantOrder& order : std::initializer_list<GrantOrder>{
             CreateSegment{1, 4096, false}, Grant{1, 2, 1}, CreateSegment{2, 4096, false}, Grant{2, 2, 2},
             ClearSegment{9, SegmentUse::table}, Grant{3, 7, 9}, CreateSegment{3, 8192, false},
             Grant{4, 1, 3}})
      root.send_down(1, order);
    root.send_down({1, Answer{4, 5, Done{}}});
    root.send_down(2, Grant{6, 1, 5});
    root.send_down(1, Grant{5, 1, 4});
    root.flush();
    while (links[1]->poll() || links[2]->poll()) {
    }
    std::vector<std::vector<std::byte>> expected;
    for (MatcherBody body : std::initializer_list<MatcherBody>{
             CreateSegment{1, 4096, false}, CreateSegment{2, 4096, false}, CreateSegment{3, 8192, false},
             ClearSegment{9, SegmentUse::table}, Answer{1, 2, Granted{1}}, Answer{2, 2, Granted{2}},
             Answer{3, 7, Granted{9}}, Answer{4, 1, Granted{3}}, Answer{4, 5, Done{}},
             Answer{5, 1, Granted{4}}})
      expected.push_back(encode(MessageToMatcher{1, std::move(body)}));
    CHECK(taken == expected);
    CHECK(packets == 1);
  }

  TEST_CASE("segments at equal distances are cleared by one entry, and each is cleared once, in its order") {
    std::mt19937 random(test::test_seed());
    const auto below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); };
    for (int run = 0; run < 200; ++run) {
      GrantSeries series;
      std::vector<std::vector<std::byte>> expected;
      matcher::SegmentId segment = 1000;
      std::int64_t distance = 2;
      for (std::uint32_t i = below(20); i > 0; --i) {
        if (below(4) == 0) distance = static_cast<std::int64_t>(below(7)) - 3;
        segment += static_cast<std::uint64_t>(distance);
        const ClearSegment clear{segment, below(6) == 0 ? SegmentUse::control : SegmentUse::table};
        series.add(clear);
        expected.push_back(encode(MessageToMatcher{1, clear}));
      }
      std::vector<std::vector<std::byte>> taken;
      for_each_message(series, [&](MatcherBody body) {
        taken.push_back(encode(MessageToMatcher{1, std::move(body)}));
      });
      CHECK(taken == expected);
    }
    GrantSeries regular;
    for (const matcher::SegmentId segment : {40, 38, 36, 34})
      regular.add(ClearSegment{segment, SegmentUse::table});
    CHECK(regular.cleared.size() == 1);
  }

  TEST_CASE("whatever is joined, each connection's requests and all that is not alike keep their order") {
    std::mt19937 random(test::test_seed());
    const auto below = [&](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); };
    const auto links = links_within_process(2);
    std::vector<Seen> arrived;
    std::size_t messages = 0;
    RelayTree root(links[0].get(), {[&](const MessageToRegistry& message) {
                                      ++messages;
                                      for (Seen& seen : seen_in(message.body))
                                        arrived.push_back(std::move(seen));
                                    },
                                    [](const MessageToMatcher&) {}, [](std::uint64_t) {}});
    RelayTree leaf(links[1].get(),
                   {[](const MessageToRegistry&) {}, [](const MessageToMatcher&) {}, [](std::uint64_t) {}});
    const auto random_body = [&]() -> RegistryBody {
      const std::uint64_t connection = 1 + below(6);
      switch (below(12)) {
        case 0:
          return header(connection, 1 + below(1000));
        case 1:
          return ConnectionEnded{connection};
        case 2:
        case 3:
          return create(connection, 1 + below(2), below(8));
        case 4:
        case 5:
          return open(connection, 1 + below(2), below(8));
        case 6:
        case 7:
          return publish(connection, 1 + below(2));
        case 8:
          return close(connection, 1 + below(2));
        case 9:
          return SegmentsMapped{{{connection, below(1000)}}};
        default:
          return segment(connection, below(1000), 4096 * (1 + below(3)));
      }
    };
    std::size_t sent_messages = 0;
    for (int turn = 0; turn < 400; ++turn) {
      std::vector<Seen> sent;
      arrived.clear();
      RegistryBody body = random_body();
      for (std::uint32_t left = 1 + below(60); left > 0; --left) {
        if (below(3) == 0) body = random_body();  // else as the last one: series are to be long
        if (auto* const request = std::get_if<ClientRequest>(&body)) request->connection = 1 + below(6);
        for (Seen& seen : seen_in(body)) sent.push_back(std::move(seen));
        leaf.send_up(body);
        ++sent_messages;
      }
      leaf.flush();
      while (links[0]->poll() || links[1]->poll()) {
      }
      REQUIRE(arrived.size() == sent.size());
      for (std::uint64_t connection = 1; connection <= 6; ++connection) {
        const auto of_connection = [&](const std::vector<Seen>& all) {
          std::vector<Seen> own;
          std::ranges::copy_if(all, std::back_inserter(own),
                               [&](const Seen& seen) { return seen.connection == connection; });
          return own;
        };
        CHECK(of_connection(arrived) == of_connection(sent));
      }
      // Only neighbours of one kind, for one step or group, may have changed places.
      for (std::size_t i = 0; i < sent.size(); ++i) {
        CHECK(arrived[i].kind == sent[i].kind);
        const bool has_step =
            sent[i].kind == "publish" || sent[i].kind == "close" || sent[i].kind == "header";
        if (has_step) CHECK(arrived[i].about == sent[i].about);
        const bool has_group = sent[i].kind == "create" || sent[i].kind == "open";
        if (has_group) CHECK(arrived[i].about / 1000 == sent[i].about / 1000);
      }
    }
    CHECK(messages < sent_messages / 2);
  }
}
