#include "client_segments.hpp"

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime {

namespace {

SegmentGrant grant_of(const SegmentStore& store, matcher::SegmentId segment, bool is_new) {
  const SegmentExtent extent = store.extent(segment);
  return {segment,
          extent.bytes,
          is_new,
          extent.offset_bytes,
          extent.may_have_name,
          store.has_cheap_faults(segment),
          extent.file};
}

}  // namespace

void ClientSegments::grant(Client& client, std::uint32_t tag, matcher::SegmentId segment) {
  if (client.known_segments.contains(segment))
    return clients_.send(client, MessageType::segment, tag, encode(grant_of(base_.store, segment, false)));
  give(client, tag, segment);
}

void ClientSegments::introduce(Client& client, matcher::SegmentId segment) {
  if (client.known_segments.contains(segment)) return;
  give(client, 0, segment);
  base_.tree.send_up(SegmentsMapped{{{client.id, segment}}});
}

void ClientSegments::give(Client& client, std::uint32_t tag, matcher::SegmentId segment) {
  const SharedFile file = base_.store.descriptor(segment);  // throws when the segment could not be made
  client.known_segments.insert(segment);
  send_grant(client, tag, segment);
}

void ClientSegments::send_with(Client& client, const std::vector<matcher::SegmentId>& segments,
                               MessageType type, std::uint32_t tag, std::vector<std::byte> fields) {
  std::vector<matcher::SegmentId> unknown;
  for (const matcher::SegmentId segment : segments)
    if (!client.known_segments.contains(segment)) unknown.push_back(segment);
  const auto has_failed = std::make_shared<bool>(false);  // shared by the uses of the parts
  const auto use = [this, id = client.id, type, tag, fields = std::move(fields), has_failed](
                       std::span<const matcher::SegmentId> part, bool is_last) {
    Client* const receiver = clients_.find(id);
    if (receiver == nullptr || *has_failed) return;
    try {
      for (const matcher::SegmentId segment : part) introduce(*receiver, segment);
      if (is_last) clients_.send(*receiver, type, tag, fields);
    } catch (const Error& error) {
      *has_failed = true;
      clients_.send_error(*receiver, tag, error.status(), error.what());
    }
  };
  base_.neighbours.open(std::move(unknown), use);
}

void ClientSegments::send_grant(Client& client, std::uint32_t tag, matcher::SegmentId segment) {
  std::vector<SharedFile> files{base_.store.descriptor(segment)};
  const std::uint64_t file = base_.store.extent(segment).file;
  const bool is_new = file == 0 || client.known_files.insert(file).second;
  if (!is_new) files.clear();
  clients_.send(client, MessageType::segment, tag, encode(grant_of(base_.store, segment, is_new)),
                std::move(files));
}

void ClientSegments::lend(Client& neighbour, matcher::SegmentId segment) {
  neighbour.is_neighbour = true;
  if (base_.store.is_expected(segment)) {
    waiting_neighbours_[segment].push_back(neighbour.id);
    return;
  }
  if (!base_.store.has_file(segment))
    return clients_.send(neighbour, MessageType::segment, 0, encode(SegmentGrant{segment, 0, false}));
  base_.neighbours.open({segment}, [this, id = neighbour.id, segment](auto, bool) {
    if (Client* const receiver = clients_.find(id)) lend_now(*receiver, segment);
  });
}

/// Where it cannot be opened, the neighbour's user of the segment gets an error.
void ClientSegments::lend_now(Client& neighbour, matcher::SegmentId segment) {
  try {
    send_grant(neighbour, 0, segment);
  } catch (const Error& error) {
    base_.log.event(std::string("a segment cannot be lent to another matcher of the node: ") + error.what());
    clients_.send(neighbour, MessageType::segment, 0, encode(SegmentGrant{segment, 0, false}));
  }
}

void ClientSegments::serve_waiting_neighbours(matcher::SegmentId segment) {
  const auto waiting = waiting_neighbours_.extract(segment);
  if (waiting.empty()) return;
  for (const ClientId id : waiting.mapped()) {
    if (Client* const neighbour = clients_.find(id)) lend(*neighbour, segment);
  }
}

}  // namespace sluice::runtime
