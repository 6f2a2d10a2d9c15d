#include "sluice/runtime/matcher_rank.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <chrono>
#include <utility>

#include "matcher_server.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/run_processes.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime {

namespace {

using std::chrono::microseconds;

/// While packets come and go, more are likely to come within a moment.
constexpr int yields_before_sleep = 16;
constexpr microseconds shortest_sleep{50};

}  // namespace

MatcherRank::MatcherRank(MatcherRankOptions options)
    : server_(std::make_unique<Server>(std::move(options))) {}
MatcherRank::~MatcherRank() = default;
void MatcherRank::run() {
  server_->run();
}

MatcherRank::Server::Server(MatcherRankOptions options)
    : run_mark_(runtime::run_mark(options.socket_path)),
      socket_path_(matcher_socket_path(options.socket_path,
                                       options.nodes.index_on_host(options.link ? options.link->rank() : 0))),
      listener_(listen_at(socket_path_)),
      listener_watch_(loop_, listener_.number()),
      accept_pause_(loop_),
      spare_(::open("/dev/null", O_RDONLY | O_CLOEXEC)),
      idle_timer_(loop_),
      retry_timer_(loop_),
      retry_pause_(least_retry_pause),
      link_(std::move(options.link)),
      longest_sleep_(options.longest_sleep),
      nodes_(std::move(options.nodes)),
      bell_(std::move(options.bell)),
      bell_watch_(loop_),
      neighbours_(loop_, {nodes_.place_of(link_ ? link_->rank() : 0),
                          [this, first = options.socket_path](matcher::MatcherPlace place) {
                            return matcher_socket_path(first, nodes_.index_on_host(nodes_.rank_of(place)));
                          },
                          &store_}),
      tree_(link_.get(), {[this](const RelayItem& item) { take_for_registry(item); },
                          [this](RelayItem item) { take_from_registry(std::move(item)); },
                          [this](std::uint64_t round) { finish_round(round); }}) {
  if (options.huge_pages) store_.use_huge_pages(std::move(*options.huge_pages));
  if (link_) start_exchange();
  if (options.coordinator) {
    coordinator_ =
        std::make_unique<WatchedSocket>(loop_, std::move(*options.coordinator), [this] { on_coordinator(); });
  }
}

MatcherRank::Server::~Server() {
  listener_watch_.release();
  const auto work = boost::asio::make_work_guard(loop_);
  if (bell_) bell_watch_.release();
  ::unlink(socket_path_.c_str());
}

void MatcherRank::Server::run() {
  if (coordinator_) coordinator_->read_on();
  if (link_) return run_with_link();
  watch_listener();
  loop_.run();
}

// The loop with other matchers

/// Sockets wake this loop, and so does the bell that matchers of the same machine ring; packets from
/// other machines do not: they are looked for in growing intervals.
void MatcherRank::Server::run_with_link() {
  if (bell_) bell_watch_.assign(bell_->descriptor()), watch_bell();
  int quiet_turns = 0;
  auto sleep = shortest_sleep;
  while (!loop_.stopped()) {
    const bool has_happened = loop_.poll() > 0;
    const bool has_moved = turn_link();
    if (is_ending_ && !tree_.has_open_rounds() && link_->is_idle()) break;
    if (has_happened || has_moved) quiet_turns = 0, sleep = shortest_sleep;
    if (++quiet_turns <= yields_before_sleep) {
      ::sched_yield();
      continue;
    }
    idle_timer_.expires_after(sleep);
    idle_timer_.async_wait([](const boost::system::error_code&) {});
    loop_.run_one();
    idle_timer_.cancel();
    const bool is_busy = !link_->is_idle() || link_->is_expecting();
    sleep = std::min(2 * sleep, is_busy ? 4 * shortest_sleep : longest_sleep_);
  }
  leave_link();
}

/// Every piece of data that anybody expects must come before its place goes, and its sender.
void MatcherRank::Server::leave_link() {
  moving_->forget_all();
  while (moving_->is_expecting()) {
    if (!turn_link()) ::sched_yield();
  }
  link_->begin_to_leave();
  while (!link_->may_leave() || !link_->is_idle()) {
    if (!turn_link()) ::sched_yield();
  }
}

void MatcherRank::Server::watch_bell() {
  bell_watch_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                         [this](const boost::system::error_code& error) {
                           if (error) return;
                           bell_->quiet();
                           watch_bell();
                         });
}

/// One packet to each neighbour for all that this turn has brought.
bool MatcherRank::Server::turn_link() {
  end_troubled_clients();
  const bool has_received = link_->poll();
  end_troubled_clients();
  tree_.flush();
  const bool has_moved = link_->poll();
  tree_.flush();  // what that has brought: this turn may be the last
  return has_moved || has_received;
}

// The coordinator

void MatcherRank::Server::on_coordinator() {
  const auto end = [this] { shut_down([this] { loop_.stop(); }); };
  ReceivedMessage message;
  try {
    for (;;) {
      const auto outcome = coordinator_->socket().try_receive(message);
      if (outcome == PacketSocket::Outcome::would_block) break;
      if (outcome == PacketSocket::Outcome::closed) return end();
      handle_coordinator(message);
      if (loop_.stopped()) return;
    }
  } catch (const Error&) {  // there is nobody left to tell
    return end();
  }
  end_troubled_clients();
  coordinator_->read_on();
}

void MatcherRank::Server::handle_coordinator(const ReceivedMessage& message) {
  const auto status = [this, tag = message.tag] {
    coordinator_->send(MessageType::status, tag, encode(desk_ ? desk_->status() : StatusReport{}));
  };
  switch (message.type) {
    case MessageType::coordinator_hello:
      return start_registry(message);
    case MessageType::component_exited: {
      const auto exit = decode<ComponentExited>(message.fields);
      return start_round(Round::drain_component, exit.component, [this, exit] {
        if (desk_) desk_->component_exited(exit);
      });
    }
    case MessageType::status_query:
      if (desk_) desk_->look_again();
      return status();
    case MessageType::shutdown:
      return shut_down([this, status] {
        status();
        coordinator_->flush();
        loop_.stop();
      });
    default:
      throw Error(NC_EIO,
                  "the coordinator sent a message of type " + std::string(message_name(message.type)));
  }
}

void MatcherRank::Server::start_registry(const ReceivedMessage& message) {
  auto hello = decode<CoordinatorHello>(message.fields);
  if (hello.protocol != protocol_version || desk_) {
    const std::string text = desk_ ? "the coordinator says hello twice"
                                   : "the coordinator speaks protocol " + std::to_string(hello.protocol) +
                                         ", the matcher protocol " + std::to_string(protocol_version) +
                                         ": they are of different builds of Sluice";
    coordinator_->send(MessageType::error, message.tag, encode(ErrorReply{NC_EIO, text}));
    return;
  }
  const std::string spill_directory =
      (hello.may_spill_elsewhere && !hello.spill_directory.empty() ? spill_here_or_elsewhere : "") +
      hello.spill_directory;
  const auto matchers = static_cast<std::uint32_t>(nodes_.matchers_of(0).size());
  // The nodes of a run are of one kind.
  if (hello.prewarms_huge_pages_only && !store_.uses_huge_pages()) hello.prewarm_bytes = 0;
  const matcher::WarmShares warm = matcher::warm_shares(hello.prewarm_bytes, matchers);
  desk_.emplace(std::move(hello), RegistryDesk::Environment{
                                      &nodes_, [this](RelayItem item) { tree_.send_down(std::move(item)); },
                                      [this](const std::string& text) { event(text); },
                                      [this](const std::string& text) { event(text, Interest::detail); },
                                      [this](matcher::SegmentId segment) {
                                        return moving_ && moving_->is_receiving_into(segment);
                                      }});
  start_round(
      Round::start, spill_directory, [this, tag = message.tag] { tell_ready(tag); }, warm.bytes);
}

void MatcherRank::Server::tell_ready(std::uint32_t tag) {
  if (start_trouble_.empty()) return coordinator_->send(MessageType::ready, tag, {});
  coordinator_->send(MessageType::error, tag, encode(ErrorReply{NC_EIO, start_trouble_}));
}

void MatcherRank::Server::take_for_registry(const RelayItem& item) {
  if (item.kind == RelayItemKind::start_trouble) {
    start_trouble_ = item.text;  // of one node: the others' are of the same kind
  } else if (desk_) {
    desk_->take(item);
  }
}

// Rounds

void MatcherRank::Server::start_round(Round round, const std::string& text, std::function<void()> when_done,
                                      std::uint64_t wanted_bytes) {
  const std::uint64_t number = tree_.next_round();
  rounds_[number] = std::move(when_done);
  tree_.start_round(round, text, wanted_bytes);
}

void MatcherRank::Server::finish_round(std::uint64_t round) {
  const auto done = rounds_.extract(round);
  if (!done.empty()) done.mapped()();
}

void MatcherRank::Server::shut_down(std::function<void()> when_done) {
  if (std::exchange(is_shutting_down_, true)) return;
  if (desk_) desk_->keep_unfinished_logs();
  start_round(Round::shut_down, {}, std::move(when_done));
}

void MatcherRank::Server::event(const std::string& text, Interest interest) {
  const bool is_detail = interest == Interest::detail;
  if (coordinator_) return coordinator_->send(MessageType::event, 0, encode(EventNotice{text, is_detail}));
  RelayItem item;
  item.kind = RelayItemKind::notice;
  item.text = text;
  item.tag = is_detail ? 1 : 0;
  tree_.send_up(std::move(item));
}

MatcherStatus MatcherRank::Server::counters() const {
  MatcherStatus status;
  status.rank = tree_.rank();
  status.node = nodes_.place_of(status.rank).node;
  status.requests = requests_;
  if (!link_) return status;
  status.landed_bytes = moving_->landed_bytes();
  for (const PacketKind kind : {PacketKind::relay, PacketKind::exchange}) {
    const PeerCounters& counted = link_->counters(kind);
    status.links.push_back(
        {counted.packets_sent, counted.bytes_sent, counted.packets_received, counted.bytes_received});
  }
  return status;
}

}  // namespace sluice::runtime
