#include "log_packing.hpp"

#include "sluice/matcher/step.hpp"
#include "wire_codec.hpp"
#include "wire_fields.hpp"

namespace sluice::runtime {

namespace {

/// The view of a log that has closed, with the fields of LogView.
struct ClosedView {
  const matcher::ClosedLog& closed;
};
void fields(auto& a, Is<ClosedView> auto& m) {
  constexpr bool is_complete = true;
  constexpr bool is_cut = false;
  constexpr matcher::TablePosition begin{0, 0};
  constexpr std::uint64_t first_offset = 0;
  const auto& [tables, data, ranges, extent, end] = m.closed;
  a(tables, data, ranges, end, is_complete, is_cut, extent, begin, first_offset);
}

class MessagePacker final : public matcher::LogPacker {
 public:
  void add(const matcher::ClosedLog& log) override { views_.add(ClosedView{log}); }
  [[nodiscard]] std::vector<std::byte> take() override { return views_.take(); }

 private:
  AlikeEncoder views_;
};

struct LogList {
  std::vector<matcher::LogView> logs;
};
void fields(auto& a, LogList& list) {
  a(alike(list.logs));
}

}  // namespace

std::unique_ptr<matcher::LogPacker> LogPackingOfMessages::packer() const {
  return std::make_unique<MessagePacker>();
}

std::vector<std::byte> LogPackingOfMessages::as_list(std::size_t logs,
                                                     std::span<const std::byte> views) const {
  return alike_list(logs, views);
}

std::vector<matcher::LogView> LogPackingOfMessages::views(std::span<const std::byte> list) const {
  return decode<LogList>(list).logs;
}

}  // namespace sluice::runtime
