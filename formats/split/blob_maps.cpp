// Decomposition maps and their variables in a blob file: docs/formats/blobs.md.
#include <algorithm>
#include <limits>

#include "attribute_values.hpp"
#include "map_variables.hpp"
#include "sluice/formats/blobs.hpp"

namespace sluice::formats {
namespace {

struct OwnedRun {
  ElementRun run;
  std::size_t process = 0;
};

/// The runs of all processes, ascending.
std::vector<OwnedRun> sorted_runs(const DecompositionMap& map) {
  std::vector<OwnedRun> all;
  for (std::size_t process = 0; process < map.runs.size(); ++process) {
    for (const auto& run : map.runs[process]) all.push_back({run, process});
  }
  std::sort(all.begin(), all.end(),
            [](const OwnedRun& a, const OwnedRun& b) { return a.run.offset < b.run.offset; });
  return all;
}

}  // namespace

int first_map_variable(const Header& file_header, int map) {
  return file_header.find_variable(map_name(map, map_variables[0].name));
}

std::vector<std::vector<std::byte>> encode_map(const Blobs& blobs, int map, int file,
                                               const Header& file_header) {
  const auto& decomposition = blobs.maps[static_cast<std::size_t>(map) - 1];
  const int first = blobs.first_process(file);
  const auto processes = static_cast<std::size_t>(blobs.first_process(file + 1) - first);
  const int list_dimension = file_header.find_dimension(map_name(map, "max_nreqs"));
  const auto width = static_cast<std::size_t>(file_header.dimension(list_dimension).length);
  const std::int64_t row = row_elements(file_header, decomposition);
  std::array<std::vector<std::int64_t>, map_variable_count> values;
  for (std::size_t v = 0; v < values.size(); ++v)
    values[v].resize(map_variables[v].is_list ? processes * width : processes);
  std::int64_t start = 0;
  for (std::size_t i = 0; i < processes; ++i) {
    std::int64_t count = 0;
    std::size_t requests = 0;
    for (const auto& run : decomposition.runs[static_cast<std::size_t>(first) + i]) {
      for_each_request(run, row, [&](const ElementRun& request) {
        values[3][i * width + requests] = request.offset;
        values[4][i * width + requests++] = request.length;
      });
      count += run.length;
    }
    values[0][i] = static_cast<std::int64_t>(requests);
    values[1][i] = start;
    values[2][i] = count;
    start += count;
  }
  std::vector<std::vector<std::byte>> result;
  const int id = first_map_variable(file_header, map);
  for (std::size_t v = 0; v < values.size(); ++v)
    result.push_back(encode_integers(values[v], file_header.variable(id + static_cast<int>(v)).type));
  return result;
}

void decode_map(BlobHeader& dataset, int map, int file, const Header& file_header,
                std::span<const std::vector<std::byte>> variables, const std::string& path) {
  auto& [header, blobs] = dataset;
  auto& decomposition = blobs.maps[static_cast<std::size_t>(map) - 1];
  const int id = first_map_variable(file_header, map);
  std::array<std::vector<std::int64_t>, map_variable_count> values;
  for (std::size_t v = 0; v < values.size(); ++v)
    values[v] = decode_integers(variables[v], file_header.variable(id + static_cast<int>(v)).type);
  const std::size_t processes = values[0].size();
  const std::size_t width = processes == 0 ? 0 : values[3].size() / processes;
  const std::int64_t elements = elements_of_map(header, decomposition);
  const int lengths = file_header.find_dimension(map_name(map, "nelems"));
  // Allocates the runs only after the file has proved to have enough numbers.
  decomposition.runs.resize(static_cast<std::size_t>(blobs.processes));
  std::int64_t start = 0;
  for (std::size_t i = 0; i < processes; ++i) {
    const auto requests = values[0][i];
    if (requests < 0 || requests > static_cast<std::int64_t>(width))
      refuse_blobs(path, "nreqs makes no sense");
    auto& runs = decomposition.runs[static_cast<std::size_t>(blobs.first_process(file)) + i];
    std::int64_t count = 0;
    for (std::size_t r = 0; r < static_cast<std::size_t>(requests); ++r) {
      const ElementRun run{values[3][i * width + r], values[4][i * width + r]};
      if (run.offset < 0 || run.length <= 0 || run.offset > elements - run.length)
        refuse_blobs(path, "a request lies outside of its map");
      append_joined(runs, run);
      count += run.length;
    }
    if (values[1][i] != start || values[2][i] != count) refuse_blobs(path, "blobs do not follow one another");
    start += count;
  }
  if (std::max<std::int64_t>(1, start) != file_header.dimension(lengths).length)
    refuse_blobs(path, "nelems is not the number of its elements");
}

void check_maps(const BlobHeader& dataset, const std::string& path) {
  for (const auto& map : dataset.blobs.maps) {
    if (coverage_of(map, elements_of_map(dataset.header, map)) != Coverage::each_once)
      refuse_blobs(path, "a map does not have each element once");
  }
}

Coverage coverage_of(const DecompositionMap& map, std::int64_t elements) {
  std::int64_t end = 0;
  auto coverage = Coverage::each_once;
  for (const auto& [run, process] : sorted_runs(map)) {
    if (run.offset < end) return Coverage::twice;
    if (run.offset > end) coverage = Coverage::with_holes;
    end = run.offset + run.length;
  }
  return end == elements ? coverage : Coverage::with_holes;
}

void give_away_holes(DecompositionMap& map, const Header& header) {
  const auto processes = std::ssize(map.runs);
  const std::int64_t row = row_elements(header, map);
  std::vector<OwnedRun> all;
  std::int64_t end = 0;
  const auto fill = [&](std::int64_t hole_end) {
    const std::int64_t length = hole_end - end;
    if (length > 0 && length <= row && !all.empty()) {
      all.back().run.length += length;
      return;
    }
    for (std::int64_t process = 0; length > 0 && process < processes; ++process) {
      const std::int64_t first = length / processes * process + std::min(process, length % processes);
      const std::int64_t count = length / processes + (process < length % processes ? 1 : 0);
      if (count > 0) all.push_back({{end + first, count}, static_cast<std::size_t>(process)});
    }
  };
  for (const auto& owned : sorted_runs(map)) {
    fill(owned.run.offset);
    all.push_back(owned);
    end = owned.run.offset + owned.run.length;
  }
  fill(elements_of_map(header, map));
  for (auto& runs : map.runs) runs.clear();
  for (const auto& [run, process] : all) append_joined(map.runs[process], run);
}

std::vector<std::int64_t> lengths_of(const Header& header, const std::vector<int>& dimids) {
  std::vector<std::int64_t> lengths;
  for (const int id : dimids)
    lengths.push_back(header.dimension(id).is_record ? 0 : header.dimension(id).length);
  return lengths;
}

std::int64_t elements_of_map(const Header& header, const DecompositionMap& map) {
  std::int64_t elements = 1;
  for (const int id : map.dimids) {
    const auto& dimension = header.dimension(id);
    const std::int64_t length = dimension.is_record ? header.record_count : dimension.length;
    if (__builtin_mul_overflow(elements, length, &elements))
      throw Error(NC_EVARSIZE, "a variable has more than 2^63 - 1 elements");
  }
  return elements;
}

std::int64_t row_elements(const Header& header, const DecompositionMap& map) {
  const bool has_rows = !map.dimids.empty() && !header.dimension(map.dimids.back()).is_record;
  return has_rows ? header.dimension(map.dimids.back()).length : std::numeric_limits<std::int64_t>::max();
}

std::int64_t count_requests(const std::vector<ElementRun>& runs, std::int64_t row) {
  std::int64_t requests = 0;
  for (const auto& run : runs) requests += (run.offset % row + run.length - 1) / row + 1;
  return requests;
}

void append_joined(std::vector<ElementRun>& runs, const ElementRun& request) {
  if (!runs.empty() && runs.back().offset + runs.back().length == request.offset)
    runs.back().length += request.length;
  else
    runs.push_back(request);
}

}  // namespace sluice::formats
