#pragma once
// Tools that the tests of burst-buffer logs share.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "sluice/storage/burst_log_reader.hpp"
#include "sluice/storage/burst_log_writer.hpp"

namespace sluice::storage {

inline formats::BurstLogHeader log_header(const std::string& path = "/data/wave.nc", std::int64_t rank = 1) {
  formats::BurstLogHeader header;
  header.cdf_version = 5;
  header.process_count = 4;
  header.rank = rank;
  header.max_dimensions = 2;
  header.path = path;
  header.processor = "n1";
  return header;
}

/// A put of a log, with its data as in the file.
struct LoggedPut {
  int varid = 0;
  formats::Type type = formats::Type::int8;
  std::vector<formats::Hyperslab> slabs;
  std::vector<std::byte> data;
};

inline std::int64_t append(BurstLogWriter& writer, const LoggedPut& put) {
  for (std::size_t done = 0; done < put.data.size();) {
    const auto place = writer.reserve(put.data.size() - done);
    const auto part = std::min(place.size(), put.data.size() - done);
    std::memcpy(place.data(), put.data.data() + done, part);
    writer.add(part);
    done += part;
  }
  std::vector<formats::HyperslabView> views;
  for (const auto& slab : put.slabs) views.push_back(slab.view());
  return writer.finish(put.varid, put.type, views);
}

inline std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

/// Whether the entry and its data are those of the put.
inline bool is_put(const formats::BurstLogEntry& entry, const LoggedPut& put, const BurstLogReader& reader) {
  std::vector<std::byte> data(static_cast<std::size_t>(entry.data_bytes));
  reader.read_data(entry.data_offset, data);
  if (entry.varid != put.varid || entry.type != put.type || data != put.data) return false;
  if (entry.slab_count() != std::ssize(put.slabs)) return false;
  for (std::int64_t i = 0; i < entry.slab_count(); ++i) {
    const auto slab = entry.slab(i);
    const auto expected = put.slabs[static_cast<std::size_t>(i)].view();
    if (!std::ranges::equal(slab.start, expected.start) || !std::ranges::equal(slab.count, expected.count) ||
        !std::ranges::equal(slab.stride, expected.stride))
      return false;
  }
  return true;
}

}  // namespace sluice::storage
