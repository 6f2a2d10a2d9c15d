#include "coordinator_line.hpp"

#include <utility>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/send_time.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime {

CoordinatorLine::CoordinatorLine(MatcherBase& base, ClientConnections& clients, OfferPages* offers,
                                 PacketSocket socket)
    : base_(base),
      clients_(clients),
      offers_(offers),
      socket_(base.loop, std::move(socket), [this] { on_readable(); }),
      pings_(base),
      look_timer_(base.loop) {}

/// An answer of the registry to a process of this matcher may lead to a message to the registry at once, in
/// the middle of its call. The registry must not be called then: it may hold what the call would remove.
template <class Work>
void CoordinatorLine::in_turn(Work work) {
  if (is_in_turn_) return waiting_.push_back(std::move(work));
  struct Turn {
    bool& is_going_on;
    ~Turn() { is_going_on = false; }
  } const turn{is_in_turn_};
  is_in_turn_ = true;
  work();
  while (!waiting_.empty()) {
    const auto next = std::move(waiting_.front());
    waiting_.pop_front();
    next();
  }
  if (!service_) return;
  if (service_->has_past_files()) service_->fold_past_files();
  look_soon();
}

/// Soon after somebody has begun to wait, and then later and later: at last, the coordinator asks often
/// enough.
void CoordinatorLine::look_soon() {
  constexpr std::chrono::milliseconds first{100}, none{0}, last{1000};
  if (!service_->is_anybody_waiting()) return void(next_look_ = none);
  if (next_look_ >= last || look_timer_.expiry() > std::chrono::steady_clock::now()) return;
  next_look_ = next_look_ == none ? first : 2 * next_look_;
  look_timer_.expires_after(next_look_);
  look_timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) in_turn([this] { service_->look_at_others(); });
  });
}

void CoordinatorLine::on_readable() {
  const auto end = [this] { shut_down([this] { base_.loop.stop(); }); };
  ReceivedMessage message;
  try {
    for (;;) {
      const auto outcome = socket_.socket().try_receive(message);
      if (outcome == PacketSocket::Outcome::would_block) break;
      if (outcome == PacketSocket::Outcome::closed) return end();
      if (offers_ != nullptr) offers_->take_mail(shared_clock());
      handle(message);
      if (base_.loop.stopped()) return;
    }
  } catch (const Error& failure) {
    try {  // the coordinator may be there
      socket_.send(MessageType::error, 0, encode(ErrorReply{NC_EIO, failure.what()}));
      socket_.flush();
    } catch (const Error&) {
      // nobody is left to tell
    }
    return end();
  }
  clients_.end_troubled();
  socket_.read_on();
}

void CoordinatorLine::handle(const ReceivedMessage& message) {
  switch (message.type) {
    case MessageType::coordinator_hello:
      return start_registry(message);
    case MessageType::component_exited: {
      const auto exit = decode<ComponentExited>(message.fields);
      in_turn([this, &exit] {
        if (service_) service_->component_ends(exit.component);
      });
      return start_round(TakeSent{.component = exit.component, .path = {}, .has_ended = true}, [this, exit] {
        if (service_) service_->component_exited(exit);
        socket_.send(MessageType::component_settled, 0,
                     encode(ComponentSettled{exit.component, exit.starts_again}));
      });
    }
    case MessageType::job: {
      const auto job = decode<JobNote>(message.fields);
      const auto tell = [this, job] {
        if (service_) service_->take(job);
      };
      // The last messages of its processes come first.
      return job.state == JobNote::State::begun ? in_turn(tell)
                                                : start_round(TakeSent{job.component, {}}, tell);
    }
    case MessageType::watch:
      return tell_view(decode<WatchRequest>(message.fields), message.tag);
    case MessageType::shutdown:
      return shut_down([this, tag = message.tag] {
        tell_status(tag);
        socket_.flush();
        base_.loop.stop();
      });
    default:
      throw Error(NC_EIO,
                  "the coordinator sent a message of type " + std::string(message_name(message.type)));
  }
}

void CoordinatorLine::start_registry(const ReceivedMessage& message) {
  auto hello = decode<CoordinatorHello>(message.fields);
  if (hello.protocol != protocol_version || service_) {
    const std::string text = service_ ? "the coordinator says hello twice"
                                      : "the coordinator speaks protocol " + std::to_string(hello.protocol) +
                                            ", the matcher protocol " + std::to_string(protocol_version) +
                                            ": they are of different builds of Sluice";
    socket_.send(MessageType::error, message.tag, encode(ErrorReply{NC_EIO, text}));
    return;
  }
  const auto matchers = static_cast<std::uint32_t>(base_.nodes.matchers_of(0).size());
  // All nodes of a run are alike.
  if (hello.prewarms_huge_pages_only && !base_.store.uses_huge_pages()) hello.prewarm_bytes = 0;
  StartServing start{hello.spill_directory, hello.may_spill_elsewhere,
                     matcher::warm_shares(hello.prewarm_bytes, matchers).bytes, hello.memory_bytes};
  RegistryOutlet& outlet = *this;
  service_.emplace(std::move(hello), base_.nodes, outlet);
  start_round(std::move(start), [this, tag = message.tag] { tell_ready(tag); });
}

void CoordinatorLine::tell_ready(std::uint32_t tag) {
  const std::string& trouble = service_->start_trouble();
  if (trouble.empty()) {
    socket_.send(MessageType::done, tag, encode(Done{}));
    if (service_->has_former_steps()) base_.names.stop();  // they have files in any directory
    return service_->restore_steps();
  }
  socket_.send(MessageType::error, tag, encode(ErrorReply{NC_EIO, trouble}));
}

void CoordinatorLine::tell_view(const WatchRequest& request, std::uint32_t tag) {
  if (request.is_for_progress) {
    in_turn([this] {
      if (service_) service_->look_again();
    });
    pings_.ask();
  }
  RunView view = service_ ? service_->view(request) : RunView{};
  view.silent = pings_.silent();
  socket_.send(MessageType::run_view, tag, encode(view));
}

void CoordinatorLine::tell_status(std::uint32_t tag) {
  socket_.send(MessageType::status, tag, encode(service_ ? service_->status() : StatusReport{}));
}

void CoordinatorLine::take(MessageToRegistry message) {
  if (auto* const looked = std::get_if<Looked>(&message.body); looked != nullptr && looked->number == 0)
    return pings_.take(message.matcher, std::move(*looked));
  if (!service_) return;
  if (is_in_turn_) return waiting_.push_back([this, message] { service_->take(message); });
  in_turn([&] { service_->take(std::move(message)); });
}

void CoordinatorLine::send(const EventNotice& notice) {
  socket_.send(MessageType::event, 0, encode(notice));
}

void CoordinatorLine::send(FilePublished file) {
  socket_.send(MessageType::file_published, 0, encode(file));
}

// Rounds

void CoordinatorLine::start_round(RoundTask task, std::function<void()> when_done) {
  rounds_[base_.tree.next_round()] = std::move(when_done);
  base_.tree.start_round(std::move(task));
}

/// Later: this matcher's part may take messages of the client whose message is being handled.
void CoordinatorLine::take_sent(const TakeSent& what, std::function<void()> then) {
  boost::asio::post(base_.loop, [this, what, then = std::move(then)] { start_round(what, then); });
}

void CoordinatorLine::finish_round(std::uint64_t round) {
  const auto done = rounds_.extract(round);
  if (!done.empty()) in_turn(done.mapped());
}

void CoordinatorLine::shut_down(std::function<void()> when_done) {
  if (std::exchange(is_shutting_down_, true)) return;
  in_turn([this] {
    if (service_) service_->keep_unfinished_logs();
  });
  start_round(ShutDown{}, std::move(when_done));
}

}  // namespace sluice::runtime
