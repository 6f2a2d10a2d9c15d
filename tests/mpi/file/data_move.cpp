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

}  // namespace

TEST_CASE("parts of any piece of the stream join to the whole move") {
  auto old_header = header_with(2, 2, 7);
  const auto old_layout = formats::compute_layout(old_header, {}, nullptr);
  auto new_header = old_header;
  formats::Variable added;
  added.name = "added";
  added.type = formats::Type::int32;
  added.dimids = {0};
  new_header.add_variable(added);
  const auto new_layout = formats::compute_layout(new_header, {}, &old_layout);
  const DataMove move(old_header, old_layout, new_header, new_layout);
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

TEST_CASE("nothing moves when the layout stays as it is") {
  auto header = header_with(3, 2, 4);
  const auto layout = formats::compute_layout(header, {}, nullptr);
  CHECK(DataMove(header, layout, header, layout).stream_bytes() == 0);
}

}  // namespace sluice::api
