#pragma once
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <string>

#include "disk_worker.hpp"
#include "neighbour_segments.hpp"
#include "relay_tree.hpp"
#include "segment_store.hpp"
#include "sluice/runtime/name_counts.hpp"
#include "sluice/runtime/node_map.hpp"

namespace sluice::runtime {

/// Receives lines for the run's event log.
class EventLog {
 public:
  virtual ~EventLog() = default;
  virtual void event(const std::string& text) = 0;
  /// A line of little interest to someone who watches the run.
  virtual void detail(const std::string& text) = 0;
};

/// The objects that all parts of a matcher server use. It outlives the parts.
struct MatcherBase {
  boost::asio::io_context& loop;
  const NodeMap& nodes;
  SegmentStore& store;
  DiskWorker& disk;
  NeighbourSegments& neighbours;
  RelayTree& tree;
  EventLog& log;
  NameCounts names = {};  ///< what paths lead to, for its processes

  [[nodiscard]] std::uint32_t rank() const noexcept { return tree.rank(); }
  [[nodiscard]] matcher::MatcherPlace place() const { return nodes.place_of(rank()); }
  [[nodiscard]] std::uint32_t node() const { return place().node; }
};

}  // namespace sluice::runtime
