#include "sluice/runtime/node_map.hpp"

#include <map>
#include <string>

#include "sluice/formats/error.hpp"

namespace sluice::runtime {

NodeMap::NodeMap(std::span<const std::uint32_t> host_of_rank, std::uint32_t virtual_nodes) {
  const auto size = static_cast<std::uint32_t>(host_of_rank.size());
  std::map<std::uint32_t, std::uint32_t> node_of_host;
  std::map<std::uint32_t, std::uint32_t> on_host;
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    const std::uint32_t host = host_of_rank[rank];
    const auto node = node_of_host.try_emplace(host, static_cast<std::uint32_t>(node_of_host.size())).first;
    ranks_.push_back({{node->second, 0}, on_host[host]++});
  }
  if (virtual_nodes > 1) {
    if (on_host.size() != 1 || size % virtual_nodes != 0) {
      throw Error(NC_EINVAL, std::to_string(size) + " matchers on " + std::to_string(on_host.size()) +
                                 " machines cannot be divided into " + std::to_string(virtual_nodes) +
                                 " virtual nodes: unset SLUICE_VIRTUAL_NODES");
    }
    for (std::uint32_t rank = 0; rank < size; ++rank) ranks_[rank].place.node = rank / (size / virtual_nodes);
  }
  for (std::uint32_t rank = 0; rank < size; ++rank) {
    matcher::MatcherPlace& place = ranks_[rank].place;
    if (place.node >= nodes_.size()) nodes_.resize(place.node + 1);
    place.index = static_cast<std::uint32_t>(nodes_[place.node].size());
    nodes_[place.node].push_back(rank);
  }
}

std::uint32_t NodeMap::rank_of(matcher::MatcherPlace place) const {
  if (place.node >= nodes_.size() || place.index >= nodes_[place.node].size()) {
    throw Error(NC_EIO, "there is no matcher " + std::to_string(place.index) + " of node " +
                            std::to_string(place.node));
  }
  return nodes_[place.node][place.index];
}

}  // namespace sluice::runtime
