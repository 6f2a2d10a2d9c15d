#include "sluice/storage/blob_files.hpp"

#include <cstring>
#include <span>
#include <vector>

namespace sluice::storage {
namespace {

/// Calls visit(variable id, bytes of the variable) for the variables of a map.
template <class Visit>
void for_each_variable_of(int map, const formats::Header& header, const std::string& path,
                          std::int64_t most_bytes, const Visit& visit) {
  const int first = formats::first_map_variable(header, map);
  for (int id = first; id < first + formats::map_variable_count; ++id) {
    auto bytes = static_cast<std::int64_t>(formats::size_of(header.variable(id).type));
    for (const int dimension : header.variable(id).dimids) {
      if (__builtin_mul_overflow(bytes, header.dimension(dimension).length, &bytes) || bytes > most_bytes)
        throw FormatError(NC_ENOTNC, path, 0, "the file is too short for " + header.variable(id).name);
    }
    visit(id, static_cast<std::size_t>(bytes));
  }
}

/// Calls visit(map, variable id, bytes of the variable) for all variables of all maps.
template <class Visit>
void for_each_map_variable(const formats::Blobs& blobs, const formats::Header& header,
                           const std::string& path, std::int64_t most_bytes, const Visit& visit) {
  for (int map = 1; map <= static_cast<int>(blobs.maps.size()); ++map)
    for_each_variable_of(map, header, path, most_bytes,
                         [&](int id, std::size_t bytes) { visit(map, id, bytes); });
}

}  // namespace

std::string read_map_bytes(const File& file, const formats::Blobs& blobs,
                           const formats::Header& file_header) {
  std::string all;
  for_each_map_variable(blobs, file_header, file.path(), file.size_bytes(),
                        [&](int, int id, std::size_t bytes) {
                          const std::size_t had = all.size();
                          all.resize(had + bytes);
                          read_exactly(file, file_header.variable(id).begin,
                                       std::as_writable_bytes(std::span(all)).subspan(had));
                        });
  return all;
}

formats::MapLoader map_loader(FileSystem& system, const formats::BlobHeader& dataset,
                              const std::vector<formats::FileDescription>& files,
                              const std::vector<std::string>& paths) {
  return [&system, dataset, files, paths](int map) {
    auto with_runs = dataset;
    for (std::size_t i = 1; i < files.size(); ++i) {
      const auto file = system.open(paths[i], OpenMode::read);
      const auto& header = files[i].header;
      std::vector<std::vector<std::byte>> variables;
      for_each_variable_of(map, header, paths[i], file->size_bytes(), [&](int id, std::size_t bytes) {
        read_exactly(*file, header.variable(id).begin, variables.emplace_back(bytes));
      });
      formats::decode_map(with_runs, map, static_cast<int>(i) - 1, header, variables, paths[i]);
    }
    const auto& decomposition = with_runs.blobs.maps[static_cast<std::size_t>(map) - 1];
    const auto elements = formats::elements_of_map(dataset.header, decomposition);
    if (formats::coverage_of(decomposition, elements) == formats::Coverage::twice)
      throw FormatError(NC_ENOTNC, paths.front(), 0,
                        "two requests of map " + std::to_string(map) + " have the same element");
    return formats::entries_of_map(dataset.header, with_runs.blobs, map);
  };
}

void take_map_bytes(formats::BlobHeader& dataset, int file, const formats::Header& file_header,
                    const std::string& bytes, const std::string& path) {
  std::vector<std::vector<std::byte>> variables;
  std::size_t taken = 0;
  const auto all = std::as_bytes(std::span(bytes));
  const auto size = static_cast<std::int64_t>(bytes.size());
  const auto blobs = dataset.blobs;
  for_each_map_variable(blobs, file_header, path, size, [&](int map, int, std::size_t count) {
    if (count > all.size() - taken) throw FormatError(NC_ENOTNC, path, 0, "the maps are incomplete");
    const auto part = all.subspan(taken, count);
    variables.emplace_back(part.begin(), part.end());
    taken += count;
    if (variables.size() < static_cast<std::size_t>(formats::map_variable_count)) return;
    formats::decode_map(dataset, map, file, file_header, variables, path);
    variables.clear();
  });
}

}  // namespace sluice::storage
