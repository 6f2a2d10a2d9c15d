#include "get_waits.hpp"

#include <utility>

namespace sluice::matcher {

void GetWaits::begin(GetWait wait) {
  Process& process = processes_.at(wait.process);
  ProcessTable::change(process, [&] { ++process.waits; });
  waits_.push_back(std::move(wait));
}

void GetWaits::end(const Ticket& ticket) {
  waits_.remove_if([&](const GetWait& wait) {
    if (wait.ticket != ticket) return false;
    if (Process* const process = processes_.find(wait.process))
      ProcessTable::change(*process, [&] { --process->waits; });
    return true;
  });
}

void GetWaits::drop_of(const Process& process) {
  waits_.remove_if([&](const GetWait& wait) { return wait.process == process.id; });
}

void GetWaits::refuse(const GetWait& wait, int status, const std::string& text) {
  const GetWait refused = wait;  // it leaves the list
  end(refused.ticket);
  answers_.event(processes_.at(refused.process).name() + " cannot read " + refused.text + ": " + text);
  answers_.refused(refused.ticket, status, text);
}

}  // namespace sluice::matcher
