// Measures matching: n write requests against n read requests of one variable, over four decades, with the
// growth that fits the times. Uses one core. The times include adding the requests, indexing, matching and,
// where stated, building the plan.
//
//     matching [--repetitions N] [--largest N] [--only TEXT] [--json FILE]
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <functional>
#include <iostream>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "sluice/matcher/write_index.hpp"
#include "sluice/replay/plan.hpp"

using namespace sluice;

namespace {

constexpr std::size_t element_bytes = 8;

/// Boxes of one variable, flat: n times start, then n times count.
struct Requests {
  std::size_t dimensions = 1;
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> counts;

  [[nodiscard]] std::size_t size() const { return starts.size() / dimensions; }
  [[nodiscard]] formats::HyperslabView operator[](std::size_t i) const {
    formats::HyperslabView view;
    view.start = std::span(starts).subspan(i * dimensions, dimensions);
    view.count = std::span(counts).subspan(i * dimensions, dimensions);
    return view;
  }
  void add(std::initializer_list<std::int64_t> start, std::initializer_list<std::int64_t> count) {
    starts.insert(starts.end(), start);
    counts.insert(counts.end(), count);
  }
};

struct Case {
  std::string name;
  std::vector<std::size_t> sizes;
  bool builds_plan = false;
  std::function<Requests(std::size_t)> writes;
  std::function<Requests(std::size_t)> reads;  ///< empty: each write is read as soon as it is added
};

struct Result {
  std::string name;
  std::size_t requests = 0;
  double milliseconds = 0;
  double bytes_per_request = 0;
  std::size_t pieces = 0;
};

Requests elements(std::size_t n, bool is_shuffled, unsigned seed) {
  Requests requests;
  requests.starts.resize(n);
  std::iota(requests.starts.begin(), requests.starts.end(), std::int64_t{0});
  if (is_shuffled) std::shuffle(requests.starts.begin(), requests.starts.end(), std::mt19937_64(seed));
  requests.counts.assign(n, 1);
  return requests;
}

/// Requests of one element of a variable (level, column). Columns are given to processes in blocks of a
/// shuffled order, as in climate decompositions. A process's columns ascend, level by level.
Requests climate(std::size_t n, std::size_t processes, unsigned seed) {
  const std::size_t levels = 72;
  const std::size_t columns = std::max<std::size_t>(n / levels, 1);
  std::vector<std::int64_t> order(columns);
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::shuffle(order.begin(), order.end(), std::mt19937_64(seed));
  Requests requests;
  requests.dimensions = 2;
  for (std::size_t p = 0; p < processes; ++p) {
    const auto first = order.begin() + static_cast<std::ptrdiff_t>(columns * p / processes);
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(columns * (p + 1) / processes);
    std::sort(first, end);
    for (std::int64_t level = 0; level < static_cast<std::int64_t>(levels); ++level) {
      for (auto column = first; column != end; ++column) requests.add({level, *column}, {1, 1});
    }
  }
  return requests;
}

/// n blocks of (edge, edge, 32) elements of a three-dimensional variable, shifted by `shift` so that they
/// overlap the borders of another decomposition.
Requests blocks(std::size_t n, std::int64_t shift) {
  const auto side = static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(n))));
  const std::int64_t edge = 16;
  Requests requests;
  requests.dimensions = 3;
  for (std::int64_t y = 0; y < side; ++y) {
    for (std::int64_t x = 0; x < side; ++x)
      requests.add({y * edge + shift, x * edge + shift, 0}, {edge, edge, 32});
  }
  return requests;
}

/// Processor time of this process, which has one thread. Other load of the machine matters only when it takes
/// cache space.
double seconds_now() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::size_t heap_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

/// Each request is read before the next one is added, as by a reader that follows a writer: the index grows
/// by one request at a time.
Result measure_following(const Case& what, const Requests& writes) {
  Result result{.name = what.name, .requests = writes.size()};
  const std::size_t heap_before = heap_bytes();
  const double begin = seconds_now();
  matcher::WriteIndex index(static_cast<int>(writes.dimensions), element_bytes);
  std::vector<matcher::Piece> pieces;
  for (std::size_t i = 0; i < writes.size(); ++i) {
    index.add({.writer = 0, .sequence = i, .log_offset = element_bytes * i, .box = writes[i]});
    pieces.clear();
    (void)index.match(writes[i], pieces);
    result.pieces += pieces.size();
  }
  result.milliseconds = (seconds_now() - begin) * 1e3;
  result.bytes_per_request =
      static_cast<double>(heap_bytes() - heap_before) / static_cast<double>(writes.size());
  return result;
}

Result measure_once(const Case& what, const Requests& writes, const Requests& reads) {
  Result result{.name = what.name, .requests = writes.size()};
  const std::size_t heap_before = heap_bytes();
  const double begin = seconds_now();
  matcher::WriteIndex index(static_cast<int>(writes.dimensions), element_bytes);
  std::uint64_t offset = 0;
  const std::size_t per_writer = (writes.size() + 15) / 16;
  for (std::size_t i = 0; i < writes.size(); ++i) {
    if (i % per_writer == 0) offset = 0;
    index.add({.writer = static_cast<std::uint32_t>(i / per_writer),
               .sequence = i,
               .log_offset = offset,
               .box = writes[i]});
    offset += element_bytes * static_cast<std::uint64_t>(writes[i].elements());
  }
  replay::PlanBuilder builder(element_bytes);
  std::vector<matcher::Piece> pieces;
  std::size_t copies = 0;
  if (what.builds_plan) {
    std::vector<formats::HyperslabView> access;
    for (std::size_t i = 0; i < reads.size(); ++i) access.push_back(reads[i]);
    builder.add(access, index);
    copies = builder.take().copies.size();
  } else {
    for (std::size_t i = 0; i < reads.size(); ++i) {
      pieces.clear();
      (void)index.match(reads[i], pieces);
      result.pieces += pieces.size();
    }
  }
  result.milliseconds = (seconds_now() - begin) * 1e3;
  if (what.builds_plan) result.pieces = copies;
  result.bytes_per_request =
      static_cast<double>(heap_bytes() - heap_before) / static_cast<double>(writes.size());
  return result;
}

Result measure(const Case& what, std::size_t n, int repetitions) {
  const Requests writes = what.writes(n);
  const Requests reads = what.reads ? what.reads(n) : Requests{};
  std::vector<Result> results;
  for (int i = 0; i < repetitions + 1; ++i) {
    results.push_back(what.reads ? measure_once(what, writes, reads) : measure_following(what, writes));
  }
  results.erase(results.begin());  // warm-up
  std::ranges::nth_element(results, results.begin() + repetitions / 2, {}, &Result::milliseconds);
  return results[static_cast<std::size_t>(repetitions / 2)];
}

/// The exponent of the power of n that fits the times best (least squares of the logarithms).
double fitted_growth(const std::vector<Result>& results) {
  double sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
  for (const Result& result : results) {
    const double x = std::log(static_cast<double>(result.requests));
    const double y = std::log(result.milliseconds);
    sum_x += x;
    sum_y += y;
    sum_xx += x * x;
    sum_xy += x * y;
  }
  const auto n = static_cast<double>(results.size());
  return (n * sum_xy - sum_x * sum_y) / (n * sum_xx - sum_x * sum_x);
}

std::vector<Case> all_cases(std::size_t largest) {
  std::vector<std::size_t> decades;
  for (std::size_t n = largest / 1000; n <= largest; n *= 10) decades.push_back(n);
  std::vector<std::size_t> climates;
  for (const std::size_t n : decades) climates.push_back(n / 72 * 72);
  climates.push_back(62352);
  std::ranges::sort(climates);
  const auto shuffled = [](unsigned seed) {
    return [seed](std::size_t n) { return elements(n, true, seed); };
  };
  const auto ascending = [](std::size_t n) { return elements(n, false, 0); };
  const auto climate_of = [](std::size_t processes, unsigned seed) {
    return [=](std::size_t n) { return climate(n, processes, seed); };
  };
  const auto blocks_at = [](std::int64_t shift) {
    return [shift](std::size_t n) { return blocks(n, shift); };
  };
  return {{"single elements, in order", decades, false, ascending, ascending},
          {"single elements, shuffled", decades, false, shuffled(1), shuffled(2)},
          {"single elements, shuffled, with plan", decades, true, shuffled(1), shuffled(2)},
          {"single elements, in order, each read before the next is put", decades, false, ascending, {}},
          {"single elements, shuffled, each read before the next is put", decades, false, shuffled(1), {}},
          {"climate, 16 writers, 16 readers, same, with plan", climates, true, climate_of(16, 1),
           climate_of(16, 1)},
          {"climate, 16 writers, 6 other readers, with plan", climates, true, climate_of(16, 1),
           climate_of(6, 2)},
          {"blocks of 16 x 16 x 32, straddling, with plan", decades, true, blocks_at(0), blocks_at(5)}};
}

void print_table(const std::vector<Result>& results) {
  for (const Result& result : results) {
    std::printf(
        "  %9zu requests: %10.3f ms  %7.1f ns per request  %5.1f bytes kept per request  %9zu pieces or "
        "copies\n",
        result.requests, result.milliseconds,
        result.milliseconds * 1e6 / static_cast<double>(result.requests), result.bytes_per_request,
        result.pieces);
  }
  std::printf("  time grows as n^%.2f\n", fitted_growth(results));
}

std::string json_of(const std::vector<Result>& results) {
  std::string text = "  {\"name\": \"" + results.front().name +
                     "\", \"growth\": " + std::to_string(fitted_growth(results)) + ", \"times\": [";
  for (std::size_t i = 0; i < results.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::string("{\"requests\": ") + std::to_string(results[i].requests) +
            ", \"milliseconds\": " + std::to_string(results[i].milliseconds) +
            ", \"bytes_per_request\": " + std::to_string(results[i].bytes_per_request) + "}";
  }
  return text + "]}";
}

}  // namespace

int main(int argc, char** argv) {
  int repetitions = 3;
  std::size_t largest = 1000000;
  std::string only;  // cases whose names contain it
  std::string json_path;
  for (int i = 1; i < argc; i += 2) {
    const std::string option = argv[i];
    if (i + 1 < argc && option == "--repetitions") {
      repetitions = std::max(std::stoi(argv[i + 1]), 1);
    } else if (i + 1 < argc && option == "--largest") {
      largest = std::max<std::size_t>(std::stoul(argv[i + 1]), 1000000 / 100);
    } else if (i + 1 < argc && option == "--only") {
      only = argv[i + 1];
    } else if (i + 1 < argc && option == "--json") {
      json_path = argv[i + 1];
    } else {
      std::cerr << "usage: matching [--repetitions N] [--largest N] [--only TEXT] [--json FILE]\n";
      return 2;
    }
  }
  std::string json = "[\n";
  for (const Case& what : all_cases(largest)) {
    if (what.name.find(only) == std::string::npos) continue;
    std::printf("%s\n", what.name.c_str());
    std::vector<Result> results;
    for (const std::size_t n : what.sizes) results.push_back(measure(what, n, repetitions));
    print_table(results);
    json += (json.size() > 2 ? ",\n" : "") + json_of(results);
  }
  if (!json_path.empty()) std::ofstream(json_path) << json << "\n]\n";
  return 0;
}
