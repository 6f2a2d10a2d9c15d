#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "sluice/formats/error.hpp"
#include "sluice/replay/plan.hpp"

namespace sluice::replay {

/// Caches the memory positions of log parts, so plans with many small copies rarely call the LogReader.
class LogWindow {
 public:
  explicit LogWindow(LogReader& log) noexcept : log_(log) {}

  /// The memory of log offsets [first, end), or nullptr if the range is not contiguous in memory. Throws
  /// Error(NC_EIO) if there is no data at `first`.
  [[nodiscard]] const std::byte* find(std::uint32_t writer, std::uint64_t first, std::uint64_t end) {
    Part& part = parts_[writer % parts_.size()];
    if (part.writer != writer || first < part.first || first >= part.end) load(part, writer, first);
    return end <= part.end ? part.memory + (first - part.first) : nullptr;
  }
  /// The number of bytes from `first` to the end of its contiguous memory. Throws the same errors as find().
  [[nodiscard]] std::uint64_t bytes_from(std::uint32_t writer, std::uint64_t first) {
    Part& part = parts_[writer % parts_.size()];
    if (part.writer != writer || first < part.first || first >= part.end) load(part, writer, first);
    return part.end - first;
  }

 private:
  struct Part {
    std::uint32_t writer = 0;
    std::uint64_t first = 0;
    std::uint64_t end = 0;
    const std::byte* memory = nullptr;
  };

  void load(Part& part, std::uint32_t writer, std::uint64_t first) {
    const std::span<const std::byte> bytes = log_.at(writer, first);
    if (bytes.empty()) {
      throw Error(NC_EIO, "the log of writer " + std::to_string(writer) + " has no data at offset " +
                              std::to_string(first));
    }
    part = {writer, first, first + bytes.size(), bytes.data()};
  }

  LogReader& log_;
  std::array<Part, 32> parts_{};
};

}  // namespace sluice::replay
