#include "sluice/runtime/matcher_server.hpp"

#include <chrono>
#include <utility>

#include "matcher_server_state.hpp"
#include "sluice/runtime/run_processes.hpp"
#include "sluice/runtime/send_time.hpp"

namespace sluice::runtime {

namespace {

/// The path where a matcher of this machine listens.
std::string socket_path_of(const std::string& first, const NodeMap& nodes, matcher::MatcherPlace place) {
  return matcher_socket_path(first, nodes.index_on_host(nodes.rank_of(place)));
}

}  // namespace

MatcherServer::MatcherServer(MatcherServerOptions options)
    : server_(std::make_unique<Server>(std::move(options))) {}
MatcherServer::~MatcherServer() = default;
void MatcherServer::run() {
  server_->run();
}

MatcherServer::Server::Server(MatcherServerOptions options)
    : link_(std::move(options.link)),
      nodes_(std::move(options.nodes)),
      neighbours_(loop_, {nodes_.place_of(link_ ? link_->rank() : 0),
                          [this, first = options.socket_path](matcher::MatcherPlace place) {
                            return socket_path_of(first, nodes_, place);
                          },
                          &store_}),
      tree_(link_.get(), {[this](MessageToRegistry message) {
                            if (coordinator_) coordinator_->take(std::move(message));
                          },
                          [this](MessageToMatcher message) { inbox_.take(std::move(message.body)); },
                          [this](std::uint64_t round) {
                            if (coordinator_) coordinator_->finish_round(round);
                          }}),
      base_{loop_, nodes_, store_, disk_worker_, neighbours_, tree_, *this},
      views_(tree_),
      shared_(link_ ? std::make_unique<SharedGets>(
                          GetParts{base_, clients_, segments_, views_, deferred_, history_}, *link_, written_,
                          [this] { inbox_.take_held(); })
                    : nullptr),
      gets_({base_, clients_, segments_, views_, deferred_, history_}, shared_.get()),
      requests_({base_, clients_, segments_, views_, deferred_, history_}, gets_, written_,
                [this] { return is_ready(); }),
      clients_(base_, socket_path_of(options.socket_path, nodes_, base_.place()),
               socket_path_of(options.door_path, nodes_, base_.place()), requests_),
      segments_(base_, clients_),
      deferred_(base_, clients_, views_, gets_),
      answers_({base_, clients_, segments_, views_, deferred_, history_}, shared_.get(), published_),
      orders_(base_, segments_),
      looks_(base_, clients_, runtime::run_mark(options.socket_path)),
      drains_(base_, views_, published_),
      images_(base_, views_, shared_.get(), published_),
      published_(base_, clients_),
      written_(base_, clients_, published_),
      inbox_(base_, {clients_, answers_, gets_, shared_.get(), orders_, drains_, images_, written_, looks_,
                     [this](const BeginRound& begin) { take(begin); }}) {
  if (options.huge_pages) store_.use_huge_pages(std::move(*options.huge_pages));
  if (link_) {
    link_loop_ = std::make_unique<LinkLoop>(
        loop_, *link_,
        LinkLoop::Options{std::move(options.bell), options.longest_sleep,
                          [this](const std::exception& error) { note_failure(error); }},
        [this] { return turn_link(); });
  }
  if (options.coordinator) {
    OfferPages* const offers = link_ || !has_shared_clock() ? nullptr : &requests_.offers();
    coordinator_ =
        std::make_unique<CoordinatorLine>(base_, clients_, offers, std::move(*options.coordinator));
  }
}

MatcherServer::Server::~Server() = default;

void MatcherServer::Server::run() {
  if (coordinator_) coordinator_->read_on();
  if (link_) return run_with_link();
  clients_.listen();
  for (;;) {
    try {
      loop_.run();
      return;
    } catch (const std::exception& error) {
      note_failure(error);
    }
  }
}

/// Of what a handler has worked on, a client or a file may be left without an answer. All others go on.
void MatcherServer::Server::note_failure(const std::exception& error) {
  constexpr std::uint64_t most_failures = 1000;
  if (++failures_ > most_failures) throw;
  event(std::string("the matcher could not handle a request or an event, and goes on: ") + error.what());
}

/// Each expected piece of data must arrive before its memory and its sender go.
void MatcherServer::Server::run_with_link() {
  link_loop_->run([this] { return is_ending_ && !tree_.has_open_rounds() && link_->is_idle(); });
  shared_->forget_all();
  link_loop_->run_while([this] { return shared_->is_expecting(); });
  link_->begin_to_leave();
  link_loop_->run_while([this] { return !link_->may_leave() || !link_->is_idle(); });
}

/// Sends one packet to each neighbour for everything that this turn has produced.
bool MatcherServer::Server::turn_link() {
  clients_.end_troubled();
  const bool has_received = link_->poll();
  clients_.end_troubled();
  tree_.flush();
  const bool has_moved = link_->poll();
  tree_.flush();  // the handlers' messages: this turn may be the last
  return has_moved || has_received;
}

void MatcherServer::Server::tell(EventNotice notice) {
  if (coordinator_) return coordinator_->send(notice);
  tree_.send_up(std::move(notice));
}

void MatcherServer::Server::tell_made(matcher::SegmentId segment, const std::string& trouble) {
  tree_.send_up(SpillDone{segment, false, trouble});
  inbox_.take_held();  // the segment may have been released meanwhile
}

// Rounds

void MatcherServer::Server::take(const BeginRound& begin) {
  std::visit([&](const auto& task) { do_round(task, begin.round); }, begin.task);
}

void MatcherServer::Server::do_round(const StartServing& start, std::uint64_t /*round*/) {
  orders_.start(start);
  written_.start(start.memory_bytes);
  looks_.tell_of_itself();  // matcher 0 then knows where this matcher is, should it never answer again
  if (link_) clients_.listen();
}

/// The registry hears of the component's end when the files that its processes have closed are published.
void MatcherServer::Server::end_component(const std::string& component, std::uint64_t round) {
  clients_.drain_component(component);
  tree_.hold_part(round);
  written_.end_component(component, [this, round] { tree_.end_part(round); });
}

/// The loop goes on while logs are removed: it passes on what other matchers tell.
void MatcherServer::Server::do_round(const ShutDown& /*end*/, std::uint64_t round) {
  orders_.tell_of_warm_memory();
  written_.tell_of_copies();
  tree_.hold_part(round);
  store_.remove_logs([this, round] {
    removal_timer_.cancel();
    tree_.send_up(counters());
    is_ending_ = !coordinator_;
    tree_.end_part(round);
  });
  tell_of_removals(store_.disk_tasks());
}

/// The coordinator waits as long as it hears of progress.
void MatcherServer::Server::tell_of_removals(std::size_t before) {
  constexpr std::chrono::milliseconds interval{500};
  removal_timer_.expires_after(interval);
  removal_timer_.async_wait([this, before](const boost::system::error_code& error) {
    if (error) return;
    const std::size_t left = store_.disk_tasks();
    if (left != before)
      detail("matcher " + std::to_string(base_.rank()) +
             " removes burst-buffer logs and frees disk space: " + std::to_string(left) + " tasks are left");
    tell_of_removals(left);
  });
}

void MatcherServer::Server::do_round(const TakeSent& what, std::uint64_t round) {
  if (what.has_ended) return end_component(what.component, round);
  clients_.take_sent_by(what.component);
  if (what.path.empty()) return;
  tree_.hold_part(round);
  const std::string path = written_.path_of(what.key, what.path);
  written_.when_known(path, [this, what, path, round] {
    const bool follows = what.remover != TakeSent::nobody && what.remover != base_.rank();
    if (follows && what.is_link) written_.follow_link(what.key, path, {what.new_key, what.new_path});
    if (follows && !what.is_link) written_.follow_removal(path, what.new_key, what.new_path);
    tree_.end_part(round);
  });
}

MatcherStatus MatcherServer::Server::counters() const {
  MatcherStatus status;
  status.rank = base_.rank();
  status.node = base_.node();
  status.requests = requests_.count();
  if (!link_) return status;
  status.landed_bytes = shared_->landed_bytes();
  for (const PacketKind kind : {PacketKind::relay, PacketKind::exchange}) {
    const PeerCounters& counted = link_->counters(kind);
    status.links.push_back(
        {counted.packets_sent, counted.bytes_sent, counted.packets_received, counted.bytes_received});
  }
  return status;
}

}  // namespace sluice::runtime
