#pragma once
#include "sluice/matcher/packed_logs.hpp"

namespace sluice::runtime {

/// Packs logs as messages write them, so that the view of a step has the bytes as they are.
class LogPackingOfMessages final : public matcher::LogPacking {
 public:
  [[nodiscard]] std::unique_ptr<matcher::LogPacker> packer() const override;
  [[nodiscard]] std::vector<std::byte> as_list(std::size_t logs,
                                               std::span<const std::byte> views) const override;
  [[nodiscard]] std::vector<matcher::LogView> views(std::span<const std::byte> list) const override;
};

}  // namespace sluice::runtime
