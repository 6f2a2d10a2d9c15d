// Steps with handmade logs, drained to files in memory.
#include "step_drain.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <random>

#include "kept_file.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/formats/convert.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/matcher/request_table.hpp"
#include "sluice/storage/faulty_file_system.hpp"
#include "sluice/storage/file_mark.hpp"
#include "sluice/storage/memory_file_system.hpp"
#include "sluice/storage/partial_file.hpp"
#include "sluice/storage/posix_file_system.hpp"
#include "support/power_cut_file_system.hpp"
#include "support/seed.hpp"

using namespace sluice;
using namespace sluice::runtime;
using formats::Type;

namespace {

using Numbers = std::vector<std::int64_t>;
constexpr std::uint64_t mib = 1 << 20;

void define(formats::Header& header, const std::string& name, Type type, std::vector<int> dimids) {
  formats::Variable variable;
  variable.name = name;
  variable.type = type;
  variable.dimids = std::move(dimids);
  header.add_variable(std::move(variable));
}

/// Dimensions t (records), y, x.
formats::Header make_header(formats::Version version, std::int64_t y, std::int64_t x) {
  formats::Header header;
  header.version = version;
  header.add_dimension({"t", 0, true});
  header.add_dimension({"y", y, false});
  header.add_dimension({"x", x, false});
  define(header, "a", Type::int16, {1, 2});
  define(header, "b", Type::float64, {0, 1, 2});
  define(header, "c", Type::int32, {2});
  define(header, "d", Type::int16, {0, 2});
  define(header, "e", Type::float32, {});
  define(header, "f", Type::int8, {0});
  header.attributes.put({"title", Type::text, 1, {std::byte{'t'}}});
  return header;
}

/// One process's write log: one table, one data segment.
class Log {
 public:
  explicit Log(std::uint64_t number)
      : number_(2 * number + 1),
        files_{std::make_shared<const FileDescriptor>(create_segment(mib)),
               std::make_shared<const FileDescriptor>(create_segment(mib))},
        table_(*files_[0], {mib}, Mapping::Access::read_write),
        data_(*files_[1], {mib}, Mapping::Access::read_write),
        writer_(table_.writable()) {
    matcher::TableEntry entry;
    entry.kind = matcher::EntryKind::segment;
    entry.length_bytes = mib;
    entry.segment_id = number_ + 1;
    REQUIRE(writer_.append(entry));
    writer_.commit();
  }

  /// Puts `value` into all elements of the box.
  template <class T>
  void put(int varid, std::uint64_t sequence, const formats::HyperslabView& box, T value) {
    matcher::TableEntry entry;
    entry.varid = varid;
    entry.sequence = sequence;
    entry.log_offset = used_;
    entry.box = box;
    for (std::int64_t i = 0; i < box.elements(); ++i, used_ += sizeof value)
      std::memcpy(data_.writable().data() + used_, &value, sizeof value);
    used_ = (used_ + 7) / 8 * 8;
    REQUIRE(writer_.append(entry));
    writer_.commit();
  }

  void add_to(matcher::StepView& view, std::vector<OwnedSegment>& segments) {
    matcher::LogView log;
    log.tables = {{number_, mib}};
    log.data = {{number_ + 1, mib}};
    log.ranges = {{static_cast<std::uint32_t>(view.logs.size()), 0, mib, number_ + 1, 0}};
    view.logs.push_back(log);
    for (std::size_t i = 0; i < files_.size(); ++i)
      segments.push_back({number_ + i, {mib}, [file = files_[i]] { return file; }});
  }
  [[nodiscard]] std::span<std::byte> table() { return table_.writable(); }

 private:
  std::uint64_t number_;
  std::array<std::shared_ptr<const FileDescriptor>, 2> files_;
  Mapping table_;
  Mapping data_;
  matcher::TableWriter writer_;
  std::uint64_t used_ = 0;
};

DrainTask task_of(const formats::Header& header, std::int64_t records, std::vector<Log>& logs) {
  formats::Header encoded = header;
  formats::compute_layout(encoded, {}, nullptr);
  const auto version = encoded.version;
  encoded.version = formats::Version::cdf5;
  matcher::StepView view;
  view.step = 1;
  view.is_final = true;
  view.name = "a.nc";
  view.record_count = records;
  view.header = formats::encode_header(encoded);
  DrainTask task;
  for (Log& log : logs) log.add_to(view, task.segments);
  task.view = std::make_shared<const matcher::StepView>(std::move(view));
  task.order = {"/d/a.nc", static_cast<std::uint8_t>(version), {}};
  return task;
}

/// The same task in two parts: the first log is on one node, the others are on another.
std::array<DrainTask, 2> divided(const formats::Header& header, std::int64_t records,
                                 std::vector<Log>& logs) {
  std::array<DrainTask, 2> parts{task_of(header, records, logs), task_of(header, records, logs)};
  for (std::uint32_t part = 0; part < 2; ++part) {
    DrainTask& task = parts[part];
    task.order.part = part;
    task.order.parts = 2;
    std::erase_if(task.segments,
                  [&](const OwnedSegment& segment) { return (segment.segment <= 2) == (part == 1); });
    for (std::size_t i = 0; i < logs.size(); ++i) {
      if ((i == 0) == (part == 0)) continue;
      const auto table = logs[i].table();
      task.tables.push_back({task.view->logs[i].tables[0].segment, {table.begin(), table.end()}});
    }
  }
  return parts;
}

/// All elements of a variable of a file.
std::vector<double> read_variable(storage::MemoryFileSystem& system, const std::string& name) {
  const auto& bytes = system.bytes("/d/a.nc");
  const auto decoded = formats::decode_header(bytes, true, std::ssize(bytes), "a.nc");
  REQUIRE(decoded);
  const auto& header = decoded->header;
  const int id = header.find_variable(name);
  REQUIRE(id >= 0);
  const auto layout = formats::layout_of(header, decoded->size_bytes);
  const Numbers count = header.shape(id);
  std::vector<formats::FileRun> runs;
  formats::append_runs(header, layout, id, Numbers(count.size(), 0), count, {}, runs);
  const Type type = header.variable(id).type;
  std::vector<double> values;
  for (const auto& run : runs) {
    const auto n = run.length_bytes / static_cast<std::int64_t>(formats::size_of(type));
    REQUIRE(run.offset_bytes + run.length_bytes <= std::ssize(bytes));
    std::vector<std::byte> native(static_cast<std::size_t>(run.length_bytes));
    formats::copy_swapped(native.data(), bytes.data() + run.offset_bytes, formats::size_of(type), n);
    std::vector<double> part(static_cast<std::size_t>(n));
    formats::convert_get(Type::float64, part.data(), type, native.data(), n, false);
    values.insert(values.end(), part.begin(), part.end());
  }
  return values;
}

const DrainWatcher nobody = [](const matcher::DrainProgress&) {};

/// The segments of all nodes, for the one that makes an image.
class OtherNodes final : public RemoteLogs {
 public:
  explicit OtherNodes(const std::array<DrainTask, 2>& parts) : parts_(parts) {}
  std::vector<std::byte> read(const std::vector<MemoryRange>& ranges) override {
    std::vector<std::byte> all;
    for (const MemoryRange& range : ranges) {
      for (const DrainTask& part : parts_) {
        for (const OwnedSegment& segment : part.segments) {
          if (segment.segment != range.segment) continue;
          std::vector<std::byte> bytes(range.bytes);
          const auto offset = static_cast<off_t>(segment.extent.offset_bytes + range.offset);
          REQUIRE(::pread(segment.open()->number(), bytes.data(), bytes.size(), offset) ==
                  static_cast<ssize_t>(bytes.size()));
          all.insert(all.end(), bytes.begin(), bytes.end());
        }
      }
    }
    return all;
  }

 private:
  const std::array<DrainTask, 2>& parts_;
};

/// The image that the first node makes of what all have.
std::vector<std::byte> image_of(const std::array<DrainTask, 2>& parts, const DrainOptions& options) {
  DrainTask task = parts.front();
  task.remote = std::make_shared<OtherNodes>(parts);
  task.image = std::make_shared<const FileDescriptor>(::memfd_create("image", MFD_CLOEXEC));
  storage::PosixFileSystem system;
  const auto bytes = make_image(system, task, nobody, options);
  std::vector<std::byte> image(bytes);
  REQUIRE(::pread(task.image->number(), image.data(), bytes, 0) == static_cast<ssize_t>(bytes));
  struct stat facts {};
  REQUIRE(::fstat(task.image->number(), &facts) == 0);
  CHECK(static_cast<std::uint64_t>(facts.st_size) == bytes);
  return image;
}

/// Makes all segments parts of burst-buffer logs, and counts how many of these are open.
class CountedLogs {
 public:
  explicit CountedLogs(DrainTask& task) {
    for (OwnedSegment& segment : task.segments) {
      segment.extent.may_have_name = true;
      segment.open = [this, file = segment.open()] {
        most = std::max(most, ++open);
        return std::shared_ptr<const FileDescriptor>(file.get(), [this, file](auto*) { --open; });
      };
    }
  }
  CountedLogs(const CountedLogs&) = delete;
  CountedLogs& operator=(const CountedLogs&) = delete;

  int open = 0;
  int most = 0;
};

}  // namespace

TEST_SUITE("draining a step") {
  TEST_CASE("few of a step's burst-buffer logs are open at a time") {
    formats::Header header = make_header(formats::Version::cdf5, 1, 1);
    std::vector<Log> logs;
    for (std::uint64_t i = 0; i < 50; ++i) logs.emplace_back(i);
    DrainTask task = task_of(header, 0, logs);
    const CountedLogs counted(task);
    storage::MemoryFileSystem system;
    (void)drain_step(system, task, nobody);
    CHECK(system.exists("/d/a.nc"));
    CHECK(counted.most <= 2);
    CHECK(counted.open == 0);
  }

  TEST_CASE("the file has the last puts, and fill values for unwritten elements") {
    std::mt19937 random(test::test_seed(20261121));
    const auto below = [&](std::int64_t n) {
      return static_cast<std::int64_t>(random() % static_cast<unsigned>(n));
    };
    for (int round = 0; round < 60; ++round) {
      const std::array versions{formats::Version::cdf1, formats::Version::cdf2, formats::Version::cdf5};
      formats::Header header =
          make_header(versions[static_cast<std::size_t>(round % 3)], 1 + below(9), 1 + below(40));
      const std::int64_t records = below(7);
      header.record_count = records;
      std::vector<Log> logs;
      for (int i = 0; i < 3; ++i) logs.emplace_back(static_cast<std::uint64_t>(i));
      std::map<int, std::vector<double>> expected;
      for (int id = 0; id < header.variable_count(); ++id) {
        std::array<std::byte, 8> fill{};
        header.fill_value(id, fill.data());
        double value = 0;
        formats::convert_get(Type::float64, &value, header.variable(id).type, fill.data(), 1, false);
        std::size_t elements = 1;
        for (const auto n : header.shape(id)) elements *= static_cast<std::size_t>(n);
        expected[id].assign(elements, value);
      }
      for (int put = 0; put < 40; ++put) {
        const int id = static_cast<int>(below(header.variable_count()));
        const Numbers shape = header.shape(id);
        if (std::ranges::find(shape, 0) != shape.end()) continue;
        Numbers start, count, stride;
        for (const auto n : shape) {
          start.push_back(below(n));
          stride.push_back(1 + below(3));
          count.push_back(1 + below((n - start.back() + stride.back() - 1) / stride.back()));
        }
        const formats::HyperslabView box{start, count, stride};
        Log& log = logs[static_cast<std::size_t>(below(3))];
        const auto sequence = static_cast<std::uint64_t>(put);
        switch (header.variable(id).type) {
          case Type::int16:
            log.put(id, sequence, box, static_cast<std::int16_t>(put));
            break;
          case Type::int32:
            log.put(id, sequence, box, static_cast<std::int32_t>(put));
            break;
          case Type::float32:
            log.put(id, sequence, box, static_cast<float>(put));
            break;
          case Type::float64:
            log.put(id, sequence, box, static_cast<double>(put));
            break;
          default:
            log.put(id, sequence, box, static_cast<std::int8_t>(put));
            break;
        }
        Numbers index(shape.size(), 0);
        for (std::int64_t i = 0; i < box.elements(); ++i) {
          std::int64_t rest = i;
          std::int64_t position = 0;
          for (std::size_t d = shape.size(); d-- > 0; rest /= count[d])
            index[d] = start[d] + rest % count[d] * stride[d];
          for (std::size_t d = 0; d < shape.size(); ++d) position = position * shape[d] + index[d];
          expected[id][static_cast<std::size_t>(position)] = put;
        }
      }
      storage::MemoryFileSystem system;
      const std::int64_t chunk = round % 2 == 0 ? 64 : 4096;
      const DrainTask task = task_of(header, records, logs);
      const auto bytes = drain_step(system, task, nobody, {4 * chunk, chunk});
      CHECK((bytes > 0 && bytes <= system.bytes("/d/a.nc").size()));
      CHECK_FALSE(system.exists("/d/.a.nc.sluice-partial"));
      storage::MemoryFileSystem shared;
      storage::PartialFile partial(shared, "/d/a.nc");
      for (DrainTask& part : divided(header, records, logs)) {
        part.partial = partial.path();
        (void)drain_part(shared, part, nobody, {4 * chunk, chunk});
      }
      partial.publish();
      CHECK(shared.bytes("/d/a.nc") == system.bytes("/d/a.nc"));
      const std::vector<std::byte> image = image_of(divided(header, records, logs), {4 * chunk, chunk});
      const auto& whole = system.bytes("/d/a.nc");
      CHECK(image.size() == whole.size());
      CHECK(std::ranges::mismatch(image, whole).in1 == image.end());
      for (int id = 0; id < header.variable_count(); ++id) {
        CAPTURE(round);
        CAPTURE(header.variable(id).name);
        CHECK(read_variable(system, header.variable(id).name) == expected[id]);
      }
    }
  }

  TEST_CASE("a step that only adds records is appended to the file, any other one is written anew") {
    const Numbers shape{1, 3, 5};
    for (const char* kind : {"appended", "fixed", "below", "touched"}) {
      CAPTURE(kind);
      formats::Header header = make_header(formats::Version::cdf1, 3, 5);
      std::vector<Log> logs;
      logs.emplace_back(0);
      logs[0].put(1, 1, {Numbers{1, 0, 0}, shape, {}}, 1.5);
      logs[0].put(3, 1, {Numbers{0, 0}, Numbers{2, 5}, {}}, std::int16_t{3});
      storage::MemoryFileSystem memory;
      header.record_count = 2;
      drain_step(memory, task_of(header, 2, logs), nobody);
      logs.emplace_back(1);
      logs[1].put(1, 2, {Numbers{4, 0, 0}, shape, {}}, 2.5);
      if (kind == std::string("fixed")) logs[1].put(2, 2, {Numbers{0}, Numbers{5}, {}}, std::int32_t{7});
      if (kind == std::string("below")) logs[1].put(1, 2, {Numbers{1, 0, 0}, shape, {}}, 3.5);
      if (kind == std::string("touched")) memory.bytes("/d/a.nc").push_back(std::byte{1});
      header.record_count = 5;
      DrainTask task = task_of(header, 5, logs);
      storage::MemoryFileSystem anew;
      drain_step(anew, task, nobody);
      task.order.drained_logs = {matcher::TablePosition{}};
      task.order.drained_records = 2;
      bool was_renamed = false;
      storage::FaultyFileSystem watched(memory, [&](const storage::FileOperation& operation) {
        was_renamed = was_renamed || operation.kind == storage::FileOperation::Kind::rename;
        return storage::Fault{};
      });
      const auto old_bytes = memory.bytes("/d/a.nc");
      std::size_t operations = 0;
      storage::MemoryFileSystem copy;
      copy.open("/d/a.nc", storage::OpenMode::create)->write(0, old_bytes);
      drain_step(watched, task, nobody);
      CHECK(was_renamed == (kind != std::string("appended")));
      CHECK(memory.bytes("/d/a.nc") == anew.bytes("/d/a.nc"));
      if (was_renamed) continue;
      // Whenever the drain fails, the file counts only complete records.
      for (bool has_failed = true; has_failed; ++operations) {
        storage::MemoryFileSystem torn;
        torn.open("/d/a.nc", storage::OpenMode::create)->write(0, old_bytes);
        std::size_t operation = 0;
        storage::FaultyFileSystem failing(torn, [&](const storage::FileOperation&) {
          return storage::Fault{operation++ == operations ? EIO : 0, 0};
        });
        try {
          drain_step(failing, task, nobody);
        } catch (const IoError&) {
        }
        has_failed = operation > operations;
        const auto& now = torn.bytes("/d/a.nc");
        const bool is_old = std::equal(old_bytes.begin(), old_bytes.end(), now.begin());
        CHECK((is_old || now == anew.bytes("/d/a.nc")));
      }
    }
  }

  TEST_CASE("a file says which step it is of, and while records are added to it, which it was of") {
    formats::Header header = make_header(formats::Version::cdf1, 3, 5);
    std::vector<Log> logs;
    logs.emplace_back(0);
    logs[0].put(1, 1, {Numbers{1, 0, 0}, Numbers{1, 3, 5}, {}}, 1.5);
    const auto task_of_step = [&](std::uint64_t step, std::int64_t records) {
      header.record_count = records;
      DrainTask task = task_of(header, records, logs);
      matcher::StepView view = *task.view;
      view.step = step;
      task.view = std::make_shared<const matcher::StepView>(std::move(view));
      task.order.run = 11;
      task.order.run_begin_ns = 1000;
      task.order.origin = 4;
      return task;
    };
    storage::MemoryFileSystem memory;
    const auto mark_now = [&] {
      return storage::mark_of(*memory.open("/d/a.nc", storage::OpenMode::read)).value();
    };
    drain_step(memory, task_of_step(4, 2), nobody);
    CHECK(mark_now().run == 11);
    CHECK(mark_now().created_ns == 1000);
    CHECK(mark_now().origin == 4);
    CHECK(mark_now().complete == 4);
    CHECK(mark_now().content == storage::content_of(*memory.open("/d/a.nc", storage::OpenMode::read)));
    logs.emplace_back(1);
    logs[1].put(1, 2, {Numbers{4, 0, 0}, Numbers{1, 3, 5}, {}}, 2.5);
    DrainTask task = task_of_step(6, 5);
    task.order.drained_logs.resize(1);
    task.order.drained_records = 2;
    storage::FaultyFileSystem full(memory, [](const storage::FileOperation& asked) {
      return storage::Fault{asked.kind == storage::FileOperation::Kind::write ? ENOSPC : 0, 0};
    });
    CHECK_THROWS_AS(drain_step(full, task, nobody), IoError);
    CHECK(mark_now().complete == 4);
    CHECK(mark_now().content == storage::growing_content);
    drain_step(memory, task, nobody);
    CHECK(mark_now().complete == 6);
    CHECK(mark_now().content == storage::content_of(*memory.open("/d/a.nc", storage::OpenMode::read)));
  }

  TEST_CASE(
      "after a power failure there is the old file or the new one; after the drain the new one, marked") {
    const std::string path = "/d/a.nc";
    const auto bytes_in = [&](storage::MemoryFileSystem& files) {
      return files.exists(path) ? files.bytes(path) : std::vector<std::byte>();
    };
    for (const bool is_appended : {false, true}) {
      CAPTURE(is_appended);
      formats::Header header = make_header(formats::Version::cdf1, 3, 5);
      std::vector<Log> logs;
      logs.emplace_back(0);
      logs[0].put(1, 1, {Numbers{1, 0, 0}, Numbers{1, 3, 5}, {}}, 1.5);
      header.record_count = 2;
      test::PowerCutFileSystem files;
      drain_step(files, task_of(header, 2, logs), nobody);
      const auto before = bytes_in(*files.left(test::PowerCutFileSystem::Names::are_lost));
      CHECK(before.size() > 100);
      logs.emplace_back(1);
      logs[1].put(1, 2, {Numbers{4, 0, 0}, Numbers{1, 3, 5}, {}}, 2.5);
      header.record_count = 5;
      DrainTask task = task_of(header, 5, logs);
      if (is_appended) {
        task.order.drained_logs = {matcher::TablePosition{}};
        task.order.drained_records = 2;
      }
      storage::MemoryFileSystem anew;
      drain_step(anew, task, nobody);
      const auto after = anew.bytes(path);
      files.on_change = [&] {
        test::after_power_failure(files, [&](storage::MemoryFileSystem& left) {
          const auto now = bytes_in(left);
          const bool has_old_records =
              now.size() >= before.size() && std::equal(before.begin(), before.end(), now.begin());
          CHECK((has_old_records || now == after));
        });
      };
      drain_step(files, task, nobody);
      test::after_power_failure(files, [&](storage::MemoryFileSystem& left) {
        CHECK(bytes_in(left) == after);
        const auto file = left.open(path, storage::OpenMode::read);
        CHECK(storage::mark_of(*file).value().content == storage::content_of(*file));
      });
    }
  }

  TEST_CASE("a list of variables gives a file of these, their dimensions and the global attributes") {
    std::vector<Log> logs;
    logs.emplace_back(0);
    logs[0].put(2, 1, {Numbers{0}, Numbers{5}, {}}, std::int32_t{7});
    DrainTask task = task_of(make_header(formats::Version::cdf2, 3, 5), 4, logs);
    task.order.keep = {true, {"[ce]"}};
    storage::MemoryFileSystem system;
    drain_step(system, task, nobody);
    const auto& bytes = system.bytes("/d/a.nc");
    const auto header = formats::decode_header(bytes, true, std::ssize(bytes), "a.nc")->header;
    REQUIRE(header.variable_count() == 2);
    REQUIRE(header.dimension_count() == 1);
    CHECK(header.dimension(0).name == "x");
    CHECK(header.attributes.find("title") == 0);
    CHECK(header.record_count == 0);
    CHECK(read_variable(system, "c") == std::vector<double>(5, 7));
  }

  TEST_CASE("whatever fails, the old file stays, and nothing is left beside it") {
    std::vector<Log> logs;
    logs.emplace_back(0);
    const DrainTask task = task_of(make_header(formats::Version::cdf1, 30, 50), 10, logs);
    const DrainOptions options{4096, 1024};
    std::size_t operations = 0;
    {
      storage::MemoryFileSystem memory;
      storage::FaultyFileSystem counting(memory, [&](const auto&) { return ++operations, storage::Fault{}; });
      drain_step(counting, task, nobody, options);
    }
    REQUIRE(operations > 10);
    using Kind = storage::FileOperation::Kind;
    for (std::size_t failing = 1; failing <= operations; ++failing) {
      storage::MemoryFileSystem memory;
      memory.open("/d/a.nc", storage::OpenMode::create)->write(0, std::vector<std::byte>(3));
      std::size_t operation = 0;
      Kind kind{};
      storage::FaultyFileSystem failing_once(memory, [&](const storage::FileOperation& asked) {
        if (++operation != failing) return storage::Fault{};
        kind = asked.kind;
        return storage::Fault{ENOSPC, asked.bytes / 2};
      });
      CHECK_THROWS_AS(drain_step(failing_once, task, nobody, options), IoError);
      CAPTURE(failing);
      CHECK((memory.bytes("/d/a.nc").size() == 3) == (kind != Kind::sync_directory));
      CHECK_FALSE(memory.exists("/d/.a.nc.sluice-partial"));
    }
  }

  TEST_CASE("the watcher can end a drain, and a damaged table is an error") {
    std::vector<Log> logs;
    logs.emplace_back(0);
    const DrainTask task = task_of(make_header(formats::Version::cdf1, 30, 50), 10, logs);
    storage::MemoryFileSystem system;
    const DrainWatcher impatient = [](const matcher::DrainProgress& progress) {
      CHECK(progress.done_bytes <= progress.total_bytes);
      throw Error(NC_EIO, "enough");
    };
    CHECK_THROWS_WITH_AS(drain_step(system, task, impatient, {4096, 1024}), "enough", Error);
    CHECK_FALSE(system.exists("/d/.a.nc.sluice-partial"));
    const std::uint64_t all = ~std::uint64_t{0};
    std::memcpy(logs[0].table().data() + 8, &all, sizeof all);
    CHECK_THROWS_AS(drain_step(system, task, nobody), Error);
    CHECK_FALSE(system.exists("/d/a.nc"));
  }
}
