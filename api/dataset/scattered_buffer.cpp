#include "scattered_buffer.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>

#include "sluice/formats/hyperslab.hpp"

namespace sluice::api {

namespace {

/// The packed elements of a derived type that an imap addresses. The map may address elements outside the
/// packed range. The result is then undefined, but must not touch other memory.
class PackedElements {
 public:
  explicit PackedElements(const ScatteredBuffer& buffer) : buffer_(buffer) {
    std::int64_t last = buffer.items * buffer.type.elements() - 1;
    std::int64_t below = 0;
    std::int64_t above = 0;
    for (std::size_t d = 0; d < buffer.count.size(); ++d) {
      const auto reach = (buffer.count[d] - 1) * buffer.imap[d];
      (reach < 0 ? below : above) += reach;
    }
    last = std::max(last, above);
    const auto element_bytes = static_cast<std::int64_t>(formats::size_of(buffer.type.element()));
    bytes_ = std::make_unique<std::byte[]>(static_cast<std::size_t>((last - below + 1) * element_bytes));
    first_ = bytes_.get() - below * element_bytes;
    buffer.type.pack(buffer.user, buffer.items, first_);
  }

  [[nodiscard]] void* first() const noexcept { return first_; }
  void unpack() const { buffer_.type.unpack(first_, buffer_.items, buffer_.user); }

 private:
  const ScatteredBuffer& buffer_;
  std::unique_ptr<std::byte[]> bytes_;
  std::byte* first_ = nullptr;
};

}  // namespace

void ScatteredBuffer::gather(void* dense) const {
  if (imap.empty()) return type.pack(user, items, dense);
  const auto element_bytes = formats::size_of(type.element());
  if (type.is_dense()) return formats::gather_mapped(user, count, imap, element_bytes, dense);
  const PackedElements packed(*this);
  formats::gather_mapped(packed.first(), count, imap, element_bytes, dense);
}

void ScatteredBuffer::scatter(const void* dense) const {
  if (imap.empty()) return type.unpack(dense, items, user);
  const auto element_bytes = formats::size_of(type.element());
  if (type.is_dense()) return formats::scatter_mapped(dense, count, imap, element_bytes, user);
  const PackedElements packed(*this);
  formats::scatter_mapped(dense, count, imap, element_bytes, packed.first());
  packed.unpack();
}

}  // namespace sluice::api
