#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "client_connections.hpp"
#include "matcher_base.hpp"

namespace sluice::runtime {

/// Names segments to clients, and sends the descriptors of files that they do not have. Also lends segments
/// of this matcher to its neighbours, the other matchers of the node.
class ClientSegments {
 public:
  ClientSegments(MatcherBase& base, ClientConnections& clients) : base_(base), clients_(clients) {}

  /// Answers with the segment, which the registry has granted. Throws Error when the segment could not be
  /// made.
  void grant(Client& client, std::uint32_t tag, matcher::SegmentId segment);
  /// Sends the segment's descriptor before an answer that names it, unless the client has it. The registry is
  /// told of it.
  void introduce(Client& client, matcher::SegmentId segment);
  /// Sends an answer behind the descriptors of the segments that it names; an error instead when they cannot
  /// be had.
  void send_with(Client& client, const std::vector<matcher::SegmentId>& segments, MessageType type,
                 std::uint32_t tag, std::vector<std::byte> fields);
  /// Lends a segment, or waits until it is made. The registry may name a segment to a neighbour before this
  /// matcher has made it.
  void lend(Client& neighbour, matcher::SegmentId segment);
  /// Call it when the segment has been made.
  void serve_waiting_neighbours(matcher::SegmentId segment);

 private:
  void give(Client& client, std::uint32_t tag, matcher::SegmentId segment);
  void send_grant(Client& client, std::uint32_t tag, matcher::SegmentId segment);
  void lend_now(Client& neighbour, matcher::SegmentId segment);

  MatcherBase& base_;
  ClientConnections& clients_;
  std::map<matcher::SegmentId, std::vector<ClientId>> waiting_neighbours_;
};

}  // namespace sluice::runtime
