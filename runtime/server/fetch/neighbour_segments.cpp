#include "neighbour_segments.hpp"

#include <algorithm>
#include <exception>
#include <span>
#include <utility>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime {

NeighbourSegments::NeighbourSegments(boost::asio::io_context& loop, Environment environment)
    : loop_(loop), environment_(std::move(environment)) {}

void NeighbourSegments::fetch(const std::vector<matcher::SegmentId>& segments, std::function<void()> then) {
  Fetch fetch;
  for (const matcher::SegmentId segment : segments) {
    const matcher::MatcherPlace owner = matcher::owner_of(segment);
    const bool is_neighbours = owner.node == environment_.place.node && owner != environment_.place;
    if (is_neighbours && !environment_.store->contains(segment)) fetch.missing.insert(segment);
  }
  if (fetch.missing.empty()) return then();
  for (const matcher::SegmentId segment : fetch.missing) {
    if (!asked_.insert(segment).second) continue;
    connection_to(matcher::owner_of(segment))
        .send(MessageType::fetch_segment, 0, encode(FetchSegment{segment}));
  }
  fetch.then = std::move(then);
  fetches_.push_back(std::move(fetch));
}

void NeighbourSegments::open(std::vector<matcher::SegmentId> segments, SegmentUser use) {
  // Shared by the functions that open one part after the other.
  const auto opening = std::make_shared<Opening>(Opening{std::move(segments), std::move(use)});
  fetch(opening->segments, [this, opening] {
    const auto& all = opening->segments;
    environment_.store->log_openers(all).empty() ? opening->use(all, true) : open_part(opening);
  });
}

void NeighbourSegments::open_part(const std::shared_ptr<Opening>& opening) {
  constexpr std::size_t most_at_once = 32;
  const auto rest = std::span(opening->segments).subspan(opening->done);
  const auto part = rest.first(std::min(most_at_once, rest.size()));
  opening->done += part.size();
  const auto open = std::make_shared<std::vector<SharedFile>>();  // shared by the two successive functions
  opener_.submit(
      [open, openers = environment_.store->log_openers(part)] {
        for (const MappedFile::Opener& opener : openers) {
          try {
            open->push_back(opener());
          } catch (const std::exception&) {
            // Who uses the segment gets the error.
          }
        }
      },
      [this, opening, part, open] {
        const bool is_last = opening->done == opening->segments.size();
        opening->use(part, is_last);
        open->clear();
        if (!is_last) open_part(opening);
      });
}

WatchedSocket& NeighbourSegments::connection_to(matcher::MatcherPlace neighbour) {
  auto& connection = connections_[neighbour];
  if (connection == nullptr) {
    connection = std::make_unique<WatchedSocket>(loop_, connect_to(environment_.socket_path(neighbour)),
                                                 [this, neighbour] { on_answers(neighbour); });
    connection->read_on();
  }
  return *connection;
}

void NeighbourSegments::on_answers(matcher::MatcherPlace neighbour) {
  WatchedSocket& connection = *connections_.at(neighbour);
  for (;;) {
    ReceivedMessage message;
    const auto outcome = connection.socket().try_receive(message);
    if (outcome == PacketSocket::Outcome::would_block) break;
    if (outcome == PacketSocket::Outcome::closed) {
      if (asked_.empty()) return;  // at the end of the run
      throw Error(NC_EIO, "another matcher of the node has ended");
    }
    FileDescriptor file;
    if (!message.descriptors.empty()) file = std::move(message.descriptors.front());
    take(message, std::move(file));
  }
  connection.read_on();
}

/// A segment that has been destroyed meanwhile comes without bytes and file; its user then gets an error. An
/// image may be a file without bytes.
void NeighbourSegments::take(const ReceivedMessage& message, FileDescriptor file) {
  if (message.type != MessageType::segment)
    throw Error(NC_EIO, "another matcher sent another message than a segment");
  const auto grant = decode<SegmentGrant>(message.fields);
  if (grant.bytes != 0 || grant.has_descriptor)
    environment_.store->adopt(grant.segment, {grant.bytes, grant.offset_bytes, grant.is_of_log, grant.file},
                              std::move(file), grant.has_cheap_faults);
  asked_.erase(grant.segment);
  settle(grant.segment);
}

void NeighbourSegments::settle(matcher::SegmentId segment) {
  std::vector<std::function<void()>> complete;
  for (auto fetch = fetches_.begin(); fetch != fetches_.end();) {
    fetch->missing.erase(segment);
    if (!fetch->missing.empty()) {
      ++fetch;
      continue;
    }
    complete.push_back(std::move(fetch->then));
    fetch = fetches_.erase(fetch);
  }
  for (const auto& then : complete) then();
}

}  // namespace sluice::runtime
