// Compares our layout with files of Debian's libpnetcdf: offsets, and headers byte for byte.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>

#include "reference_pnetcdf.h"
#include "sluice/formats/cdf.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/formats/layout.hpp"
#include "support/seed.hpp"

using namespace sluice;
using namespace sluice::formats;

namespace {

using Numbers = std::vector<std::int64_t>;

struct NewVariable {
  int type;
  std::vector<int> dimids;
  std::int64_t attribute_bytes;
};

/// One pass through define mode, for both libraries.
struct Stage {
  bool is_reopened = false;
  Numbers arguments;  ///< the arguments of ncmpi__enddef, or empty
  std::int64_t attribute_bytes = -1;
  Numbers lengths;
  std::vector<NewVariable> variables;
};

Attribute text(const std::string& name, std::int64_t bytes) {
  return {.name = name,
          .type = Type::text,
          .count = bytes,
          .values = std::vector<std::byte>(static_cast<std::size_t>(bytes))};
}

void define(Header& header, const Stage& stage) {
  if (stage.attribute_bytes >= 0) header.attributes.put(text("title", stage.attribute_bytes));
  for (const auto length : stage.lengths) {
    header.add_dimension(
        {.name = "d" + std::to_string(header.dimension_count()), .length = length, .is_record = length == 0});
  }
  for (const auto& added : stage.variables) {
    Variable variable;
    variable.name = "v" + std::to_string(header.variable_count());
    variable.type = static_cast<Type>(added.type);
    variable.dimids = added.dimids;
    if (added.attribute_bytes >= 0) variable.attributes.put(text("note", added.attribute_bytes));
    header.add_variable(variable);
  }
}

EnddefArguments arguments_of(const Stage& stage) {
  if (stage.arguments.empty()) return {};
  return {.data_align = stage.arguments[1],
          .record_align = stage.arguments[3],
          .header_free_bytes = stage.arguments[0],
          .fixed_free_bytes = stage.arguments[2]};
}

struct Outcome {
  int status = NC_NOERR;
  Numbers numbers;
  Header header;
};

Outcome ours(int version, const std::vector<Stage>& stages) {
  Outcome outcome;
  outcome.header.version = static_cast<Version>(version);
  Layout layout;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    if (stages[i].is_reopened) {
      const auto decoded = decode_header(encode_header(outcome.header), true, -1, "reopened");
      outcome.header = decoded->header;
      layout = layout_of(decoded->header, decoded->size_bytes);
    }
    define(outcome.header, stages[i]);
    const auto options = options_in_force({}, arguments_of(stages[i]));
    try {
      layout = compute_layout(outcome.header, options, i > 0 ? &layout : nullptr);
    } catch (const Error& error) {
      outcome.status = error.status();
      return outcome;
    }
    outcome.numbers.insert(outcome.numbers.end(),
                           {layout.header_size, layout.header_extent, layout.record_size});
    for (const auto& variable : outcome.header.variables()) outcome.numbers.push_back(variable.begin);
  }
  return outcome;
}

Outcome theirs(int version, const std::vector<Stage>& stages) {
  std::vector<std::vector<reference_variable>> variables;
  std::vector<reference_stage> reference;
  for (const auto& stage : stages) {
    auto& list = variables.emplace_back();
    for (const auto& v : stage.variables) {
      list.push_back({v.type, static_cast<int>(v.dimids.size()), v.dimids.data(), v.attribute_bytes});
    }
    const auto argument = [&stage](std::size_t i) {
      return stage.arguments.empty() ? -1 : stage.arguments[i];
    };
    reference.push_back({stage.is_reopened, argument(0), argument(1), argument(2), argument(3),
                         stage.attribute_bytes, static_cast<int>(stage.lengths.size()), stage.lengths.data(),
                         static_cast<int>(list.size()), list.data()});
  }
  Outcome outcome;
  outcome.numbers.assign(1000, -77);
  outcome.status = reference_layout("layout.nc", version, "", static_cast<int>(stages.size()),
                                    reference.data(), outcome.numbers.data());
  while (!outcome.numbers.empty() && outcome.numbers.back() == -77) outcome.numbers.pop_back();
  return outcome;
}

std::vector<std::byte> first_bytes(const std::string& path, std::size_t n) {
  std::ifstream in(path, std::ios::binary);
  std::string content{std::istreambuf_iterator<char>(in), {}};
  content.resize(std::min(content.size(), n));
  const auto* first = reinterpret_cast<const std::byte*>(content.data());
  return {first, first + content.size()};
}

std::string as_text(const Numbers& numbers) {
  std::ostringstream text;
  for (const auto number : numbers) text << number << ' ';
  return text.str();
}

std::string as_text(const std::vector<Stage>& stages) {
  std::ostringstream text;
  for (const auto& stage : stages) {
    text << (stage.is_reopened ? "\nreopened, enddef " : "\nenddef ") << as_text(stage.arguments) << "title "
         << stage.attribute_bytes << " lengths " << as_text(stage.lengths);
    for (const auto& v : stage.variables)
      text << "type " << v.type << " of " << as_text(Numbers(v.dimids.begin(), v.dimids.end()));
  }
  return text.str();
}

/// Stages that version 1.12.3 lays out as 1.15 does. Either every enddef of a file asks for the same
/// alignments, or none does. If the first variable has records, one alignment serves everything, and no space
/// follows absent variables.
class RandomStages {
 public:
  explicit RandomStages(std::mt19937_64& random) : random_(random) {}

  std::vector<Stage> make(int version, int stages) {
    data_align_ = one_of({1, 4, 7, 64, 512, 1000});
    begins_with_records_ = pick(0, 2) == 0;
    record_align_ = begins_with_records_ ? data_align_ : one_of({4, 9, 512});
    std::vector<Stage> all;
    for (int i = 0; i < stages; ++i) {
      all.push_back(stage(version));
      all.back().is_reopened = i > 0 && pick(0, 2) == 0;
    }
    // While there is no variable, 1.12.3 aligns as with records; 1.15 does not.
    const bool begins_empty = begins_with_records_ && all.front().variables.empty();
    if (begins_empty || pick(0, 3) == 0)
      for (auto& s : all) s.arguments.clear();
    if (begins_with_records_)
      keep_header_long(all);
    else
      all.front().variables.insert(all.front().variables.begin(),
                                   NewVariable{.type = 4, .dimids = {}, .attribute_bytes = -1});
    return all;
  }

  std::int64_t one_of(std::initializer_list<std::int64_t> values) {
    return *(values.begin() + pick(0, static_cast<int>(values.size()) - 1));
  }

 private:
  int pick(int least, int largest) { return std::uniform_int_distribution<int>(least, largest)(random_); }

  /// A header without variables that has become shorter leaves an extent. 1.15 rounds it up; 1.12.3 does not.
  static void keep_header_long(std::vector<Stage>& stages) {
    std::int64_t longest = -1;
    for (auto& s : stages) {
      if (longest > 0) s.attribute_bytes = std::max(s.attribute_bytes, longest);
      longest = std::max(longest, s.attribute_bytes);
      if (!s.variables.empty()) return;
    }
  }

  Stage stage(int version) {
    Stage s;
    s.arguments = {one_of({0, 5, 100, 3000}), data_align_, begins_with_records_ ? 0 : one_of({0, 6, 500}),
                   record_align_};
    s.attribute_bytes = one_of({-1, -1, 3, 100, 2000});
    for (int n = pick(0, 3); n > 0; --n) {
      const bool is_record = !has_record_ && pick(0, 2) == 0;
      if (is_record) record_ = dimensions_;
      has_record_ = has_record_ || is_record;
      ++dimensions_;
      s.lengths.push_back(is_record ? 0 : pick(1, 40));
    }
    for (int n = pick(0, 3); n > 0; --n) s.variables.push_back(variable(version));
    return s;
  }

  NewVariable variable(int version) {
    NewVariable v{
        .type = pick(1, version == 5 ? 11 : 6), .dimids = {}, .attribute_bytes = one_of({-1, 0, 5})};
    if (has_record_ && pick(0, 1) == 0) v.dimids.push_back(record_);
    for (int n = dimensions_ > 0 ? pick(0, 2) : 0; n > 0; --n) {
      const auto id = pick(0, dimensions_ - 1);
      if (id != record_) v.dimids.push_back(id);
    }
    return v;
  }

  std::mt19937_64& random_;
  std::int64_t data_align_ = 4;
  std::int64_t record_align_ = 4;
  bool begins_with_records_ = false;
  int dimensions_ = 0;
  int record_ = -1;
  bool has_record_ = false;
};

}  // namespace

TEST_CASE(
    "layouts and headers are those of Debian's libpnetcdf where its rules and those of version 1.15 agree") {
  std::mt19937_64 random(test::test_seed());
  constexpr int versions[] = {1, 2, 5};
  for (int round = 0; round < 400; ++round) {
    RandomStages generator(random);
    const int version = versions[round % 3];
    const auto stages = generator.make(version, 1 + round % 4);
    CAPTURE(round);
    const auto expected = theirs(version, stages);
    const auto got = ours(version, stages);
    REQUIRE(got.status == expected.status);
    CAPTURE(as_text(stages));
    CAPTURE(as_text(got.numbers));
    CAPTURE(as_text(expected.numbers));
    REQUIRE(got.numbers == expected.numbers);
    const auto bytes = encode_header(got.header);
    REQUIRE(first_bytes("layout.nc", bytes.size()) == bytes);
  }
}

TEST_CASE("sizes beyond the limits are refused where Debian's libpnetcdf refuses them") {
  const std::int64_t half = std::int64_t{1} << 30;
  // Types and lengths. A negative type is a record variable.
  const std::vector<std::vector<std::pair<int, std::int64_t>>> cases{
      {{1, 2 * half - 4}},
      {{1, half / 2}, {1, half / 2}, {1, half / 2}, {1, half / 2 - 2000}, {1, 8}},
      {{1, half / 2}, {1, half / 2}, {1, half / 2}, {1, half / 2}, {1, 8}},
      {{4, half - 1}},
      {{4, half - 1}, {2, 4}},
      {{2, 4}, {4, half - 1}},
      {{2, 4}, {4, half}},
      {{2, 4}, {4, half}, {-2, 4}},
      {{4, half}, {2, 4}},
      {{4, half - 1}, {4, half - 1}, {4, half - 1}},
      {{-4, half - 1}, {-4, half - 1}, {-4, half - 1}},
      {{-4, half}},
      {{2, 4}, {-4, half}},
      {{-2, 4}, {-4, half}},
      {{-4, half}, {-2, 4}},
      {{3, 2 * half - 5}, {2, 4}},
      {{3, 2 * half - 4}, {2, 4}},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    for (const int version : {1, 2, 5}) {
      Stage stage;
      stage.lengths.push_back(0);
      for (const auto& [type, length] : cases[i]) {
        stage.lengths.push_back(length);
        const int id = static_cast<int>(stage.lengths.size()) - 1;
        stage.variables.push_back(
            {std::abs(type), type < 0 ? std::vector<int>{0, id} : std::vector<int>{id}, -1});
      }
      CAPTURE(i);
      CAPTURE(version);
      const auto expected = theirs(version, {stage});
      const auto got = ours(version, {stage});
      CHECK(got.status == expected.status);
      if (expected.status == NC_NOERR) CHECK(got.numbers == expected.numbers);
    }
  }
}
