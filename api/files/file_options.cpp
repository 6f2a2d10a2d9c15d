#include "file_options.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

namespace sluice::api {
namespace {

using Hints = std::map<std::string, std::string>;

std::optional<std::int64_t> positive_hint(const Hints& hints, const std::string& key) {
  const auto hint = hints.find(key);
  if (hint == hints.end()) return std::nullopt;
  const std::string& text = hint->second;
  std::int64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc{} || value <= 0) return std::nullopt;
  return value;
}

void set_bytes(const Hints& hints, const std::string& key, std::int64_t least, std::int64_t& bytes) {
  // A window's messages, lists included, have to stay below 2 GiB.
  constexpr std::int64_t most = std::int64_t{64} << 20;
  if (const auto value = positive_hint(hints, key)) bytes = std::clamp(*value, least, most);
}

int count_of(const Hints& hints, const std::string& key) {
  const auto value = positive_hint(hints, key).value_or(0);
  return static_cast<int>(std::min<std::int64_t>(value, std::numeric_limits<int>::max()));
}

FileOptions::Exchange exchange_of(const Hints& hints, const std::string& key) {
  const auto hint = hints.find(key);
  if (hint != hints.end() && hint->second == "enable") return FileOptions::Exchange::always;
  if (hint != hints.end() && hint->second == "disable") return FileOptions::Exchange::never;
  return FileOptions::Exchange::automatic;
}

}  // namespace

FileOptions file_options(const Hints& hints, bool is_on_local_file_system) {
  FileOptions options;
  if (!is_on_local_file_system) {
    // Each access sends a message to a server, and nodes share locks.
    options.window_bytes = std::int64_t{16} << 20;
    options.direct_bytes = std::int64_t{4} << 20;
    options.alignment_bytes = std::int64_t{1} << 20;
    options.gap_bytes = 64 << 10;
    // Data that a process reads to write it back may be older than another node's data.
    options.fill_gap_bytes = 0;
    options.access_cost = 256 << 10;
    options.byte_cost = 8;
  }
  set_bytes(hints, "cb_buffer_size", 4096, options.window_bytes);
  set_bytes(hints, "striping_unit", 4096, options.alignment_bytes);
  set_bytes(hints, "nc_data_move_chunk_size", 4096, options.move_bytes);
  set_bytes(hints, "nc_header_read_chunk_size", 512, options.header_chunk_bytes);
  options.aggregators = count_of(hints, "cb_nodes");
  options.aggregators_per_node = count_of(hints, "nc_num_aggrs_per_node");
  options.put_exchange = exchange_of(hints, "romio_cb_write");
  options.get_exchange = exchange_of(hints, "romio_cb_read");
  return options;
}

}  // namespace sluice::api
