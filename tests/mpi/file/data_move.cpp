#include "data_move.hpp"

#include <doctest/doctest.h>

namespace sluice::api {
namespace {

formats::Header header_with(int fixed_variables, int record_variables, std::int64_t records) {
  formats::Header header;
  header.version = formats::Version::cdf5;
  const int record = header.add_dimension({"t", 0, true});
  const int x = header.add_dimension({"x", 5, false});
  for (int i = 0; i < fixed_variables + record_variables; ++i) {
    formats::Variable variable;
    variable.name = "v" + std::to_string(i);
    variable.type = i % 2 == 0 ? formats::Type::float64 : formats::Type::int16;
    if (i >= fixed_variables) variable.dimids.push_back(record);
    variable.dimids.push_back(x);
    header.add_variable(variable);
  }
  header.record_count = records;
  return header;
}

/// A variable along one dimension, behind the existing ones.
void add_variable(formats::Header& header, formats::Type type, int dimid) {
  formats::Variable added;
  added.name = "added";
  added.type = type;
  added.dimids = {dimid};
  header.add_variable(added);
}

}  // namespace

TEST_CASE("parts of any piece of the stream join to the whole move") {
  auto old_header = header_with(2, 2, 7);
  const auto old_layout = formats::compute_layout(old_header, {}, nullptr);
  auto new_header = old_header;
  add_variable(new_header, formats::Type::int32, 0);
  const auto new_layout = formats::compute_layout(new_header, {}, &old_layout);
  const std::int64_t file_bytes = old_layout.record_begin + 7 * old_layout.record_size;
  const DataMove move({old_header, old_layout}, {new_header, new_layout}, file_bytes);
  const auto bytes_of = [](const std::vector<DataMove::Part>& parts) {
    std::vector<std::pair<std::int64_t, std::int64_t>> bytes;
    for (const auto& part : parts) {
      CHECK(part.to >= part.from);
      for (std::int64_t i = 0; i < part.length; ++i) bytes.emplace_back(part.from + i, part.to + i);
    }
    return bytes;
  };
  const auto whole = bytes_of(move.parts(0, move.stream_bytes()));
  CHECK(static_cast<std::int64_t>(whole.size()) == move.stream_bytes());
  for (const std::int64_t step : {1, 3, 17, 100}) {
    std::vector<std::pair<std::int64_t, std::int64_t>> joined;
    for (std::int64_t begin = 0; begin < move.stream_bytes(); begin += step) {
      const auto bytes = bytes_of(move.parts(begin, std::min(begin + step, move.stream_bytes())));
      joined.insert(joined.end(), bytes.begin(), bytes.end());
    }
    CHECK(joined == whole);
  }
}

TEST_CASE("variables with gaps between them move each with its data") {
  auto header = header_with(2, 2, 1);
  auto old_layout = formats::compute_layout(header, {}, nullptr);
  // As another library may have placed it.
  header.variable(1).begin += 100;
  header.variable(2).begin += 300;
  header.variable(3).begin += 500;
  old_layout = formats::layout_of(header, old_layout.header_size);
  auto after = header;
  add_variable(after, formats::Type::float64, 1);
  after.attributes.put({"room", formats::Type::int8, 2000, std::vector<std::byte>(2000)});
  const auto new_layout = formats::compute_layout(after, {}, &old_layout);
  const DataMove move({header, old_layout}, {after, new_layout}, std::int64_t{1} << 20);
  const auto parts = move.parts(0, move.stream_bytes());
  REQUIRE(parts.size() == 4);
  for (int id = 0; id < 4; ++id) {
    const auto& part = parts[static_cast<std::size_t>(id)];
    CHECK(part.from == header.variable(id).begin);
    CHECK(part.to == after.variable(id).begin);
    CHECK(part.to >= part.from);
  }
}

TEST_CASE("data that a header claims beyond the end of the file does not move") {
  auto header = header_with(2, 2, std::int64_t{1} << 60);
  const auto old_layout = formats::compute_layout(header, {}, nullptr);
  auto after = header;
  add_variable(after, formats::Type::int32, 0);
  const auto new_layout = formats::compute_layout(after, {}, &old_layout);
  const auto moved = [&](std::int64_t file_bytes) {
    return DataMove({header, old_layout}, {after, new_layout}, file_bytes).stream_bytes();
  };
  // A record has 40 and 10 bytes of data, and 2 bytes of padding.
  CHECK(moved(old_layout.record_begin + 2 * old_layout.record_size) == 2 * 50);
  CHECK(moved(old_layout.record_begin + 2 * old_layout.record_size + 1) == 3 * 50);
  CHECK(moved(old_layout.record_begin) == 0);
  CHECK(moved(10) == 0);
}

TEST_CASE("only the part of the last record that is in the file moves") {
  auto header = header_with(1, 2, 2);
  const auto old_layout = formats::compute_layout(header, {}, nullptr);
  auto after = header;
  add_variable(after, formats::Type::int32, 1);
  const auto new_layout = formats::compute_layout(after, {}, &old_layout);
  const std::int64_t last_record = old_layout.record_begin + old_layout.record_size;
  // First the file lacks the second variable of the last record (10 bytes, 2 of padding), then half of it.
  for (const std::int64_t file_bytes : {last_record + 10, last_record + 12 + 20}) {
    const DataMove move({header, old_layout}, {after, new_layout}, file_bytes);
    std::int64_t end = 0;
    std::int64_t bytes = 0;
    for (const auto& part : move.parts(0, move.stream_bytes())) {
      end = std::max(end, part.from + part.length);
      bytes += part.length;
    }
    CHECK(end == file_bytes);
    CHECK(bytes == 50 + std::min<std::int64_t>(10, file_bytes - last_record) +
                       std::max<std::int64_t>(0, file_bytes - last_record - 12));
  }
}

TEST_CASE("nothing moves when the layout stays as it is") {
  auto header = header_with(3, 2, 4);
  const auto layout = formats::compute_layout(header, {}, nullptr);
  CHECK(DataMove({header, layout}, {header, layout}, 1 << 20).stream_bytes() == 0);
}

}  // namespace sluice::api
