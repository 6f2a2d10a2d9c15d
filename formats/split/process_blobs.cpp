#include "sluice/formats/process_blobs.hpp"

#include <algorithm>
#include <limits>

#include "attribute_values.hpp"
#include "sluice/formats/convert.hpp"
#include "sluice/formats/error.hpp"
#include "variable_sizes.hpp"

namespace sluice::formats {
namespace {

/// Bytes of a process's blob before the requests of a map: nreqs, blob_start, blob_count.
constexpr std::int64_t map_head_bytes = 4 + 8 + 8;
constexpr int list_variable = 3;  // the position of D<k>.offsets among a map's variables

[[noreturn]] void refuse(const std::string& path, const std::string& reason) {
  throw FormatError(NC_ENOTNC, path, 0, "the file does not have the layout of blobs of processes: " + reason);
}

std::int64_t product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result))
    throw Error(NC_EVARSIZE, "a variable has more than 2^63 - 1 bytes");
  return result;
}

void append(std::vector<std::byte>& to, std::span<const std::int64_t> values, Type type) {
  const auto bytes = encode_integers(values, type, native_byte_order);
  to.insert(to.end(), bytes.begin(), bytes.end());
}

/// The part of a blob for one map, at `at`. `start`: the number of the map's elements in earlier blobs.
struct MapHead {
  std::int64_t requests = 0;
  std::int64_t start = 0;
  std::int64_t count = 0;
};

MapHead read_head(int file, std::int64_t at, ByteOrder order, const BlobReader& read) {
  std::array<std::byte, map_head_bytes> bytes{};
  read(file, at, bytes);
  const auto all = std::span<const std::byte>(bytes);
  const auto wide = decode_integers(all.subspan(4), Type::int64, order);
  return {decode_integers(all.first(4), Type::int32, order)[0], wide[0], wide[1]};
}

/// One request and its process.
struct Request {
  ElementRun run;
  std::int64_t position = 0;
  std::int32_t process = 0;
};

}  // namespace

std::int64_t list_number_bytes(const Header& file_header, int map, const std::string& path) {
  const auto type = file_header.variable(first_map_variable(file_header, map) + list_variable).type;
  if (type != file_header.variable(first_map_variable(file_header, map) + list_variable + 1).type ||
      (type != Type::int32 && type != Type::int64))
    refuse(path, "the lists of map " + std::to_string(map) + " are of another type");
  return static_cast<std::int64_t>(size_of(type));
}

std::vector<std::byte> encode_blob_maps(const Header& header, const Blobs& blobs, int process) {
  std::vector<std::byte> result;
  for (const auto& map : blobs.maps) {
    const int first = blobs.first_process(blobs.file_of(process));
    const std::int64_t row = row_elements(header, map);
    std::vector<std::int64_t> offsets;
    std::vector<std::int64_t> lengths;
    for (const auto& run : map.runs[static_cast<std::size_t>(process)]) {
      for_each_request(run, row, [&](const ElementRun& request) {
        offsets.push_back(request.offset);
        lengths.push_back(request.length);
      });
    }
    const std::int64_t requests = std::ssize(offsets);
    append(result, {&requests, 1}, Type::int32);
    const std::array<std::int64_t, 2> range{blobs.elements(map, first, process),
                                            blobs.elements(map, process, process + 1)};
    append(result, range, Type::int64);
    const bool is_wide = elements_of_map(header, map) > std::numeric_limits<std::int32_t>::max();
    append(result, offsets, is_wide ? Type::int64 : Type::int32);
    append(result, lengths, is_wide ? Type::int64 : Type::int32);
  }
  return result;
}

BlobVariableBytes bytes_in_blob(const BlobHeader& dataset, int varid, int process,
                                const BlobContents& contents) {
  const auto& [header, blobs] = dataset;
  const int kept = blobs.kept[static_cast<std::size_t>(varid)];
  if (kept == Blobs::undecided) return {};
  const int file = blobs.file_of(process);
  const bool is_first = process == blobs.first_process(file);
  if (kept == Blobs::whole && !(is_first && blobs.has(file, kept))) return {};
  const auto element_bytes = static_cast<std::int64_t>(size_of(header.variable(varid).type));
  const auto map = static_cast<std::size_t>(kept) - 1;
  const std::int64_t elements =
      kept == Blobs::whole ? header.elements_per_record(varid) : contents.maps[map].elements;
  const bool is_by_record =
      header.is_record_variable(varid) && (kept == Blobs::whole || !has_records(header, blobs.maps[map]));
  const std::int64_t one = product(elements, element_bytes);
  return {one, is_by_record ? product(one, header.record_count) : one};
}

std::vector<BlobContents> read_blob_contents(const BlobHeader& dataset, int file,
                                             const ProcessBlobFile& description, const std::string& path,
                                             const BlobReader& read) {
  const auto& [header, blobs] = dataset;
  const auto maps = static_cast<int>(blobs.maps.size());
  std::vector<BlobContents> result;
  std::vector<std::int64_t> starts(blobs.maps.size());
  std::int64_t at = 0;
  const auto advance = [&](std::int64_t bytes) {
    if (bytes > description.data_bytes - at) refuse(path, "data_blob is too short for its blobs");
    at += bytes;
  };
  for (int process = blobs.first_process(file); process < blobs.first_process(file + 1); ++process) {
    BlobContents contents;
    for (int map = 1; map <= maps; ++map) {
      const auto i = static_cast<std::size_t>(map) - 1;
      const std::int64_t number_bytes = list_number_bytes(description.header, map, path);
      const std::int64_t head = at;
      advance(map_head_bytes);
      const auto [requests, start, count] = read_head(file, head, description.order, read);
      if (requests < 0 || count < 0 || start != starts[i] || count > elements_of_map(header, blobs.maps[i]))
        refuse(path, "the blob of process " + std::to_string(process) + " has a map that makes no sense");
      starts[i] += count;
      contents.maps.push_back({requests, count, at});
      advance(2 * number_bytes * requests);
    }
    contents.data_begin = at;
    for (int id = 0; id < header.variable_count(); ++id)
      advance(bytes_in_blob(dataset, id, process, contents).all);
    result.push_back(std::move(contents));
  }
  if (at != description.data_bytes) refuse(path, "data_blob is longer than its blobs");
  return result;
}

std::vector<ElementRun> ProcessBlobDataset::read_requests(int map, int process,
                                                          const BlobReader& read) const {
  const auto& [header, blobs] = dataset;
  const auto i = static_cast<std::size_t>(map) - 1;
  const std::int64_t elements = elements_of_map(header, blobs.maps[i]);
  const int file = blobs.file_of(process);
  const auto& description = files[static_cast<std::size_t>(file)];
  const auto& path = paths[static_cast<std::size_t>(file) + 1];
  const auto& part = contents[static_cast<std::size_t>(process)].maps[i];
  const std::int64_t number_bytes = list_number_bytes(description.header, map, path);
  std::vector<std::byte> bytes(static_cast<std::size_t>(2 * number_bytes * part.requests));
  read(file, part.list_begin, bytes);
  const auto numbers =
      decode_integers(bytes, number_bytes == 4 ? Type::int32 : Type::int64, description.order);
  const auto requests = static_cast<std::size_t>(part.requests);
  std::vector<ElementRun> runs;
  std::int64_t sum = 0;
  for (std::size_t request = 0; request < requests && sum <= part.elements; ++request) {
    const ElementRun run{numbers[request], numbers[requests + request]};
    if (run.offset < 0 || run.length <= 0 || run.offset > elements - run.length)
      refuse(path, "a request lies outside of its map");
    append_joined(runs, run);
    sum += run.length;
  }
  if (sum != part.elements) refuse(path, "blob_count is not the sum of a process's requests");
  return runs;
}

MapEntries ProcessBlobDataset::read_map(int map, const BlobReader& read) const {
  const auto& [header, blobs] = dataset;
  std::vector<Request> all;
  for (int process = 0; process < blobs.processes; ++process) {
    std::int64_t position = 0;
    for (const auto& run : read_requests(map, process, read)) {
      all.push_back({run, position, process});
      position += run.length;
    }
  }
  std::sort(all.begin(), all.end(),
            [](const Request& a, const Request& b) { return a.run.offset < b.run.offset; });
  MapEntries entries(elements_of_map(header, blobs.maps[static_cast<std::size_t>(map) - 1]));
  std::int64_t end = 0;
  for (const auto& request : all) {
    if (request.run.offset < end) refuse(paths.front(), "two requests of a map have the same element");
    entries.append(request.run, request.position, request.process);
    end = request.run.offset + request.run.length;
  }
  entries.finish();
  return entries;
}

std::vector<FileDescription> process_blob_space(const ProcessBlobDataset& dataset,
                                                std::int64_t master_bytes) {
  const auto& header = dataset.dataset.header;
  std::int64_t most_bytes = 0;
  for (int id = 0; id < header.variable_count(); ++id) {
    const std::int64_t records =
        header.is_record_variable(id) ? std::max<std::int64_t>(1, header.record_count) : 1;
    const auto element_bytes = static_cast<std::int64_t>(size_of(header.variable(id).type));
    most_bytes =
        std::max(most_bytes, product(product(header.elements_per_record(id), element_bytes), records));
  }
  std::vector<FileDescription> space;
  const auto add = [&](std::int64_t begin, std::int64_t bytes) {
    FileDescription file;
    file.layout.header_extent = begin;
    file.layout.record_begin = checked_sum(begin, bytes);
    space.push_back(std::move(file));
  };
  add(master_bytes, most_bytes);
  for (const auto& file : dataset.files) add(file.data_offset, file.data_bytes);
  return space;
}

}  // namespace sluice::formats
