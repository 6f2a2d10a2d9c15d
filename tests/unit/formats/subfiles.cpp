// Division of variables among subfiles, headers of inconsistent masters, and file spaces.
#include "sluice/formats/subfiles.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstring>

#include "sluice/formats/cdf.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/formats/subfile_headers.hpp"
#include "sluice/formats/subfile_master.hpp"
#include "support/dense_reference.hpp"
#include "support/placements.hpp"
#include "support/seed.hpp"

namespace sluice::formats {
namespace {

/// A header with variables of these shapes; length 0 is the record dimension.
Header header_with(const std::vector<std::vector<std::int64_t>>& shapes) {
  Header header;
  header.version = Version::cdf5;
  header.add_dimension({"time", 0, true});
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    Variable variable;
    variable.name = "v" + std::to_string(i);
    variable.type = Type::int32;
    for (std::size_t d = 0; d < shapes[i].size(); ++d) {
      const auto name = "d" + std::to_string(i) + "_" + std::to_string(d);
      variable.dimids.push_back(shapes[i][d] == 0 ? 0 : header.add_dimension({name, shapes[i][d], false}));
    }
    header.add_variable(std::move(variable));
  }
  return header;
}

Subfiling divided(const Header& header, int subfiles) {
  Subfiling subfiling(subfiles);
  subfiling.add_variables(header);
  return subfiling;
}

/// All files with their layouts, and the headers decoded from their bytes.
struct Files {
  std::vector<FileSections> sections;
  std::vector<FileDescription> descriptions;
};

Files files_of(const Header& header, const Subfiling& subfiling) {
  const SubfileHeaders headers(header, subfiling);
  Files files;
  for (int file = 0; file <= subfiling.subfiles(); ++file) {
    files.sections.push_back(headers.lay_out(file, headers.encoded_size(file), {}, nullptr));
    const auto bytes = headers.encode(file, headers.encoded_size(file), files.sections.back().begins);
    auto decoded = decode_header(bytes, false, -1, "x.nc");
    REQUIRE(decoded);
    const auto layout = layout_of(decoded->header, decoded->size_bytes);
    files.descriptions.push_back({std::move(decoded->header), layout});
  }
  return files;
}

Header master_header(const Header& header, const Subfiling& subfiling) {
  return files_of(header, subfiling).descriptions.front().header;
}

Attribute ints(const std::string& name, const std::vector<std::int32_t>& values) {
  Attribute attribute{name, Type::int32, static_cast<std::int64_t>(values.size()), {}};
  attribute.values.resize(values.size() * 4);
  std::memcpy(attribute.values.data(), values.data(), attribute.values.size());
  return attribute;
}

constexpr auto prefix = "_PnetCDF_SubFiling.";

}  // namespace

TEST_CASE("variables that are too small, cannot be divided, or lack possible names stay in the master") {
  auto header = header_with({{10, 7}, {}, {2, 9}, {0}, {0, 9}, {0, 2}, {3}});
  const auto& names = header.dimensions();
  Variable twice;
  twice.name = "twice";
  twice.type = Type::int8;
  twice.dimids = {header.variable(0).dimids[0], header.variable(0).dimids[0]};
  header.add_variable(twice);
  Variable long_name;
  long_name.name = std::string(254, 'x');
  long_name.type = Type::int8;
  long_name.dimids = {header.variable(0).dimids[0]};
  header.add_variable(long_name);
  CHECK(names.size() > 1);
  const auto subfiling = divided(header, 3);
  const std::vector<bool> expected{true, false, false, false, true, false, true, false, false};
  for (int id = 0; id < header.variable_count(); ++id) {
    CAPTURE(id);
    CHECK((subfiling.division_of(id) != nullptr) == expected[static_cast<std::size_t>(id)]);
  }
  CHECK(subfiling.division_of(0)->first == std::vector<std::int64_t>{0, 4, 7, 10});
  CHECK(subfiling.division_of(4)->dimension == 1);
}

TEST_CASE(
    "of two variables whose dimensions would have one name in a subfile the later stays in the master") {
  Header header;
  header.add_dimension({"a.b", 5, false});
  header.add_dimension({"a", 5, false});
  Variable first{"c", Type::int8, {0}, {}};
  Variable second{"b.c", Type::int8, {1}, {}};
  header.add_variable(first);
  header.add_variable(second);
  const auto subfiling = divided(header, 2);
  CHECK(subfiling.division_of(0) != nullptr);
  CHECK(subfiling.division_of(1) == nullptr);
}

TEST_CASE("a master describes the header that it was made from") {
  const auto header = header_with({{10, 7}, {}, {0, 9}, {2}, {12}});
  const auto subfiling = divided(header, 4);
  const auto read = read_master(master_header(header, subfiling), "x.nc");
  CHECK(read.subfiling.subfiles() == 4);
  CHECK(read.header.attributes.size() == 0);
  for (int id = 0; id < header.variable_count(); ++id) {
    CHECK(read.header.variable(id).dimids == header.variable(id).dimids);
    CHECK(read.header.variable(id).attributes.size() == 0);
    const auto* division = subfiling.division_of(id);
    REQUIRE((read.subfiling.division_of(id) == nullptr) == (division == nullptr));
    if (division != nullptr) CHECK(read.subfiling.division_of(id)->first == division->first);
  }
  const auto files = files_of(header, subfiling).descriptions;
  for (int i = 0; i < 4; ++i)
    CHECK_NOTHROW(check_subfile(read, i, files[static_cast<std::size_t>(i) + 1].header, ""));
  CHECK_THROWS_AS(check_subfile(read, 1, files[1].header, ""), FormatError);
}

TEST_CASE("a master can be read while its header is decoded") {
  auto header = header_with({{10, 7}, {}, {0, 9}, {2}, {12}});
  header.attributes.put(ints("kept", {1}));
  header.variable(0).attributes.put(ints("own", {2}));
  header.variable(0).attributes.put(ints("_PnetCDF_SubFiling.par_dim_id", {2}));
  const auto subfiling = divided(header, 4);
  const SubfileHeaders headers(header, subfiling);
  const auto sections = headers.lay_out(0, headers.encoded_size(0), {}, nullptr);
  const auto bytes = headers.encode(0, headers.encoded_size(0), sections.begins);
  MasterReader reader("x.nc");
  // First a prefix, as of a file that is read in pieces.
  CHECK_FALSE(
      decode_header(std::span(bytes).first(bytes.size() - 8), false, -1, "x.nc", Detail::all, &reader));
  auto decoded = decode_header(bytes, false, -1, "x.nc", Detail::all, &reader);
  REQUIRE(decoded);
  REQUIRE(reader.is_master());
  const auto read = reader.dataset(std::move(decoded->header));
  const auto expected = read_master(master_header(header, subfiling), "x.nc");
  CHECK(read.subfiling.subfiles() == 4);
  CHECK(read.header.attributes.size() == 1);
  CHECK(read.header.variable(0).attributes.size() == 2);
  for (int id = 0; id < header.variable_count(); ++id) {
    CAPTURE(id);
    CHECK(read.header.variable(id).dimids == header.variable(id).dimids);
    CHECK(expected.header.variable(id).attributes.size() == header.variable(id).attributes.size());
    const auto* division = subfiling.division_of(id);
    REQUIRE((read.subfiling.division_of(id) == nullptr) == (division == nullptr));
    if (division == nullptr) continue;
    CHECK(read.subfiling.division_of(id)->first == division->first);
    CHECK(read.subfiling.division_of(id)->dimension == division->dimension);
    CHECK(read.subfiling.id_in_subfiles(id) == subfiling.id_in_subfiles(id));
  }
  // A subfile is not a master, so its attributes are kept.
  MasterReader other("x.nc.subfile_0.nc");
  CHECK_FALSE(other.begin_variables(files_of(header, subfiling).descriptions[1].header));
}

TEST_CASE("a master's attributes survive encoding and decoding") {
  const auto header = header_with({{10, 7}, {}, {0, 9}, {2}, {12}});
  const auto subfiling = divided(header, 4);
  const auto numbers = subfiling.numbers();
  const auto copy = Subfiling::of_numbers(4, numbers);
  CHECK(copy.subfiles() == 4);
  CHECK(copy.divided_variables() == subfiling.divided_variables());
  for (int id = 0; id < header.variable_count(); ++id) {
    CAPTURE(id);
    REQUIRE((copy.division_of(id) == nullptr) == (subfiling.division_of(id) == nullptr));
    if (copy.division_of(id) == nullptr) continue;
    CHECK(copy.division_of(id)->first == subfiling.division_of(id)->first);
    CHECK(copy.division_of(id)->dimension == subfiling.division_of(id)->dimension);
    CHECK(copy.id_in_subfiles(id) == subfiling.id_in_subfiles(id));
  }
}

TEST_CASE("files are laid out without their headers as compute_layout lays them out with them") {
  test::HyperslabGenerator random(test::test_seed());
  for (int repetition = 0; repetition < 100; ++repetition) {
    std::vector<std::vector<std::int64_t>> shapes;
    for (int i = 0; i < 6; ++i) {
      auto shape = random.shape(static_cast<std::size_t>(random.between(1, 3)), 200);
      if (random.chance(40)) shape.front() = 0;
      shapes.push_back(shape);
    }
    auto header = header_with(shapes);
    const std::array versions{Version::cdf1, Version::cdf2, Version::cdf5};
    header.version = versions[static_cast<std::size_t>(random.between(0, 2))];
    for (int id = 0; id < header.variable_count(); ++id) {
      if (random.chance(50)) header.variable(id).type = Type::int8;
    }
    const auto subfiling = divided(header, static_cast<int>(random.between(2, 12)));
    const LayoutOptions options{.data_align_bytes = random.between(0, 1) * 1024,
                                .header_free_bytes = random.between(0, 100),
                                .record_align_bytes = random.between(0, 1) * 64};
    const SubfileHeaders headers(header, subfiling);
    for (int file = 0; file <= subfiling.subfiles(); ++file) {
      const auto sections = headers.lay_out(file, headers.encoded_size(file), options, nullptr);
      const auto bytes = headers.encode(file, headers.encoded_size(file), sections.begins);
      auto decoded = decode_header(bytes, false, -1, "x.nc");
      REQUIRE(decoded);
      CHECK(decoded->size_bytes == std::ssize(bytes));
      for (int id = 0; id < decoded->header.variable_count(); ++id)
        CHECK(decoded->header.variable(id).begin == sections.begins[static_cast<std::size_t>(id)]);
      const auto layout = compute_layout(decoded->header, options, nullptr);
      CHECK(layout.header_extent == sections.layout.header_extent);
      CHECK(layout.record_begin == sections.layout.record_begin);
      CHECK(layout.record_size == sections.layout.record_size);
      for (int id = 0; id < decoded->header.variable_count(); ++id)
        CHECK(decoded->header.variable(id).begin == sections.begins[static_cast<std::size_t>(id)]);
    }
  }
}

TEST_CASE("a master with inconsistent attributes is refused") {
  const auto header = header_with({{10, 7}});
  const auto master = master_header(header, divided(header, 2));
  const auto refused = [&](const std::string& name, const std::vector<std::int32_t>& values) {
    CAPTURE(name);
    auto damaged = master;
    damaged.variable(0).attributes.put(ints(prefix + name, values));
    CHECK_THROWS_AS((void)read_master(damaged, "x.nc"), FormatError);
  };
  refused("ndims_org", {3});
  refused("ndims_org", {});
  refused("dimids_org", {1});
  refused("dimids_org", {1, 77});
  refused("dimids_org", {-1, 1});
  refused("dimids_org", {1, 0});  // the record dimension is second
  refused("dimids_org", {0, 1});  // divided along the record dimension
  refused("par_dim_index", {2});
  refused("par_dim_index", {-1});
  refused("num_subfiles", {3});
  refused("range(d0_0).subfile.1", {4, 9});
  refused("range(d0_0).subfile.1", {5, 8});
  refused("range(d0_0).subfile.1", {5, 10});
  refused("range(d0_0).subfile.0", {0});
  refused("range(d0_0).subfile.0", {0, -5});
  auto damaged = master;
  auto& attributes = damaged.variable(0).attributes;
  attributes.remove(attributes.find("_PnetCDF_SubFiling.dimids_org"));
  CHECK(read_master(damaged, "x.nc").header.variable(0).dimids == header.variable(0).dimids);
  for (const auto* name : {"range(other).subfile.0", "ranges(d0_0).subfile.0"}) {
    const int range = attributes.find("_PnetCDF_SubFiling.range(d0_0).subfile.0");
    if (range >= 0) attributes.rename(range, prefix + std::string(name));
    CHECK_THROWS_AS((void)read_master(damaged, "x.nc"), FormatError);
  }
  damaged = master;
  damaged.variable(0).dimids = {1};
  CHECK_THROWS_AS((void)read_master(damaged, "x.nc"), FormatError);
}

TEST_CASE("each element of a divided variable has one place, and hyperslabs find it in their order") {
  test::HyperslabGenerator random(test::test_seed());
  for (int repetition = 0; repetition < 200; ++repetition) {
    std::vector<std::vector<std::int64_t>> shapes;
    for (int i = 0; i < 4; ++i) {
      auto shape = random.shape(static_cast<std::size_t>(random.between(1, 3)), 200);
      if (random.chance(40)) shape.front() = 0;
      shapes.push_back(shape);
    }
    // Each shape twice.
    for (int i = 0; i < 4; ++i) shapes.push_back(shapes[static_cast<std::size_t>(i)]);
    const auto header = header_with(shapes);
    const auto subfiling = divided(header, static_cast<int>(random.between(2, 5)));
    const Files made = files_of(header, subfiling);
    const auto& sections = made.sections;
    const auto& files = made.descriptions;
    const std::vector<std::string> paths(files.size(), "x");
    const FileSpace space(files, paths);
    const SubfilePlacement placement(header, subfiling, sections, space);
    const auto varid = static_cast<int>(random.between(0, 3));
    auto shape = shapes[static_cast<std::size_t>(varid)];
    if (shape.front() == 0) shape.front() = 5;  // records
    const auto slab = random.hyperslab(shape);
    const auto place = placement.place_of(varid);
    const auto offsets = test::offsets_of(*place, slab.view());
    test::check_displacement(*place, *placement.place_of(varid + 4), slab.view());
    test::check_displacement(*placement.place_of(varid + 4), *place, slab.view());
    const auto* division = subfiling.division_of(varid);
    test::for_each_element(slab.view(), [&](const std::vector<std::int64_t>& index, std::int64_t position) {
      const auto found = space.locate(offsets[static_cast<std::size_t>(position)]);
      auto within = index;
      int file = 0;
      int id = varid;
      if (division != nullptr) {
        auto& divided_index = within[static_cast<std::size_t>(division->dimension)];
        while (divided_index >= division->first[static_cast<std::size_t>(file) + 1]) ++file;
        divided_index -= division->first[static_cast<std::size_t>(file)];
        ++file;
        id = files[static_cast<std::size_t>(file)].header.find_variable(header.variable(varid).name);
      }
      const auto& description = files[static_cast<std::size_t>(file)];
      std::vector<FileRun> expected;
      const std::vector<std::int64_t> ones(within.size(), 1);
      append_runs(description.header, description.layout, id, within, ones, {}, expected);
      CHECK(found.file == file);
      CHECK(found.offset_bytes == expected.front().offset_bytes);
      CHECK(found.length_bytes >= 4);
    });
  }
}

TEST_CASE("a file whose variables lie outside of its sections is refused") {
  const auto header = header_with({{10, 7}, {0, 4}});
  const auto subfiling = divided(header, 2);
  const std::vector<std::string> paths(3, "x");
  for (int id = 0; id < 2; ++id) {
    for (const std::int64_t begin : {std::int64_t{0}, std::int64_t{1} << 40, std::int64_t{INT64_MAX}}) {
      auto files = files_of(header, subfiling).descriptions;
      files[1].header.variable(id).begin = begin;
      CHECK_THROWS_AS(FileSpace(files, paths), Error);
    }
  }
}

}  // namespace sluice::formats
