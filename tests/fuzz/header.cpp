// The codec of CDF headers. An encoded header decodes to an equal one. Its layout, and the runs of small
// selections, can be computed.
#include <algorithm>
#include <limits>

#include "sluice/formats/cdf.hpp"
#include "sluice/formats/layout.hpp"
#include "support.hpp"

using namespace sluice;
using namespace sluice::formats;
using sluice::fuzz::require;

namespace {

/// The header of a file whose data may be anywhere; the other target covers checks of the file's size.
std::optional<DecodedHeader> decode(std::span<const std::byte> bytes) {
  return decode_header(bytes, true, -1, "fuzz");
}

/// Encoding cuts names at zero bytes, and normalises padding and tags. Encoding once more changes nothing.
void check_round_trip(const DecodedHeader& first) {
  std::vector<std::byte> encoded;
  try {
    encoded = encode_header(first.header);
  } catch (const Error&) {
    return;
  }
  require(static_cast<std::int64_t>(encoded.size()) == encoded_size(first.header),
          "encoded_size is that of the encoding");
  require(static_cast<std::int64_t>(encoded.size()) <= first.size_bytes, "encoding makes no header longer");
  const auto second = decode(encoded);
  require(second.has_value(), "what was encoded is whole");
  require(second->size_bytes == static_cast<std::int64_t>(encoded.size()), "all that was encoded is used");
  require(encode_header(second->header) == encoded, "what was decoded again encodes to the same bytes");
  const auto metadata = decode_metadata(encoded, "fuzz");
  require(metadata.variable_count() == first.header.variable_count(),
          "as metadata it has the same variables");
}

/// At most the first three elements of each dimension; where possible, also every second one.
void check_runs(const Header& header, const Layout& layout, int varid) {
  const auto shape = header.shape(varid);
  if (shape.size() > 8) return;
  std::vector<std::int64_t> start, count, stride;
  for (const auto length : shape) {
    start.push_back(length > 4 ? 1 : 0);
    count.push_back(std::min<std::int64_t>(length, 3));
    stride.push_back(length > 5 ? 2 : 1);
  }
  std::vector<FileRun> runs;
  // Offsets of the sixth record may exceed 63 bits, even in a file that claims to have it.
  const auto furthest = std::numeric_limits<std::int64_t>::max() / 16;
  if (header.is_record_variable(varid) &&
      (layout.record_size > furthest || header.variable(varid).begin > furthest))
    return;
  append_runs(header, layout, varid, start, count, stride, runs);
  std::int64_t bytes = 0;
  for (const auto& run : runs) {
    require(run.offset_bytes >= header.variable(varid).begin, "a run lies in its variable");
    bytes += run.length_bytes;
  }
  auto expected = static_cast<std::int64_t>(size_of(header.variable(varid).type));
  for (const auto n : count) expected *= n;
  require(bytes == expected, "the runs have as many bytes as the selection");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = fuzz::as_bytes(data, size);
  fuzz::refuse_or([&] {
    const auto first = decode(bytes);
    require(first.has_value(), "a whole file is decoded or refused");
    const auto layout = layout_of(first->header, first->size_bytes);
    require(layout.header_size <= layout.header_extent || first->header.variable_count() == 0,
            "the data lies behind the header");
    for (int id = 0; id < first->header.variable_count(); ++id) check_runs(first->header, layout, id);
    check_round_trip(*first);
    auto header = first->header;
    compute_layout(header, {}, nullptr);
  });
  // The beginning of a file of unknown size: it is decoded, or refused, or more bytes are requested.
  fuzz::refuse_or([&] {
    static_cast<void>(decode_header(bytes.first(size / 2), false, static_cast<std::int64_t>(size), "fuzz"));
  });
  return 0;
}
