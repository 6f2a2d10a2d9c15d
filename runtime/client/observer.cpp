#include "sluice/runtime/observer.hpp"

#include <iterator>
#include <utility>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/session.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime {

Observer::Observer(PacketSocket socket, const std::string& socket_path, const std::string& component)
    : socket_(std::move(socket)) {
  const Hello hello = hello_of_process(component, random_number());
  const ReceivedMessage welcome = exchange(MessageType::hello, encode(hello), MessageType::welcome);
  (void)welcome_of(welcome, socket_path);
  if (!welcome.descriptors.empty()) names_.emplace(welcome.descriptors.front());
}

Listing Observer::list(ListRequest request) {
  Listing all;
  do {
    auto part = decode<Listing>(exchange(MessageType::list, encode(request), MessageType::listing).fields);
    std::ranges::move(part.files, std::back_inserter(all.files));
    all.gone += part.gone;
    request.after = std::move(part.last);
  } while (request.after);
  return all;
}

RunView Observer::watch(const WatchRequest& request) {
  return decode<RunView>(exchange(MessageType::watch, encode(request), MessageType::run_view).fields);
}

FileImage Observer::image(const DatasetKey& key, const std::string& path) {
  Open open{key, {random_number() >> 1, 0, 1}, path};
  open.wants = Open::Form::bytes;
  return image_of(exchange(MessageType::open, encode(open), MessageType::image_made));
}

void Observer::ask(const Open& open) {
  (void)exchange(MessageType::open, encode(open), MessageType::done);
}

ReceivedMessage Observer::exchange(MessageType type, std::vector<std::byte> fields, MessageType expected) {
  const std::uint32_t tag = ++last_tag_;
  socket_.send({type, tag, std::move(fields)});
  for (;;) {
    auto message = socket_.receive();
    if (!message) throw Error(NC_EIO, "the run has ended");
    if (message->tag != tag) continue;
    throw_if_error(*message);
    if (message->type != expected) throw Error(NC_EIO, "damaged packet: it is no answer");
    return std::move(*message);
  }
}

Observer observe(const std::string& socket_path, const std::string& component) {
  return {connect_to(socket_path), socket_path, component};
}

}  // namespace sluice::runtime
