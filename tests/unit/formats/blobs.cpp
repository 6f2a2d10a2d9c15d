// Decomposition maps, headers of blob files, and places of elements in blobs.
#include "sluice/formats/blobs.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>

#include "sluice/formats/blob_placement.hpp"
#include "sluice/formats/error.hpp"
#include "support/dense_reference.hpp"
#include "support/placements.hpp"
#include "support/seed.hpp"

namespace sluice::formats {
namespace {

/// time, y, x; map 1 over (y, x): series and again(time, y, x), field and once_more(y, x); map 2 over x:
/// line(x); whole: times(time).
struct Example {
  static constexpr std::int64_t rows = 5;
  static constexpr std::int64_t columns = 7;
  Header header;
  Blobs blobs;
  std::vector<FileDescription> files;
  std::vector<std::string> paths;

  explicit Example(test::HyperslabGenerator& random) {
    header.version = Version::cdf5;
    header.add_dimension({"time", 0, true});
    header.add_dimension({"y", rows, false});
    header.add_dimension({"x", columns, false});
    add("series", Type::float32, {0, 1, 2}, 1);
    add("field", Type::int16, {1, 2}, 1);
    add("times", Type::float64, {0}, 0);
    add("line", Type::int64, {2}, 2);
    add("again", Type::float32, {0, 1, 2}, 1);
    add("once_more", Type::int16, {1, 2}, 1);
    blobs.processes = static_cast<int>(random.between(1, 6));
    blobs.files = static_cast<int>(random.between(1, blobs.processes));
    blobs.maps = {test::random_map({1, 2}, rows * columns, blobs, 0, random),
                  test::random_map({2}, columns, blobs, 0, random)};
    blobs.order = {-1, 1, 0, -2, 2, 3, 4, 5};
    describe();
  }

  void describe() {
    files.clear();
    paths = {"x.nc"};
    for (int file = -1; file < blobs.files; ++file) {
      FileDescription description;
      description.header =
          file < 0 ? blob_master_header(header, blobs) : blob_file_header(header, blobs, file);
      description.layout = compute_layout(description.header, {}, nullptr);
      files.push_back(std::move(description));
      if (file >= 0) paths.push_back(blob_file_path("x.nc", file));
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
};

/// Writes and reads headers and maps as the files' bytes.
BlobHeader read_back(const Example& example) {
  auto read = read_blob_headers(example.files, example.paths);
  for (int file = 0; file < example.blobs.files; ++file) {
    const auto& header = example.files[static_cast<std::size_t>(file) + 1].header;
    for (int map = 1; map <= 2; ++map)
      decode_map(read, map, file, header, encode_map(example.blobs, map, file, header), "x");
  }
  return read;
}

}  // namespace

TEST_CASE("headers and maps read from files are those that were written") {
  test::HyperslabGenerator random(test::test_seed());
  for (int repetition = 0; repetition < 50; ++repetition) {
    const Example example(random);
    CHECK(blob_file_count(example.files.front().header) == example.blobs.files);
    CHECK(blob_file_count(example.files[1].header) == 0);
    const auto read = read_back(example);
    check_maps(read, "x");
    CHECK(read.blobs.kept == example.blobs.kept);
    CHECK(read.blobs.order == example.blobs.order);
    CHECK(read.header.attributes.size() == 0);
    for (int id = 0; id < example.header.variable_count(); ++id) {
      CHECK(read.header.variable(id).dimids == example.header.variable(id).dimids);
      CHECK(read.header.variable(id).attributes.size() == 0);
    }
    for (std::size_t map = 0; map < 2; ++map) {
      CHECK(read.blobs.maps[map].dimids == example.blobs.maps[map].dimids);
      CHECK(read.blobs.maps[map].runs == example.blobs.maps[map].runs);
    }
  }
}

TEST_CASE("a request of a list ends where a row does, and the run that it is of is found again") {
  test::HyperslabGenerator random(test::test_seed(3));
  Example example(random);
  example.blobs.processes = example.blobs.files = 1;
  example.blobs.maps[0].runs = {{{0, Example::rows * Example::columns}}};
  example.blobs.maps[1].runs = {{{0, Example::columns}}};
  example.describe();
  const auto& header = example.files[1].header;
  CHECK(header.dimension(header.find_dimension("D1.max_nreqs")).length == Example::rows);
  CHECK(header.dimension(header.find_dimension("D2.max_nreqs")).length == 1);
  CHECK(encode_map(example.blobs, 1, 0, header)[0].back() == std::byte{Example::rows});
  CHECK(read_back(example).blobs.maps[0].runs == example.blobs.maps[0].runs);
}

TEST_CASE(
    "files without a master say what it would: variables that are not decomposed have nothing of ours") {
  test::HyperslabGenerator random(test::test_seed(5));
  Example example(random);
  while (example.blobs.files < 3) example = Example(random);
  example.blobs.is_whole_everywhere = true;
  example.describe();
  for (std::size_t file = 1; file < example.files.size(); ++file) {
    const auto& header = example.files[file].header;
    CHECK(header.variable(header.find_variable("times")).attributes.size() == 0);
  }
  auto files = example.files;
  files.front().header = master_of_blob_file(files[1].header, false, "x");
  const auto read = read_blob_headers(files, example.paths);
  CHECK(read.blobs.is_whole_everywhere);
  CHECK(read.blobs.processes == example.blobs.processes);
  CHECK(read.header.variable_count() == example.header.variable_count());
  for (const auto& variable : example.header.variables()) {
    const int id = read.header.find_variable(variable.name);
    CHECK(read.header.variable(id).dimids == variable.dimids);
    CHECK(read.blobs.kept[static_cast<std::size_t>(id)] ==
          example.blobs.kept[static_cast<std::size_t>(example.header.find_variable(variable.name))]);
  }
  CHECK_THROWS_AS((void)master_of_blob_file(example.header, false, "x"), FormatError);
}

TEST_CASE("elements are in their process's blob, in the order of its list") {
  test::HyperslabGenerator random(test::test_seed());
  for (int repetition = 0; repetition < 100; ++repetition) {
    const Example example(random);
    const FileSpace space(example.files, example.paths);
    // The memory limit allows one map only.
    const auto load = [&](int map) { return entries_of_map(example.header, example.blobs, map); };
    const BlobPlacement placement(example.header, example.blobs, example.files, space, load, 0);
    const int varid = static_cast<int>(random.between(0, 1));
    const bool has_records = varid == 0;
    std::vector<std::int64_t> shape{Example::rows, Example::columns};
    if (has_records) shape.insert(shape.begin(), 4);
    const auto slab = random.hyperslab(shape);
    const auto place = placement.place_of(varid);
    const auto offsets = test::offsets_of(*place, slab.view());
    CHECK_FALSE(place->displacement_from(*placement.place_of(1 - varid)));
    const auto alike = placement.place_of(varid + 4);
    test::check_displacement(*place, *alike, slab.view());
    test::check_displacement(*alike, *place, slab.view());
    test::for_each_element(slab.view(), [&](const std::vector<std::int64_t>& index, std::int64_t position) {
      const std::size_t first = has_records ? 1 : 0;
      const std::int64_t element = index[first] * Example::columns + index[first + 1];
      // Counts through the lists.
      int file = 0;
      std::int64_t in_file = -1;
      for (int process = 0; process < example.blobs.processes && in_file < 0; ++process) {
        file = example.blobs.file_of(process);
        std::int64_t before =
            example.blobs.elements(example.blobs.maps[0], example.blobs.first_process(file), process);
        for (const auto& run : example.blobs.maps[0].runs[static_cast<std::size_t>(process)]) {
          if (element >= run.offset && element < run.offset + run.length)
            in_file = before + element - run.offset;
          before += run.length;
        }
      }
      const auto& description = example.files[static_cast<std::size_t>(file) + 1];
      const int id = description.header.find_variable(example.header.variable(varid).name);
      const std::int64_t expected = description.header.variable(id).begin +
                                    (has_records ? index[0] * description.layout.record_size : 0) +
                                    in_file * place->element_bytes();
      const auto found = space.locate(offsets[static_cast<std::size_t>(position)]);
      CHECK(found.file == file + 1);
      CHECK(found.offset_bytes == expected);
    });
  }
}

TEST_CASE("a record whose blobs would be beyond 63 bits has no place") {
  test::HyperslabGenerator random(test::test_seed(1));
  const Example example(random);
  const FileSpace space(example.files, example.paths);
  const auto load = [&](int map) { return entries_of_map(example.header, example.blobs, map); };
  const BlobPlacement placement(example.header, example.blobs, example.files, space, load, 0);
  const auto place = placement.place_of(0);
  const std::vector<std::int64_t> count{1, 1, 1};
  std::vector<FileRun> runs;
  for (const std::int64_t far : {std::numeric_limits<std::int64_t>::max(),
                                 std::numeric_limits<std::int64_t>::max() / space.layout().record_size}) {
    const std::vector<std::int64_t> start{far, 0, 0};
    CHECK_THROWS_AS(place->append({start, count, {}}, runs), Error);
  }
}

TEST_CASE("files that do not fit together are refused") {
  test::HyperslabGenerator random(test::test_seed(7));
  Example example(random);
  while (example.blobs.files < 2) example = Example(random);
  const auto refused = [&](const std::function<void(Example&)>& damage) {
    auto damaged = example;
    damage(damaged);
    CHECK_THROWS_AS((void)read_blob_headers(damaged.files, damaged.paths), FormatError);
  };
  const auto put_int = [](Attributes& attributes, const char* name, std::int32_t value) {
    Attribute attribute{name, Type::int32, 1, std::vector<std::byte>(4)};
    std::memcpy(attribute.values.data(), &value, 4);
    attributes.put(attribute);
  };
  for (const int value : {-1, 0, 3, 1 << 30}) {
    CAPTURE(value);
    refused([&](Example& it) { put_int(it.files[0].header.attributes, "num_decompositions", value); });
  }
  refused([&](Example& it) { put_int(it.files[0].header.attributes, "global_nprocs", 0); });
  refused([&](Example& it) { put_int(it.files[0].header.attributes, "global_nprocs", 100); });
  refused([&](Example& it) { put_int(it.files[0].header.variable(0).attributes, "decomposition_ID", 9); });
  refused([&](Example& it) { put_int(it.files[0].header.variable(0).attributes, "decomposition_ID", 2); });
  refused([&](Example& it) { put_int(it.files[0].header.variable(0).attributes, "global_dimids", 77); });
  refused([&](Example& it) { put_int(it.files[0].header.variable(0).attributes, "global_dimids", 1); });
  refused([&](Example& it) { std::swap(it.files[1], it.files[0]); });
  refused([&](Example& it) { it.files[2].header.rename_variable(0, "other"); });
  refused([&](Example& it) { it.files[2].header.variable(6).type = Type::int8; });
  refused([&](Example& it) { it.files[1].header.add_variable({"more", Type::int8, {}, {}}); });
}

TEST_CASE("maps with invalid lists are refused") {
  test::HyperslabGenerator random(test::test_seed(11));
  const Example example(random);
  const auto& header = example.files[1].header;
  const auto good = encode_map(example.blobs, 1, 0, header);
  for (std::size_t variable = 0; variable < good.size(); ++variable) {
    auto bad = good;
    std::fill(bad[variable].begin(), bad[variable].end(), std::byte{0x7f});
    auto read = read_blob_headers(example.files, example.paths);
    CAPTURE(variable);
    CHECK_THROWS_AS(decode_map(read, 1, 0, header, bad, "x"), FormatError);
  }
  auto incomplete = read_back(example);
  for (auto& runs : incomplete.blobs.maps[1].runs) {
    if (!runs.empty()) runs.pop_back();
  }
  CHECK_THROWS_AS(check_maps(incomplete, "x"), FormatError);
}

TEST_CASE("holes of a map are assigned so that each element is in one list; lists keep their elements") {
  test::HyperslabGenerator random(test::test_seed());
  for (int repetition = 0; repetition < 100; ++repetition) {
    Example example(random);
    auto& map = example.blobs.maps[0];
    for (auto& runs : map.runs) {
      std::erase_if(runs, [&](const ElementRun&) { return random.between(0, 2) == 0; });
    }
    const auto put = map;
    const std::int64_t elements = Example::rows * Example::columns;
    const bool has_holes = coverage_of(map, elements) == Coverage::with_holes;
    give_away_holes(map, example.header);
    CHECK(coverage_of(map, elements) == Coverage::each_once);
    CHECK((map.runs != put.runs) == has_holes);
    const auto has = [](const std::vector<ElementRun>& runs, std::int64_t element) {
      return std::any_of(runs.begin(), runs.end(), [&](const ElementRun& run) {
        return run.offset <= element && element < run.offset + run.length;
      });
    };
    for (std::size_t process = 0; process < put.runs.size(); ++process) {
      for (std::int64_t element = 0; element < elements; ++element) {
        if (has(put.runs[process], element)) CHECK(has(map.runs[process], element));
      }
    }
  }
  Example twice(random);
  twice.blobs.maps[1].runs[0] = {{0, 2}, {1, 1}};
  CHECK(coverage_of(twice.blobs.maps[1], Example::columns) == Coverage::twice);
}

TEST_CASE("a variable may have other dimensions than its map, of the same lengths") {
  test::HyperslabGenerator random(test::test_seed(13));
  Example example(random);
  const int other = example.header.add_dimension({"x2", Example::columns, false});
  const int longer = example.header.add_dimension({"x3", Example::columns + 1, false});
  example.header.variable(1).dimids = {1, other};
  example.describe();
  CHECK(read_back(example).header.variable(1).dimids == std::vector<int>{1, other});
  example.header.variable(1).dimids = {1, longer};
  example.describe();
  CHECK_THROWS_AS((void)read_blob_headers(example.files, example.paths), FormatError);
}

TEST_CASE("holes of a map read as data behind the master's end") {
  test::HyperslabGenerator random(test::test_seed(17));
  Example example(random);
  auto& map = example.blobs.maps[0];
  map.runs.assign(map.runs.size(), {});
  map.runs[0] = {{3, 4}, {20, 1}};
  example.describe();
  constexpr std::int64_t master_bytes = 1000;
  example.files.front() = room_for_holes(example.header, master_bytes);
  const FileSpace space(example.files, example.paths);
  const auto load = [&](int id) { return entries_of_map(example.header, example.blobs, id); };
  const BlobPlacement placement(example.header, example.blobs, example.files, space, load, 0);
  const auto place = placement.place_of(0);
  CHECK_FALSE(place->displacement_from(*placement.place_of(4)));
  const std::vector<std::int64_t> start{2, 0, 0};
  const std::vector<std::int64_t> count{1, Example::rows, Example::columns};
  std::int64_t element = 0;
  for (const std::int64_t offset : test::offsets_of(*place, {start, count, {}})) {
    const auto found = space.locate(offset);
    const bool is_put = (element >= 3 && element < 7) || element == 20;
    CHECK((found.file > 0) == is_put);
    if (!is_put) CHECK(found.offset_bytes >= master_bytes);
    ++element;
  }
}

TEST_CASE("names that blobs need are not the user's") {
  for (const auto* name : {"nblobs", "D1.nelems", "D12.x"}) {
    Header header;
    header.add_dimension({name, 3, false});
    CHECK_THROWS_AS(check_blob_names(header), Error);
  }
  for (const auto* name : {"D1", "D.x", "Dx.y", "D1x.y", "nblob"}) {
    Header header;
    header.add_dimension({name, 3, false});
    CHECK_NOTHROW(check_blob_names(header));
  }
}

}  // namespace sluice::formats
