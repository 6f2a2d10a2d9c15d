#include "spare_logs.hpp"

#include <algorithm>
#include <utility>

namespace sluice::matcher {

SpareLogs::Logs SpareLogs::take(std::uint32_t processes) {
  if (spare_.size() == processes) return std::exchange(spare_, {});
  // Shared by the steps that continue this one. In pieces of this size, because there may be very many, and
  // the system takes larger ones back.
  constexpr std::uint32_t most_in_piece = 64;
  Logs logs;
  logs.reserve(processes);
  for (std::uint32_t done = 0; done < processes; done += most_in_piece) {
    const auto piece = std::make_shared<std::vector<WriteLog>>(std::min(processes - done, most_in_piece));
    for (WriteLog& log : *piece) logs.emplace_back(piece, &log);
  }
  return logs;
}

}  // namespace sluice::matcher
