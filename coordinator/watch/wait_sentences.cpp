#include "wait_sentences.hpp"

namespace sluice::coordinator {
namespace {

/// `status`: a WaitStatus or a CopyStatus.
std::string describe_processes(const auto& status) {
  return status.component +
         (status.processes > 1 ? " (" + std::to_string(status.processes) + " processes)" : "");
}

}  // namespace

std::string describe_wait(const runtime::WaitStatus& wait) {
  const auto seconds = wait.since_ms / 1000;
  return describe_processes(wait) + " waits for " + wait.waits_for + " (" + std::to_string(seconds) + " s)";
}

std::string describe_gathering(const runtime::GatheringStatus& gathering) {
  const auto& absent = gathering.absent;
  std::string text = std::to_string(gathering.present) + " of " + std::to_string(gathering.size) +
                     " processes" + (gathering.are_all_processes ? " of " : " of a communicator of ") +
                     gathering.component + (gathering.present == 1 ? " is in " : " are in ") +
                     gathering.call + "; rank" + (absent.size() == 1 ? "" : "s");
  for (std::size_t i = 0; i < absent.size(); ++i) text += (i == 0 ? " " : ", ") + std::to_string(absent[i]);
  if (!gathering.are_its_ranks) text += " of it";
  const std::size_t others = gathering.size - gathering.present - absent.size();
  if (others > 0) text += " and " + std::to_string(others) + " more";
  return text + (absent.size() + others == 1 ? " is not, since " : " are not, since ") +
         std::to_string(gathering.since_ms / 1000) + " s";
}

std::string describe_copy(const matcher::CopyStatus& copy) {
  return describe_processes(copy) + (copy.is_put ? " copies into " : " copies out of ") + copy.file + " (" +
         std::to_string(copy.since_ms / 1000) + " s)";
}

}  // namespace sluice::coordinator
