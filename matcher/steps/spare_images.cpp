#include "spare_images.hpp"

namespace sluice::matcher {

namespace {

constexpr std::size_t most_images = 128;

}  // namespace

Step* SpareImages::take_surplus(std::uint32_t node) {
  std::deque<StepId>& steps = nodes_[node].steps;
  while (steps.size() > most_images) {
    Step* const step = datasets_.find_step(steps.front());
    steps.pop_front();
    if (step == nullptr) continue;
    const auto image = step->images.find(node);
    if (image != step->images.end() && image->second.is_ready) return step;
  }
  return nullptr;
}

bool SpareImages::drop_first(std::uint32_t node) {
  std::deque<StepId>& steps = nodes_[node].steps;
  for (auto next = steps.begin(); next != steps.end();) {
    Step* const step = datasets_.find_step(*next);
    const auto image = step == nullptr ? decltype(step->images.begin()){} : step->images.find(node);
    const bool has_image = step != nullptr && image != step->images.end() && image->second.is_ready;
    if (has_image && step->consumed_place) {  // its bytes are counted with the step's
      ++next;
      continue;
    }
    next = steps.erase(next);
    if (!has_image) continue;
    const bool was_in_memory = medium_of(image->second.file.id()) == Medium::memory;
    step->images.erase(image);
    if (was_in_memory) return true;
  }
  return false;
}

}  // namespace sluice::matcher
