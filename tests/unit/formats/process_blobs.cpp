// Blobs of processes: encoded maps are decoded, and each element is in its process's blob.
#include "sluice/formats/process_blobs.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <functional>

#include "sluice/formats/cdf.hpp"
#include "sluice/formats/error.hpp"
#include "support/dense_reference.hpp"
#include "support/placements.hpp"
#include "support/seed.hpp"

namespace sluice::formats {
namespace {

using test::HyperslabGenerator;

/// A dataset of four variables: one by a map, one by the same map in records, one by a map of all records,
/// and an undivided one.
struct Example {
  static constexpr std::int64_t rows = 3, columns = 5, records = 4;
  Header header;
  Blobs blobs;
  std::vector<std::vector<std::byte>> data;  ///< data_blob of each file; zeros where values would be
  ProcessBlobDataset read;

  explicit Example(HyperslabGenerator& random) {
    header.version = Version::cdf5;
    header.record_count = records;
    header.add_dimension({"t", 0, true});
    header.add_dimension({"y", rows, false});
    header.add_dimension({"x", columns, false});
    blobs.are_of_processes = true;
    blobs.processes = static_cast<int>(random.between(1, 6));
    blobs.files = static_cast<int>(random.between(1, blobs.processes));
    blobs.maps = {test::random_map({1, 2}, rows * columns, blobs, -1, random),
                  test::random_map({0, 2}, records * columns, blobs, -1, random)};
    add("field", Type::int16, {1, 2}, 1);
    add("whole", Type::float64, {0, 1}, Blobs::whole);
    add("apart", Type::int32, {0, 2}, 2);
    add("series", Type::float32, {0, 1, 2}, 1);
    add("never", Type::int8, {1}, Blobs::undecided);
    blobs.order = {-1, -2, 0, 1, 2, 3};
    write();
    read_back();
  }

  [[nodiscard]] BlobReader reader() const {
    return [this](int file, std::int64_t offset, std::span<std::byte> bytes) {
      const auto& from = data[static_cast<std::size_t>(file)];
      REQUIRE(offset + std::ssize(bytes) <= std::ssize(from));
      std::memcpy(bytes.data(), from.data() + offset, bytes.size());
    };
  }

  void read_back() {
    read = {};
    std::vector<FileDescription> files{{blob_master_header(header, blobs), {}}};
    read.paths = {"x"};
    for (int file = 0; file < blobs.files; ++file) {
      ProcessBlobFile description;
      // Encodes and decodes in both byte orders.
      for (const auto order : {ByteOrder::big, ByteOrder::little}) {
        const auto bytes = encode_header(blob_file_header(header, blobs, file), order);
        CHECK(byte_order_of(bytes) == order);
        description.header = decode_metadata(bytes, "x", order);
      }
      description.data_bytes = std::ssize(data[static_cast<std::size_t>(file)]);
      files.push_back({description.header, {}});
      read.files.push_back(std::move(description));
      read.paths.push_back(blob_file_path("x", file));
    }
    read.dataset = read_blob_headers(files, read.paths);
    for (int file = 0; file < blobs.files; ++file) {
      const auto i = static_cast<std::size_t>(file);
      for (auto& contents :
           read_blob_contents(read.dataset, file, read.files[i], read.paths[i + 1], reader()))
        read.contents.push_back(std::move(contents));
    }
  }

 private:
  void add(const char* name, Type type, std::vector<int> dimids, int kept) {
    Variable variable;
    variable.name = name;
    variable.type = type;
    variable.dimids = std::move(dimids);
    header.add_variable(std::move(variable));
    blobs.kept.push_back(kept);
  }

  void write() {
    data.resize(static_cast<std::size_t>(blobs.files));
    for (int process = 0; process < blobs.processes; ++process) {
      auto& to = data[static_cast<std::size_t>(blobs.file_of(process))];
      const auto maps = encode_blob_maps(header, blobs, process);
      to.insert(to.end(), maps.begin(), maps.end());
      const auto field = blobs.elements(blobs.maps[0], process, process + 1);
      const auto apart = blobs.elements(blobs.maps[1], process, process + 1);
      const auto bytes =
          field * 2 + (process == 0 ? records * rows * 8 : 0) + apart * 4 + records * field * 4;
      to.resize(to.size() + static_cast<std::size_t>(bytes));
    }
  }
};

/// The place of an element, found by counting: the file, and the offset in its data_blob; file -1 for none.
struct Found {
  int file = -1;
  std::int64_t offset = 0;
};

Found count_to(const Example& example, int varid, std::int64_t record, std::int64_t element) {
  const auto& blobs = example.blobs;
  std::vector<std::int64_t> at(static_cast<std::size_t>(blobs.files));
  for (int process = 0; process < blobs.processes; ++process) {
    const int file = blobs.file_of(process);
    auto& offset = at[static_cast<std::size_t>(file)];
    for (const auto& map : blobs.maps) {
      const auto row = row_elements(example.header, map);
      offset += 20 + 8 * count_requests(map.runs[static_cast<std::size_t>(process)], row);
    }
    for (int id = 0; id < 4; ++id) {
      const auto size = static_cast<std::int64_t>(size_of(example.header.variable(id).type));
      const int kept = blobs.kept[static_cast<std::size_t>(id)];
      const std::int64_t times = kept == 2 || id == 0 ? 1 : Example::records;
      std::vector<ElementRun> runs;
      if (kept > 0)
        runs = blobs.maps[static_cast<std::size_t>(kept) - 1].runs[static_cast<std::size_t>(process)];
      if (kept == Blobs::whole && process == 0) runs = {{0, Example::rows}};
      const std::int64_t wanted = kept == 2 ? record * Example::columns + element : element;
      for (std::int64_t r = 0; r < times; ++r) {
        for (const auto& run : runs) {
          const bool has = id == varid && (times == 1 || r == record) && wanted >= run.offset &&
                           wanted < run.offset + run.length;
          if (has) return {file, offset + (wanted - run.offset) * size};
          offset += run.length * size;
        }
      }
    }
  }
  return {};
}

}  // namespace

TEST_CASE("elements are where their process has them, others behind the end of the master") {
  HyperslabGenerator random(test::test_seed());
  for (int repetition = 0; repetition < 200; ++repetition) {
    const Example example(random);
    constexpr std::int64_t master_bytes = 1000;
    const auto files = process_blob_space(example.read, master_bytes);
    const FileSpace space(files, example.read.paths);
    // The memory limit allows one map only.
    const ProcessBlobPlacement placement(example.read, example.reader(), 0);
    const int varid = static_cast<int>(random.between(0, 4));
    const auto shape = example.header.shape(varid);
    const auto slab = random.hyperslab(shape);
    const auto place = placement.place_of(varid);
    const auto offsets = test::offsets_of(*place, slab.view());
    test::for_each_element(slab.view(), [&](const std::vector<std::int64_t>& index, std::int64_t position) {
      const bool has_records = example.header.is_record_variable(varid);
      std::int64_t element = 0;
      for (std::size_t d = has_records ? 1 : 0; d < index.size(); ++d)
        element = element * shape[d] + index[d];
      const auto found = space.locate(offsets[static_cast<std::size_t>(position)]);
      const auto expected =
          varid == 4 ? Found{} : count_to(example, varid, has_records ? index[0] : 0, element);
      CHECK(found.file == expected.file + 1);
      if (expected.file < 0)
        CHECK(found.offset_bytes >= master_bytes);
      else
        CHECK(found.offset_bytes == expected.offset);
    });
  }
}

TEST_CASE("blobs that make no sense are refused") {
  HyperslabGenerator random(
      3);  // always the same example: damage in one example need not be damage in another
  Example example(random);
  while (example.blobs.processes < 2 || example.blobs.maps[0].runs[0].size() < 2) example = Example(random);
  const auto refused = [&](std::size_t offset, std::int32_t value) {
    CAPTURE(offset);
    CAPTURE(value);
    auto damaged = example;
    std::memcpy(damaged.data[0].data() + offset, &value, sizeof value);
    CHECK_THROWS_AS(
        {
          damaged.read_back();
          for (const int map : {1, 2}) (void)damaged.read.read_map(map, damaged.reader());
        },
        FormatError);
  };
  const auto requests = static_cast<std::int32_t>(example.blobs.maps[0].runs[0].size());
  for (const std::int32_t value : {-1, 0, requests + 1, 0x7FFFFFFF}) refused(0, value);
  refused(4, 1);           // blob_start
  refused(12, 0x7FFFFFF);  // blob_count
  refused(20, -1);         // an offset
  refused(20, 1000);
  refused(20, static_cast<std::int32_t>(example.blobs.maps[0].runs[0][1].offset));
  refused(20 + 4 * static_cast<std::size_t>(requests), 0);  // a length
  auto longer = example;
  longer.data[0].push_back({});
  CHECK_THROWS_AS(longer.read_back(), FormatError);
  auto shorter = example;
  shorter.data[0].pop_back();
  CHECK_THROWS_AS(shorter.read_back(), FormatError);
}

}  // namespace sluice::formats
