// A page of offers, which is the memory of other processes, too: damage is refused, and nothing outside the
// page is read or written. The first byte of the input says whether the other bytes are a whole page, or what
// is written into a page that has begun well.
#include "sluice/runtime/offer_page.hpp"

#include <algorithm>
#include <limits>
#include <memory>

#include "support.hpp"

using namespace sluice;

namespace {

struct alignas(64) Line {
  std::byte bytes[64];
};

/// What the registry's side does with the mail of a rank.
void read_mail(const runtime::OfferPage& page, std::uint32_t slot, std::uint32_t rank) {
  fuzz::refuse_or([&] {
    const std::size_t end = page.mail_bytes(slot, rank);
    std::size_t before = 0;
    for (const auto& letter : page.letters(slot, rank, 0, end, std::numeric_limits<std::uint64_t>::max())) {
      fuzz::require(letter.end > before && letter.end <= end, "a letter takes bytes of its mailbox");
      before = letter.end;
    }
  });
}

/// What a process does with the offers, and with the bytes as its letter.
void use_offers(const runtime::OfferPage& page, std::uint32_t rank, std::span<const std::byte> letter) {
  const auto found = page.find(rank);
  if (!found) return;
  fuzz::require(found->slot < page.slots(), "an offer is in a slot");
  if (rank == 0 && page.take(found->slot, found->step, runtime::MessageType::open, letter, 1)) {
    const auto letters = page.letters(found->slot, 0, 0, page.mail_bytes(found->slot, 0), 1);
    fuzz::require(letters.size() == 1 && std::ranges::equal(letters[0].fields, letter),
                  "what is taken with a letter has this letter alone");
  }
  (void)page.post(found->slot, rank, runtime::MessageType::close, letter, 2);
  (void)page.leave(found->slot, found->step);
  (void)page.is_complete(found->slot, found->step);
}

void use_page(const runtime::OfferPage& page, std::span<const std::byte> letter) {
  (void)page.offered();
  const std::uint32_t ranks = std::min<std::uint32_t>(page.ranks(), 64);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) use_offers(page, rank, letter);
  for (std::uint32_t slot = 0; slot < page.slots(); ++slot)
    for (std::uint32_t rank = 0; rank < ranks; ++rank) read_mail(page, slot, rank);
}

/// The memory has exactly the bytes of the page, so that the sanitizer sees each byte outside.
void use_memory(std::span<Line> memory, std::span<const std::byte> content, std::size_t begin,
                std::span<const std::byte> letter) {
  const auto bytes = std::as_writable_bytes(memory);
  const auto place = bytes.subspan(std::min(begin, bytes.size()));
  std::copy_n(content.begin(), std::min(content.size(), place.size()), place.begin());
  fuzz::refuse_or([&] { use_page(runtime::OfferPage(bytes), letter); });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 4) return 0;
  const auto content = fuzz::as_bytes(data, size).subspan(4);
  const auto letter = content.first(std::min<std::size_t>(content.size(), data[1]));
  if (data[0] % 2 == 0) {
    const auto memory = std::make_unique<Line[]>(content.size() / sizeof(Line));
    use_memory({memory.get(), content.size() / sizeof(Line)}, content, 0, letter);
    return 0;
  }
  const runtime::OfferPage::Shape shape{1U + data[2] % 4U, data[3] % 4U * 64U, data[3] / 4U % 4U * 64U,
                                        1U + data[2] / 4U % 16U};
  const auto lines = static_cast<std::size_t>(runtime::OfferPage::bytes_of(shape)) / sizeof(Line);
  const auto memory = std::make_unique<Line[]>(lines);
  const std::span<Line> page(memory.get(), lines);
  (void)runtime::OfferPage::begin(std::as_writable_bytes(page), shape);
  constexpr std::size_t head_bytes = 2 * sizeof(Line);
  use_memory(page, content, head_bytes, letter);
  return 0;
}
