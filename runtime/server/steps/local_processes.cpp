#include "local_processes.hpp"

#include <algorithm>

namespace sluice::runtime {

void LocalProcess::note_close(matcher::StepId step) {
  const auto found = open_steps.find(step);
  if (found != open_steps.end() && --found->second == 0) open_steps.erase(found);
}

LocalProcess& LocalProcesses::connect(const std::string& component, std::uint64_t token,
                                      std::uint32_t process_id) {
  const auto [entry, is_new] = processes_.try_emplace({component, token, process_id});
  LocalProcess& process = entry->second;
  if (is_new) process = {matcher::ProcessId{next_id_++}, component, token, process_id, 0, {}};
  ++process.connections;
  return process;
}

void LocalProcesses::disconnect(LocalProcess& process) {
  if (--process.connections > 0) return;
  const auto found = std::find_if(processes_.begin(), processes_.end(),
                                  [&](const auto& entry) { return &entry.second == &process; });
  if (found != processes_.end()) processes_.erase(found);
}

}  // namespace sluice::runtime
