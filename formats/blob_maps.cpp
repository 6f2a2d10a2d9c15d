// Decomposition maps and their variables in a blob file: docs/formats/blobs.md.
#include <algorithm>
#include <limits>

#include "attribute_values.hpp"
#include "map_variables.hpp"
#include "sluice/formats/blobs.hpp"

namespace sluice::formats {

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
  // Not before the file has turned out to have as many numbers.
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
    if (!is_complete(map, elements_of_map(dataset.header, map)))
      refuse_blobs(path, "a map does not have each element once");
  }
}

bool is_complete(const DecompositionMap& map, std::int64_t elements) {
  std::vector<ElementRun> all;
  for (const auto& runs : map.runs) all.insert(all.end(), runs.begin(), runs.end());
  std::sort(all.begin(), all.end(),
            [](const ElementRun& a, const ElementRun& b) { return a.offset < b.offset; });
  std::int64_t end = 0;
  for (const auto& run : all) {
    if (run.offset != end) return false;
    end += run.length;
  }
  return end == elements;
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
