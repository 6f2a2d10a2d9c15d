// An encoded plan: a decoded plan encodes to an equal one.
#include "sluice/replay/plan.hpp"

#include <vector>

#include "support.hpp"

using namespace sluice;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::refuse_or([&] {
    std::size_t position = 0;
    const auto plan = replay::decode_plan(fuzz::as_bytes(data, size), position);
    fuzz::require(position <= size, "a plan ends within its bytes");
    for (const auto& copy : plan.copies) {
      fuzz::require(plan.dimensions.size() >= std::size_t{copy.first_dimension} + copy.dimensions,
                    "a copy has its dimensions");
      fuzz::refuse_or([&] { static_cast<void>(replay::source_range(plan, copy, 8)); });
    }
    std::vector<std::byte> once, twice;
    replay::encode(plan, once);
    std::size_t end = 0;
    replay::encode(replay::decode_plan(once, end), twice);
    fuzz::require(once == twice && end == once.size(), "a plan goes through its encoding unchanged");
  });
  return 0;
}
