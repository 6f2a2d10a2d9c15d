#include "matcher_line.hpp"

#include "sluice/formats/error.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::coordinator {

using boost::asio::posix::stream_descriptor;
using runtime::MessageType;

MatcherLine::MatcherLine(boost::asio::io_context& context, runtime::PacketSocket socket, Listener& listener)
    : socket_(std::move(socket)), watched_(context, socket_.descriptor()), listener_(listener) {
  wait_readable();
}

MatcherLine::~MatcherLine() {
  watched_.release();
}

void MatcherLine::send_hello(const runtime::CoordinatorHello& hello) {
  send(MessageType::coordinator_hello, runtime::encode(hello));
}

void MatcherLine::tell_exit(const runtime::ComponentExited& exit) {
  send(MessageType::component_exited, runtime::encode(exit));
}

void MatcherLine::tell_job(const runtime::JobNote& job) {
  send(MessageType::job, runtime::encode(job));
}

void MatcherLine::watch(const runtime::WatchRequest& request, ViewReceiver receiver) {
  if (lost_) return;
  view_receivers_.push_back(std::move(receiver));
  send(MessageType::watch, runtime::encode(request));
}

void MatcherLine::shut_down() {
  send(MessageType::shutdown, {});
}

void MatcherLine::send(MessageType type, std::vector<std::byte> fields) {
  if (lost_) return;
  queue_.emplace_back(type, 0, std::move(fields));
  flush();
}

void MatcherLine::flush() {
  if (waits_writable_) return;
  try {
    while (!queue_.empty() && socket_.try_send(queue_.front())) queue_.pop_front();
  } catch (const Error& error) {
    return lose(error.what());
  }
  if (queue_.empty()) return;
  waits_writable_ = true;
  watched_.async_wait(stream_descriptor::wait_write, [this](const boost::system::error_code& error) {
    if (error) return;
    waits_writable_ = false;
    flush();
  });
}

void MatcherLine::wait_readable() {
  watched_.async_wait(stream_descriptor::wait_read, [this](const boost::system::error_code& error) {
    if (!error) receive_all();
  });
}

void MatcherLine::receive_all() {
  using Outcome = runtime::PacketSocket::Outcome;
  try {
    runtime::ReceivedMessage message;
    Outcome outcome = socket_.try_receive(message);
    for (; outcome == Outcome::received; outcome = socket_.try_receive(message)) dispatch(message);
    if (outcome == Outcome::closed) return lose("the matcher closed the connection");
  } catch (const Error& error) {
    return lose(error.what());
  }
  wait_readable();
}

void MatcherLine::dispatch(const runtime::ReceivedMessage& message) {
  switch (message.type) {
    case MessageType::done:
      return listener_.matcher_ready();
    case MessageType::status:
      return listener_.matcher_reported(runtime::decode<runtime::StatusReport>(message.fields));
    case MessageType::run_view:
      return take_view(runtime::decode<runtime::RunView>(message.fields));
    case MessageType::event:
      return listener_.matcher_told(runtime::decode<runtime::EventNotice>(message.fields));
    case MessageType::file_published:
      return listener_.file_published(runtime::decode<runtime::FilePublished>(message.fields));
    case MessageType::component_settled: {
      const auto settled = runtime::decode<runtime::ComponentSettled>(message.fields);
      return settled.starts_again ? listener_.component_may_start(settled.component)
                                  : listener_.component_settled(settled.component);
    }
    case MessageType::error: {
      const auto reply = runtime::decode<runtime::ErrorReply>(message.fields);
      throw Error(NC_EIO, reply.text);
    }
    default:
      throw Error(NC_EIO, "an unexpected message: " + std::string(runtime::message_name(message.type)));
  }
}

/// Questions are answered in their order.
void MatcherLine::take_view(runtime::RunView view) {
  if (view_receivers_.empty()) throw Error(NC_EIO, "the matcher answers a question that nobody has asked");
  const ViewReceiver receiver = std::move(view_receivers_.front());
  view_receivers_.pop_front();
  receiver(std::move(view));
}

void MatcherLine::lose(const std::string& reason) {
  if (lost_) return;
  lost_ = true;
  queue_.clear();
  watched_.cancel();
  listener_.matcher_line_lost(reason);
}

}  // namespace sluice::coordinator
