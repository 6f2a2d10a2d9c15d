#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sluice/matcher/ascending_map.hpp"
#include "sluice/matcher/segment_pool.hpp"

namespace sluice::runtime {

/// A matcher, and its number of a connection. A matcher numbers its connections in order.
struct ConnectionId {
  std::uint32_t matcher = 0;
  std::uint64_t connection = 0;
};

struct Connection {
  matcher::ProcessId process{};
  std::uint32_t component = 0;  ///< ConnectionTable::component_name
  bool is_for_file = false;     ///< the matcher's own, for a file that the process writes
};

/// The connections of all processes, at the registry. Those of a matcher lie together, because a matcher
/// tells of many of them at once.
class ConnectionTable {
  using OfMatcher = matcher::AscendingMap<std::uint64_t, Connection>;

 public:
  void add(const ConnectionId& id, matcher::ProcessId process, const std::string& component,
           bool is_for_file);
  /// Null when the connection has ended, or its component has exited.
  [[nodiscard]] const Connection* find(const ConnectionId& id) const noexcept;
  /// Finds connections of one matcher that are named in their order, while the table does not change.
  class Walk {
   public:
    /// As ConnectionTable::find().
    [[nodiscard]] const Connection* find(std::uint64_t connection) noexcept { return walk_.find(connection); }

   private:
    friend ConnectionTable;
    explicit Walk(const OfMatcher& connections) noexcept : walk_(connections) {}
    OfMatcher::Walk walk_;
  };
  [[nodiscard]] Walk walk(std::uint32_t matcher) const noexcept;
  std::optional<Connection> remove(const ConnectionId& id);
  void remove_of(const std::string& component);
  [[nodiscard]] const std::string& component_name(const Connection& connection) const {
    return components_.at(connection.component);
  }
  /// A connection of the process at the matcher that is not for a file; empty: there is none.
  [[nodiscard]] std::optional<std::uint64_t> of_process(std::uint32_t matcher,
                                                        matcher::ProcessId process) const;

 private:
  std::vector<OfMatcher> by_matcher_;
  std::vector<std::string> components_;
};

}  // namespace sluice::runtime
