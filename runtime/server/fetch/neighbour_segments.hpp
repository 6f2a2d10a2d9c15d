#pragma once
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "disk_worker.hpp"
#include "fetch_host.hpp"
#include "segment_store.hpp"
#include "sluice/matcher/matcher_place.hpp"
#include "watched_socket.hpp"

namespace sluice::runtime {

/// Gets the descriptors of segments that other matchers of this node own, over local sockets. For this
/// purpose a matcher is a client of its neighbours.
class NeighbourSegments {
 public:
  struct Environment {
    matcher::MatcherPlace place;
    std::function<std::string(matcher::MatcherPlace)> socket_path;
    SegmentStore* store = nullptr;  ///< receives the segments; must outlive this object
  };

  NeighbourSegments(boost::asio::io_context& loop, Environment environment);

  /// Calls `then` when all these segments that still exist are in the store, at once or later. Does not wait
  /// for segments of other nodes. Throws Error when a neighbour cannot be reached.
  void fetch(const std::vector<matcher::SegmentId>& segments, std::function<void()> then);
  /// The same, and `use` finds the burst-buffer logs of its segments open: a thread opens them, because their
  /// disk may be slow. It gets the segments in parts, so that few logs are open at a time. A log that cannot
  /// be opened fails when its segment is used.
  void open(std::vector<matcher::SegmentId> segments, SegmentUser use);

 private:
  struct Fetch {
    std::set<matcher::SegmentId> missing;
    std::function<void()> then;
  };
  [[nodiscard]] WatchedSocket& connection_to(matcher::MatcherPlace neighbour);
  void on_answers(matcher::MatcherPlace neighbour);
  void take(const ReceivedMessage& message, FileDescriptor file);
  void settle(matcher::SegmentId segment);
  struct Opening {
    std::vector<matcher::SegmentId> segments;
    SegmentUser use;
    std::size_t done = 0;
  };
  void open_part(const std::shared_ptr<Opening>& opening);

  boost::asio::io_context& loop_;
  Environment environment_;
  std::map<matcher::MatcherPlace, std::unique_ptr<WatchedSocket>> connections_;
  std::set<matcher::SegmentId> asked_;
  std::list<Fetch> fetches_;
  DiskWorker opener_{loop_};
};

}  // namespace sluice::runtime
