// A request table, which is the memory of another process: its entries are well formed, or it is refused.
#include <cstring>
#include <vector>

#include "sluice/matcher/request_table.hpp"
#include "support.hpp"

using namespace sluice;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::uint64_t> words(size / 8 + 1);
  if (size > 0) std::memcpy(words.data(), data, size);
  fuzz::refuse_or([&] {
    matcher::TableReader reader(std::as_bytes(std::span(words)), 0);
    matcher::TableEntry entry;
    std::size_t before = 0;
    while (reader.next(entry)) {
      fuzz::require(reader.position() > before, "an entry takes bytes");
      before = reader.position();
      fuzz::require(entry.box.count.size() == entry.box.start.size(), "a box has as many counts as starts");
      for (const formats::HyperslabView& box : entry.boxes) {
        fuzz::require(!box.start.empty() && box.count.size() == box.start.size(),
                      "a list's boxes have dimensions");
      }
    }
  });
  return 0;
}
