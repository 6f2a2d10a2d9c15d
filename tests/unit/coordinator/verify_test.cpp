// The comparison that `sluice verify` makes.
#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>

#include "file_difference.hpp"
#include "reference_order.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/formats/layout.hpp"
#include "sluice/workflows/variants.hpp"
#include "value_records.hpp"

using namespace sluice;
using namespace sluice::coordinator;

namespace {

namespace fs = std::filesystem;

/// A directory that goes with the test.
struct Scratch {
  fs::path path;
  Scratch() {
    std::string name = (fs::temp_directory_path() / "sluice-verify-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~Scratch() { fs::remove_all(path); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  fs::path file(const std::string& name, const std::string& bytes) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name, std::ios::binary) << bytes;
    return path / name;
  }
};

/// A CDF file with v(t, x = 3) of shorts in two records and f(x) of bytes, all of the value 0 but `changed`,
/// a byte behind the header.
std::string cdf_file(const std::string& history, std::size_t changed = std::string::npos,
                     const std::string& units = "m") {
  formats::Header header;
  header.record_count = 2;
  header.add_dimension({"t", 0, true});
  header.add_dimension({"x", 3, false});
  const auto text = [](const std::string& name, const std::string& value) {
    formats::Attribute attribute{name, formats::Type::text, static_cast<std::int64_t>(value.size()), {}};
    for (const char c : value) attribute.values.push_back(static_cast<std::byte>(c));
    return attribute;
  };
  if (!history.empty()) header.attributes.put(text("history", history));
  formats::Variable fixed{"f", formats::Type::int8, {1}, {}};
  fixed.attributes.put(text("units", units));
  header.add_variable(fixed);
  header.add_variable({"v", formats::Type::int16, {0, 1}, {}});
  const auto layout = formats::compute_layout(header, formats::LayoutOptions(), nullptr);
  std::string bytes;
  for (const std::byte byte : formats::encode_header(header)) bytes += static_cast<char>(byte);
  bytes.resize(static_cast<std::size_t>(formats::file_bytes(header, layout)), '\0');
  if (changed != std::string::npos)
    bytes[static_cast<std::size_t>(header.variable(0).begin) + changed] = '\x05';
  return bytes;
}

std::string difference(const Scratch& scratch, const std::string& first, const std::string& second) {
  const auto found = compare_files(scratch.file("a", first), scratch.file("b", second));
  return found.difference ? found.difference->text : "";
}

Excuses no_excuses() {
  return {[](const std::string&) { return false; }, [](const std::string&) { return false; }};
}

workflows::Workflow flow(const std::string& text) {
  return workflows::parse_workflow(text, "/tmp/flow.yaml");
}

}  // namespace

TEST_CASE("files that are no CDF files are compared byte by byte") {
  const Scratch scratch;
  CHECK(difference(scratch, "", "").empty());
  CHECK(difference(scratch, "same", "same").empty());
  CHECK(difference(scratch, "same", "sane") == "byte 2");
  CHECK(difference(scratch, "same", "samestring") == "4 and 10 bytes");
  CHECK(difference(scratch, "", "x") == "0 and 1 bytes");
  CHECK(difference(scratch, cdf_file(""), "CDF") != "");
  CHECK_THROWS(static_cast<void>(compare_files(scratch.path / "missing", scratch.path / "a")));
}

TEST_CASE("the first differing element of a CDF file is named by variable and index") {
  const Scratch scratch;
  CHECK(difference(scratch, cdf_file(""), cdf_file("", 1)) == "variable f, element 1: 0 and 5");
  // f has 3 bytes and one of padding; v's records follow, 6 bytes each: a lone record variable has no padding
  CHECK(difference(scratch, cdf_file(""), cdf_file("", 4 + 3)) == "variable v, element 0,1: 0 and 5");
  const auto found = compare_files(scratch.file("a", cdf_file("")), scratch.file("b", cdf_file("", 4 + 6)));
  REQUIRE(found.difference);
  CHECK(found.difference->text == "variable v, element 1,0: 0 and 1280");
  CHECK(found.difference->variable == "v");
  CHECK(found.difference->index == std::vector<std::int64_t>{1, 0});
}

TEST_CASE("files of more than one piece are compared to their ends, also where they end early") {
  const Scratch scratch;
  const std::size_t size = (std::size_t{3} << 20) + 5;
  const std::string whole(size, 'a');
  std::string other = whole;
  CHECK(difference(scratch, whole, other).empty());
  other[size - 1] = 'b';
  CHECK(difference(scratch, whole, other) == "byte " + std::to_string(size - 1));
  CHECK(difference(scratch, whole, whole.substr(0, std::size_t{1} << 20)) == "3145733 and 1048576 bytes");
}

TEST_CASE("a header that names far more records than both files have is no reason to look for them") {
  const Scratch scratch;
  std::string first = cdf_file("");
  std::string second = first;
  for (std::string* const bytes : {&first, &second}) std::fill_n(bytes->begin() + 4, 4, '\x7f');
  second.back() = '\x01';
  CHECK(difference(scratch, first, second) == "variable v, element 1,2: 0 and 1");
  first = second;
  second[first.size() - 6 - 6 - 1] = '\x01';  // the byte of padding behind f
  CHECK(difference(scratch, first, second).empty());
  second.resize(second.size() - 1);
  CHECK(difference(scratch, first, second) == "variable v, element 1,2: 1 and the end of the file");
}

TEST_CASE("a history is a remark, and the data behind it is compared") {
  const Scratch scratch;
  const auto compare = [&](const std::string& first, const std::string& second) {
    return compare_files(scratch.file("a", first), scratch.file("b", second));
  };
  auto found = compare(cdf_file("Mon"), cdf_file("a much longer history than before"));
  CHECK(!found.difference);
  REQUIRE(found.remarks.size() == 1);
  CHECK(found.remarks.front() == "attribute :history has other values");
  found = compare(cdf_file("Mon"), cdf_file(""));
  CHECK(!found.difference);
  CHECK(found.remarks.size() == 1);
  found = compare(cdf_file("Mon"), cdf_file("a much longer history than before", 2));
  REQUIRE(found.difference);
  CHECK(found.difference->text == "variable f, element 2: 0 and 5");
  CHECK(difference(scratch, cdf_file(""), cdf_file("", std::string::npos, "km")) ==
        "attribute f:units has other values");
}

TEST_CASE("gets are compared by process and file, in the order of the calls") {
  const Scratch scratch;
  const auto get = [](const std::string& tree, const std::string& file, const std::string& print) {
    return "get\t" + tree + "/" + file + "\tv\t4\t0\t" + print + "\t0:4\n";
  };
  scratch.file("1/analysis/0",
               get("/t1", "a.nc", "aa") + get("/t1", "b.nc", "bb") + get("/t1", "b.nc", "cc"));
  scratch.file("2/analysis/0", get("/t2", "b.nc", "bb") + get("/t2", "a.nc", "aa") + "damaged line\n" +
                                   get("/t2", "b.nc", "xx"));
  scratch.file("2/model/3", "put\t/t2/b.nc\tv\t2\t0\t00\t0:2:2\nput\t/t2/b.nc\tw\t4\t0\t00\t0:4\n");
  const auto first = read_records(scratch.path / "1", "/t1");
  const auto second = read_records(scratch.path / "2", "/t2");
  const ReadComparison same = compare_gets(first, first, no_excuses());
  CHECK(same.equal == 3);
  CHECK(same.different == 0);
  const ReadComparison found = compare_gets(first, second, no_excuses());
  CHECK(found.equal == 2);
  CHECK(found.different == 1);
  REQUIRE(found.differences.size() == 1);
  CHECK(found.differences.front() ==
        "rank 0 of analysis, get 2 of b.nc: variable v, 0:4: other values; the first of them was written by "
        "rank 3 of model");
  CHECK(writer_of(second, "b.nc", "v", {2}) == "rank 3 of model");
  CHECK(writer_of(second, "b.nc", "v", {1}).empty());  // between the strides
  CHECK(writer_of(second, "b.nc", "v", {4}).empty());
  CHECK(writer_of(second, "a.nc", "v", {0}).empty());
}

TEST_CASE("gets that only one run made are differences") {
  const Scratch scratch;
  scratch.file("1/analysis/0", "get\t/t/a.nc\tv\t4\t0\taa\t0:4\n");
  fs::create_directories(scratch.path / "2");
  const auto found = compare_gets(read_records(scratch.path / "1", "/t"),
                                  read_records(scratch.path / "2", "/t"), no_excuses());
  CHECK(found.different == 1);
  REQUIRE(found.differences.size() == 1);
  CHECK(found.differences.front() == "rank 0 of analysis, a.nc: 1 and 0 gets");
}

TEST_CASE("what time decides is no difference") {
  const Scratch scratch;
  const auto get = [](const std::string& file, const std::string& print) {
    return "get\t/t/" + file + "\tv\t4\t0\t" + print + "\t0:4\n";
  };
  scratch.file("1/a/0", get("x.nc", "aa") + get("y.nc", "bb") + get("z.nc", "cc"));
  scratch.file("2/a/0", get("x.nc", "aa") + get("z.nc", "xx"));
  const RunRecords first = read_records(scratch.path / "1", "/t");
  const RunRecords second = read_records(scratch.path / "2", "/t");
  CHECK(has_other_choice(first, second, "a"));
  CHECK(!has_other_choice(first, second, "b"));
  const ReadComparison all = compare_gets(first, second, no_excuses());
  CHECK(all.equal == 1);
  CHECK(all.different == 2);
  CHECK(all.differences.back() == "rank 0 of a, get 1 of z.nc: variable v, 0:4: other values");
  Excuses excuses = no_excuses();
  excuses.chooses = [](const std::string& component) { return component == "a"; };
  const ReadComparison some = compare_gets(first, second, excuses);
  CHECK(some.different == 1);
  CHECK(some.excused == 1);
  excuses.depends = [](const std::string& path) { return path == "z.nc"; };
  CHECK(compare_gets(first, second, excuses).different == 0);
}

TEST_CASE("files that were read by the C library are compared by their contents") {
  const Scratch scratch;
  scratch.file("1/a/files",
               "read\t/t/x.nc\t8\taa\nread\t/t/x.nc\t8\taa\nread\t/t/y.nc\t8\tbb\nwrite\t/t/o\n");
  scratch.file("2/a/files", "read\t/t/x.nc\t8\taa\nread\t/t/y.nc\t9\tcc\nread\t/t/z.nc\t1\tdd\n");
  const RunRecords first = read_records(scratch.path / "1", "/t");
  const RunRecords second = read_records(scratch.path / "2", "/t");
  CHECK(first.writers.at("o") == "a");
  const ReadComparison found = compare_reads(first, second, no_excuses());
  CHECK(found.equal == 1);
  CHECK(found.different == 2);
  CHECK(found.differences[0] == "a, read by the C library: y.nc: other contents, 8 and 9 bytes");
  CHECK(found.differences[1] == "a, read by the C library: z.nc: only in the run through memory");
}

TEST_CASE("in a run through files, readers have no modes and rules no queue, but for every N-th step") {
  auto plain = flow(R"(version: 1
components: {a: {command: a}, b: {command: b}, c: {command: c}}
files:
  - {path: "w*.nc", writer: a, readers: {b: latest, c: 3}, queue: 3, when-full: discard, keep: true}
  - {path: x.nc, writer: a, readers: [b], expose: true}
  - {path: s.nc, writer: a, readers: {b: latest, c: 3}, steps: stream}
  - {path: y.nc, writer: a, readers: [b], publish: sync}
)");
  workflows::pass_through_files(plain);
  CHECK(plain.files[0].through == workflows::Through::ordered_file);
  CHECK(plain.files[0].modes.empty());
  CHECK(plain.files[0].readers == std::vector<std::string>{"b", "c"});
  CHECK(plain.files[0].queue == 0);
  CHECK(!plain.files[0].keep.keeps);
  CHECK(!plain.files[1].exposes);
  REQUIRE(plain.files[2].modes.size() == 1);
  CHECK(plain.files[2].modes.front().reader == "c");
  CHECK(plain.files[2].is_stream);
  CHECK(plain.files[3].publish_at == workflows::PublishAt::close);
}

TEST_CASE("a workflow file cannot have the medium of a run through files") {
  CHECK_THROWS_AS(
      static_cast<void>(flow("version: 1\ncomponents: {a: {command: a}, b: {command: b}}\nfiles:\n"
                             "  - {path: x.nc, writer: a, readers: [b], through: ordered-file}\n")),
      workflows::WorkflowError);
}

TEST_CASE("the steps of a stream are told apart, and known as parts of its file") {
  CHECK(without_step("d/s.nc.step-12") == "d/s.nc");
  CHECK(without_step("s.nc") == "s.nc");
  CHECK(without_step("s.nc.step-x") == "s.nc.step-x");
  const Scratch scratch;
  const auto get = [](const std::string& print) {
    return "get\t/t/s.nc.step-2\tv\t4\t0\t" + print + "\t0:4\n";
  };
  scratch.file("1/a/0", get("aa"));
  scratch.file("2/a/0", get("bb"));
  scratch.file("2/m/1", "put\t/t/s.nc\tv\t4\t0\t00\t0:4\n");
  const auto found = compare_gets(read_records(scratch.path / "1", "/t"),
                                  read_records(scratch.path / "2", "/t"), no_excuses());
  REQUIRE(found.differences.size() == 1);
  CHECK(found.differences.front() ==
        "rank 0 of a, get 1 of s.nc.step-2: variable v, 0:4: other values; the first of them was written by "
        "rank 1 of m");
}

TEST_CASE("of a file that is followed, what is equal counts") {
  const Scratch scratch;
  const auto get = [](const std::string& file, const std::string& print) {
    return "get\t/t/" + file + "\tv\t4\t0\t" + print + "\t0:4\n";
  };
  scratch.file("1/a/0", get("x.nc", "aa") + get("y.nc", "bb"));
  scratch.file("2/a/0", get("x.nc", "aa") + get("x.nc", "cc") + get("y.nc", "bb"));
  const RunRecords first = read_records(scratch.path / "1", "/t");
  const RunRecords second = read_records(scratch.path / "2", "/t");
  Excuses excuses = no_excuses();
  excuses.sees_part = [](const std::string&, const std::string& path) { return path == "x.nc"; };
  const ReadComparison found = compare_gets(first, second, excuses);
  CHECK(found.equal == 2);
  CHECK(found.excused == 1);
  CHECK(found.different == 0);
  const auto is_followed = [](const std::string& path) { return path == "x.nc"; };
  CHECK(has_read_otherwise(first, second, "a", is_followed));
  CHECK(!has_read_otherwise(first, second, "b", is_followed));
  CHECK(!has_read_otherwise(first, second, "a", [](const std::string& path) { return path == "y.nc"; }));
}

TEST_CASE("writers run before their readers, whatever the order of the workflow is") {
  const auto order = order_for_reference(flow(R"(version: 1
components: {c: {command: c}, b: {command: b}, a: {command: a, instances: 2}}
files:
  - {path: "a{instance}.nc", writer: a, readers: [b]}
  - {path: b.nc, writer: b, readers: [c, b]}
)"));
  CHECK(order.components == std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("what needs its readers beside it runs all at once") {
  const auto reason = [](const std::string& rule, const std::string& more = "") {
    return order_for_reference(flow("version: 1\ncomponents: {a: {command: a}, b: {command: b" + more +
                                    "}}\nfiles:\n  - {path: x.nc, writer: a, " + rule + "}\n"))
        .reason;
  };
  CHECK(reason("readers: [b]").empty());
  CHECK(reason("readers: [b], steps: stream") == "its readers go through the steps of x.nc");
  CHECK(reason("readers: [b], publish: sync").empty());  // its readers see the whole file there
  CHECK(reason("readers: {b: latest}").empty());         // in the run through files, all files stay
  CHECK(reason("readers: [b]", ", for-each: x.nc") == "b runs for each file");
  CHECK(reason("readers: [b]}\n  - {path: y.nc, writer: b, readers: [a]") ==
        "the components read each other's files");
}

TEST_CASE("variants of a workflow keep what they do not change") {
  const std::string text = R"(version: 1
name: "x"
components:
  a: &first {command: "./a '*'", environment: {N: "1"}}
  b: {command: [./b, "{x}"], start: when-done}
files:
  - {path: "*.nc", writer: a, readers: [b]}
  - {path: "[a]*.bb", writer: a, readers: [b], through: burst-buffer}
)";
  const auto kept = flow(workflows::with_kept_files(text));
  CHECK(kept.files[0].pattern == "*.nc");
  CHECK(kept.files[0].keep.keeps);
  CHECK(kept.files[1].through == workflows::Through::burst_buffer);
  CHECK(kept.components[0].command == std::vector<std::string>{"./a", "*"});
  CHECK(kept.components[0].environment.at("N") == "1");
  CHECK(kept.components[1].starts_when_done);
  const auto one = flow(workflows::with_one_component(text, "b"));
  REQUIRE(one.components.size() == 1);
  CHECK(one.files.empty());
  CHECK(one.components[0].command == std::vector<std::string>{"./b", "{x}"});
  CHECK(!one.components[0].starts_when_done);
}
