#include <array>
#include <mutex>
#include <vector>

#include "copy_bounds.hpp"
#include "log_window.hpp"
#include "rows.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/matcher/box.hpp"
#include "sluice/matcher/log_range.hpp"
#include "sluice/replay/copy_threads.hpp"
#include "sluice/replay/plan.hpp"

namespace sluice::replay {
namespace {

/// Sizes of one element.
struct ElementBytes {
  std::int64_t source = 0;
  std::int64_t destination = 0;
  bool is_source_big_endian = false;

  [[nodiscard]] ElementBytes of(const Copy& copy) const noexcept {
    return {source, destination, matcher::is_of_file(copy.log_offset)};
  }
};

/// Calls `row` for each row of a strided copy; the slower dimensions count up like an odometer. `steps` are
/// in bytes on both sides.
template <class RowFunction>
void for_each_row(std::span<const CopyDimension> dimensions, const ElementBytes& bytes,
                  const std::byte* source, std::byte* destination, RowFunction& row_function) {
  Row row;
  row.source = source;
  row.destination = destination;
  row.is_big_endian = bytes.is_source_big_endian;
  if (dimensions.empty()) {
    row.source_step = bytes.source;
    row.destination_step = bytes.destination;
    row_function(row);
    return;
  }
  const CopyDimension& fastest = dimensions.back();
  row.count = fastest.count;
  row.source_step = fastest.source_step_bytes;
  row.destination_step = fastest.destination_step * bytes.destination;
  const std::span<const CopyDimension> slower = dimensions.first(dimensions.size() - 1);
  if (!slower.empty()) row.next_source = slower.back().source_step_bytes;
  std::array<std::int64_t, max_copy_dimensions> index{};
  while (true) {
    row_function(row);
    std::size_t d = slower.size();
    while (d > 0) {
      --d;
      const CopyDimension& dimension = slower[d];
      if (++index[d] < dimension.count) {
        row.source += dimension.source_step_bytes;
        row.destination += dimension.destination_step * bytes.destination;
        break;
      }
      index[d] = 0;
      row.source -= (dimension.count - 1) * dimension.source_step_bytes;
      row.destination -= (dimension.count - 1) * dimension.destination_step * bytes.destination;
      if (d == 0) return;
    }
    if (slower.empty()) return;
  }
}

/// Runs a plan. One function copies or converts rows, the other fills rows.
template <class CopyFunction, class FillFunction>
class Execution {
 public:
  Execution(const Plan& plan, LogReader& log, ElementBytes bytes, const std::byte* fill,
            std::byte* destination, CopyFunction& copy_row, FillFunction& fill_row) noexcept
      : plan_(plan),
        log_(log),
        bytes_(bytes),
        fill_(fill),
        destination_(destination),
        copy_row_(copy_row),
        fill_row_(fill_row) {}

  void run() {
    if (plan_.needs_fill) {
      fill_row_({.source = fill_,
                 .destination = destination_,
                 .count = plan_.elements,
                 .destination_step = bytes_.destination});
    }
    for (const Copy& copy : plan_.copies) run(copy);
  }

 private:
  void run(const Copy& copy) {
    if (copy.dimensions == 0 && !copy.is_fill) {
      if (copy.destination < 0 || copy.destination >= plan_.elements) fail();
      run_element(copy);
      return;
    }
    if (copy.dimensions > max_copy_dimensions || copy.first_dimension > plan_.dimensions.size() ||
        copy.dimensions > plan_.dimensions.size() - copy.first_dimension) {
      fail();
    }
    const std::span<const CopyDimension> dimensions = plan_.dimensions_of(copy);
    check_destination(copy, bounds_of(dimensions));
    if (copy.is_fill) {
      // Every row takes the fill value, whatever source steps a damaged plan has.
      auto fill_row = [&](Row row) {
        row.source = fill_;
        row.source_step = 0;
        fill_row_(row);
      };
      for_each_row(dimensions, bytes_, fill_, at(copy.destination), fill_row);
    } else {
      run_strided(copy, dimensions);
    }
  }

  void run_element(const Copy& copy) {
    const std::uint64_t end = copy.log_offset + static_cast<std::uint64_t>(bytes_.source);
    const std::byte* source = end < copy.log_offset ? nullptr : log_.find(copy.writer, copy.log_offset, end);
    if (source == nullptr) fail();
    copy_row_({.source = source,
               .destination = at(copy.destination),
               .count = 1,
               .source_step = bytes_.source,
               .destination_step = bytes_.destination,
               .is_big_endian = matcher::is_of_file(copy.log_offset)});
  }

  /// The destination is already checked.
  void run_strided(const Copy& copy, std::span<const CopyDimension> dimensions) {
    if (dimensions.empty()) {
      run_element(copy);
      return;
    }
    const SourceRange range = source_range(plan_, copy, static_cast<std::size_t>(bytes_.source));
    const std::byte* lowest = log_.find(copy.writer, range.first, range.end);
    if (lowest != nullptr) {
      for_each_row(dimensions, bytes_.of(copy), lowest + (copy.log_offset - range.first),
                   at(copy.destination), copy_row_);
    } else if (dimensions.size() == 1 && dimensions[0].source_step_bytes == bytes_.source) {
      run_across_segments(copy, dimensions[0]);
    } else {
      run_apart(copy, dimensions);
    }
  }

  /// Copies a row without gaps in the source, one segment at a time.
  void run_across_segments(const Copy& copy, const CopyDimension& dimension) {
    Copy part = copy;
    for (std::int64_t left = dimension.count; left > 0;) {
      const std::uint64_t here =
          log_.bytes_from(copy.writer, part.log_offset) / static_cast<std::uint64_t>(bytes_.source);
      if (here == 0) fail();
      const std::int64_t count =
          here < static_cast<std::uint64_t>(left) ? static_cast<std::int64_t>(here) : left;
      const auto bytes = static_cast<std::uint64_t>(count * bytes_.source);
      const CopyDimension run{count, dimension.source_step_bytes, dimension.destination_step};
      for_each_row(std::span(&run, 1), bytes_.of(copy),
                   log_.find(copy.writer, part.log_offset, part.log_offset + bytes), at(part.destination),
                   copy_row_);
      part.log_offset += bytes;
      part.destination += count * dimension.destination_step;
      left -= count;
    }
  }

  /// Runs each step of the slowest dimension separately. The recursion depth is the number of dimensions.
  void run_apart(const Copy& copy, std::span<const CopyDimension> dimensions) {
    Copy part = copy;
    part.first_dimension += 1;
    part.dimensions = static_cast<std::uint16_t>(part.dimensions - 1);
    for (std::int64_t i = 0; i < dimensions[0].count; ++i) {
      run_strided(part, dimensions.subspan(1));
      part.log_offset += static_cast<std::uint64_t>(dimensions[0].source_step_bytes);
      part.destination += dimensions[0].destination_step;
    }
  }

  void check_destination(const Copy& copy, const CopyBounds& bounds) const {
    // The sums cannot overflow: the position itself is checked first.
    const bool is_inside = copy.destination >= 0 && copy.destination < plan_.elements &&
                           bounds.lowest_destination >= -copy.destination &&
                           bounds.highest_destination < plan_.elements - copy.destination &&
                           bounds.elements <= plan_.elements;
    if (!is_inside) fail();
  }

  [[nodiscard]] std::byte* at(std::int64_t element) const noexcept {
    return destination_ + element * bytes_.destination;
  }
  [[noreturn]] static void fail() {
    throw Error(NC_EIO, "a copy plan reaches beyond the data or the destination");
  }

  const Plan& plan_;
  LogWindow log_;
  ElementBytes bytes_;
  const std::byte* fill_;  ///< one element in the destination's representation
  std::byte* destination_;
  CopyFunction& copy_row_;
  FillFunction& fill_row_;
};

template <std::size_t bytes>
CopyRow<bytes> row_copier(const Plan& plan) noexcept {
  constexpr auto large = static_cast<std::int64_t>(formats::uncached_bytes / bytes);
  return {plan.elements >= large};
}

template <std::size_t bytes>
void copy_plain(const Plan& plan, LogReader& log, const void* fill, void* destination) {
  auto copy_row = row_copier<bytes>(plan);
  FillRow<bytes> fill_row;
  Execution execution(plan, log, {bytes, bytes}, static_cast<const std::byte*>(fill),
                      static_cast<std::byte*>(destination), copy_row, fill_row);
  execution.run();
}

/// Lets one thread at a time read.
class SharedLogs final : public LogReader {
 public:
  explicit SharedLogs(LogReader& logs) noexcept : logs_(logs) {}
  [[nodiscard]] std::span<const std::byte> at(std::uint32_t writer, std::uint64_t log_offset) override {
    const std::lock_guard lock(mutex_);
    return logs_.at(writer, log_offset);
  }

 private:
  std::mutex mutex_;
  LogReader& logs_;
};

/// As copy_plain(). Each thread runs all copies in their order, but only the elements of its part.
template <std::size_t bytes>
void copy_plain_at_once(const Plan& plan, LogReader& log, const void* fill, void* destination, int threads) {
  SharedLogs logs(log);
  auto* const begin = static_cast<std::byte*>(destination);
  const auto boundary = [&](int part) {
    const std::int64_t element = part == threads ? plan.elements : plan.elements / threads * part;
    return begin + element * static_cast<std::int64_t>(bytes);
  };
  run_at_once(threads, [&](int part) {
    RowsWithin copy_row(row_copier<bytes>(plan), boundary(part), boundary(part + 1));
    RowsWithin fill_row(FillRow<bytes>{}, boundary(part), boundary(part + 1));
    Execution execution(plan, logs, {bytes, bytes}, static_cast<const std::byte*>(fill), begin, copy_row,
                        fill_row);
    execution.run();
  });
}

template <std::size_t bytes>
void copy_plain(const Plan& plan, LogReader& log, const void* fill, void* destination, int threads) {
  if (threads > 1) return copy_plain_at_once<bytes>(plan, log, fill, destination, threads);
  copy_plain<bytes>(plan, log, fill, destination);
}

/// Executes a plan without conversion.
void copy_plain(const Plan& plan, LogReader& log, std::size_t element_bytes, const void* fill,
                void* destination, int threads) {
  switch (element_bytes) {
    case 1:
      return copy_plain<1>(plan, log, fill, destination, threads);
    case 2:
      return copy_plain<2>(plan, log, fill, destination, threads);
    case 4:
      return copy_plain<4>(plan, log, fill, destination, threads);
    case 8:
      return copy_plain<8>(plan, log, fill, destination, threads);
    default:
      throw Error(NC_EIO, "a copy plan was run for an unknown type");
  }
}

template <std::size_t memory_bytes>
int copy_converting(const Plan& plan, LogReader& log, const Conversion& conversion, void* destination) {
  ConvertRow copy_row(conversion.external, conversion.memory, conversion.byte_is_unsigned);
  FillRow<memory_bytes> fill_row;
  std::array<std::byte, memory_bytes> fill{};
  const int fill_status = formats::convert_get(conversion.memory, fill.data(), conversion.external,
                                               conversion.fill, 1, conversion.byte_is_unsigned);
  const ElementBytes bytes{static_cast<std::int64_t>(formats::size_of(conversion.external)), memory_bytes};
  Execution execution(plan, log, bytes, fill.data(), static_cast<std::byte*>(destination), copy_row,
                      fill_row);
  execution.run();
  const bool is_filled = plan.needs_fill || std::ranges::any_of(plan.copies, &Copy::is_fill);
  return copy_row.status() == NC_NOERR && is_filled && plan.elements > 0 ? fill_status : copy_row.status();
}

int copy_converting(const Plan& plan, LogReader& log, const Conversion& conversion, void* destination) {
  switch (formats::size_of(conversion.memory)) {
    case 1:
      return copy_converting<1>(plan, log, conversion, destination);
    case 2:
      return copy_converting<2>(plan, log, conversion, destination);
    case 4:
      return copy_converting<4>(plan, log, conversion, destination);
    case 8:
      return copy_converting<8>(plan, log, conversion, destination);
    default:
      throw Error(NC_EIO, "a copy plan was run for an unknown type");
  }
}

/// Whether an element may be written more than once.
bool may_overlap(const Plan& plan) noexcept {
  return plan.copies.size() + (plan.needs_fill ? 1 : 0) > 1;
}

/// Collects the external values in a copy first, and converts only the final values.
int convert_at_the_end(const Plan& plan, LogReader& log, const Conversion& conversion, void* destination) {
  const std::size_t bytes = formats::size_of(conversion.external);
  std::vector<std::byte> external(static_cast<std::size_t>(plan.elements) * bytes);
  copy_plain(plan, log, bytes, conversion.fill, external.data(), 1);
  return formats::convert_get(conversion.memory, destination, conversion.external, external.data(),
                              plan.elements, conversion.byte_is_unsigned);
}

}  // namespace

int execute(const Plan& plan, LogReader& log, const Conversion& conversion, void* destination, int threads) {
  if (!formats::is_valid(conversion.external) || !formats::is_valid(conversion.memory) || plan.elements < 0 ||
      plan.elements > matcher::max_elements) {
    throw Error(NC_EIO, "a copy plan was run for an unknown type or size");
  }
  std::array<std::byte, 8> default_fill{};
  if (conversion.fill == nullptr) {
    formats::default_fill(conversion.external, default_fill.data());
    Conversion with_fill = conversion;
    with_fill.fill = default_fill.data();
    return execute(plan, log, with_fill, destination, threads);
  }
  if (formats::is_plain_copy(conversion.external, conversion.memory, conversion.byte_is_unsigned)) {
    copy_plain(plan, log, formats::size_of(conversion.external), conversion.fill, destination, threads);
    return NC_NOERR;
  }
  const int status = copy_converting(plan, log, conversion, destination);
  // A later value may have overwritten an out-of-range value.
  if (status == NC_ERANGE && may_overlap(plan)) return convert_at_the_end(plan, log, conversion, destination);
  return status;
}

}  // namespace sluice::replay
