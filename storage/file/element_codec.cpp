#include "sluice/storage/element_codec.hpp"

#include <algorithm>
#include <cstring>

#include "sluice/formats/convert.hpp"
#include "sluice/formats/status.hpp"

namespace sluice::storage {
namespace {

/// Climate decompositions produce very many runs of one element: this avoids a call for each.
void copy_to_big_endian(std::byte* to, const std::byte* from, std::int64_t element_bytes, std::int64_t n) {
  if (n == 1 && element_bytes == 8) {
    std::uint64_t word;
    std::memcpy(&word, from, sizeof word);
    word = __builtin_bswap64(word);
    std::memcpy(to, &word, sizeof word);
  } else if (n == 1 && element_bytes == 4) {
    std::uint32_t word;
    std::memcpy(&word, from, sizeof word);
    word = __builtin_bswap32(word);
    std::memcpy(to, &word, sizeof word);
  } else {
    formats::copy_swapped(to, from, static_cast<std::size_t>(element_bytes), n);
  }
}

constexpr std::int64_t block_bytes = 4096;  // converted elements that are swapped while they are in the cache

}  // namespace

ElementCodec::ElementCodec(const formats::Header& header, Access& access, formats::ByteOrder order)
    : access_(&access),
      external_(header.variable(access.varid).type),
      external_bytes_(static_cast<std::int64_t>(formats::size_of(external_))),
      memory_bytes_(static_cast<std::int64_t>(formats::size_of(access.memory))),
      byte_is_unsigned_(header.version != formats::Version::cdf5),
      order_(order),
      is_plain_(access.is_file_order || formats::is_plain_copy(access.memory, external_, byte_is_unsigned_)) {
  if (!is_plain_) header.fill_value(access.varid, fill_.data());
}

void ElementCodec::encode(std::int64_t first, std::int64_t n, std::byte* bytes) {
  if (access_->is_file_order) {
    std::memcpy(bytes, memory(first), static_cast<std::size_t>(n * external_bytes_));
    return;
  }
  if (is_plain_) return copy_to_big_endian(bytes, memory(first), external_bytes_, n);
  for (std::int64_t done = 0; done < n;) {
    const std::int64_t part = std::min(n - done, block_bytes / external_bytes_);
    std::byte* to = bytes + done * external_bytes_;
    const int status = formats::convert_put(external_, to, access_->memory, memory(first + done), part,
                                            fill_.data(), byte_is_unsigned_);
    if (status != NC_NOERR) access_->status = status;
    formats::copy_swapped(to, to, static_cast<std::size_t>(external_bytes_), part);
    done += part;
  }
}

void ElementCodec::decode(std::int64_t first, std::int64_t n, const std::byte* bytes) {
  if (is_plain_ && order_ == formats::ByteOrder::big)
    return copy_to_big_endian(memory(first), bytes, external_bytes_, n);
  if (is_plain_)
    return formats::copy_ordered(memory(first), bytes, static_cast<std::size_t>(external_bytes_), n, order_);
  decode_converted(first, n, bytes);
}

void ElementCodec::decode_converted(std::int64_t first, std::int64_t n, const std::byte* bytes) {
  std::array<std::byte, block_bytes> native;
  for (std::int64_t done = 0; done < n;) {
    const std::int64_t part = std::min(n - done, block_bytes / external_bytes_);
    formats::copy_ordered(native.data(), bytes + done * external_bytes_,
                          static_cast<std::size_t>(external_bytes_), part, order_);
    const int status = formats::convert_get(access_->memory, memory(first + done), external_, native.data(),
                                            part, byte_is_unsigned_);
    if (status != NC_NOERR) access_->status = status;
    done += part;
  }
}

std::byte* ElementCodec::plain_bytes(std::int64_t first) const noexcept {
  return is_plain_ ? memory(first) : nullptr;
}

}  // namespace sluice::storage
