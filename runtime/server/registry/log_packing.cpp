#include "log_packing.hpp"

#include "sluice/matcher/step.hpp"
#include "wire_codec.hpp"
#include "wire_fields.hpp"

namespace sluice::runtime {

void fields(auto& a, Is<matcher::LogRest> auto& m) {
  a(m.pattern, m.end);
}
/// As LogSegment.
void fields(auto& a, Is<matcher::SharedSegment> auto& m) {
  a(m->id(), m->bytes());
}

namespace {

/// The view of a log that has closed, with the fields of LogView.
struct ClosedView {
  const matcher::ClosedLog& closed;
};
void fields(auto& a, Is<ClosedView> auto& m) {
  constexpr bool is_complete = true;
  constexpr bool is_cut = false;
  const auto& [log, ranges, extent, rest] = m.closed;
  a(log.tables, log.data, ranges, rest.end, is_complete, is_cut, extent, log.begin, log.first_offset);
}

class MessagePacker final : public matcher::LogPacker {
 public:
  void add(const matcher::ClosedLog& log) override {
    views_.add(ClosedView{log});
    rests_.add(log.rest);
  }
  [[nodiscard]] matcher::LogBytes take() override { return {views_.take(), rests_.take()}; }

 private:
  AlikeEncoder views_;
  AlikeEncoder rests_;
};

template <class Element>
struct List {
  std::vector<Element> elements;
};
template <class Element>
void fields(auto& a, List<Element>& list) {
  a(alike(list.elements));
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
  return decode<List<matcher::LogView>>(list).elements;
}

std::vector<matcher::LogRest> LogPackingOfMessages::rests(std::size_t logs,
                                                          std::span<const std::byte> packed) const {
  return decode<List<matcher::LogRest>>(alike_list(logs, packed)).elements;
}

}  // namespace sluice::runtime
