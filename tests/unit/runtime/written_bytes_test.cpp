#include "written_bytes.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "memory_file.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/formats/layout.hpp"
#include "sluice/formats/status.hpp"

using sluice::runtime::DiskWorker;
using sluice::runtime::FileBytes;
using sluice::runtime::FileDescriptor;
using sluice::runtime::link_to;
using sluice::runtime::make_memory_file;
using sluice::runtime::OpenFile;
using sluice::runtime::Outcome;
using sluice::runtime::SegmentStore;
using sluice::runtime::SharedFile;
using sluice::runtime::status_of;
using sluice::runtime::WrittenBytes;
namespace fs = std::filesystem;
namespace formats = sluice::formats;

namespace {

std::string text_of(const FileDescriptor& file) {
  std::string text(sluice::runtime::file_size(file), '\0');
  CHECK(sluice::runtime::read_range(file, 0, std::as_writable_bytes(std::span(text))) == 0);
  return text;
}

void write_to(const FileDescriptor& file, const std::string& text) {
  const FileDescriptor writer(::open(link_to(file).c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  CHECK(::write(writer.number(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
}

SharedFile file_with(const std::string& text) {
  auto made = std::make_shared<const FileDescriptor>(make_memory_file(0640));
  write_to(*made, text);
  return made;
}

constexpr std::uint64_t memory_bytes = 1000;

/// The bytes of the files of one matcher, with a directory as the disk and another one to spill to.
struct World {
  World() {
    std::string name = (fs::temp_directory_path() / "written-bytes-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    directory = name;
    bytes.start(memory_bytes);
  }
  ~World() { fs::remove_all(directory); }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  [[nodiscard]] OpenFile request(int flags, const std::string& name = "a") const {
    OpenFile request;
    request.path = (directory / name).string();
    request.is_on_disk = fs::exists(request.path);
    request.flags = static_cast<std::uint32_t>(flags);
    request.permissions = 0640;
    return request;
  }
  /// Runs the loop until the answer is there.
  template <class Answer>
  void await(std::optional<Answer>& answer) {
    while (!answer) {
      loop.restart();
      loop.run_for(std::chrono::milliseconds(1));
    }
  }
  struct Begun {
    FileBytes bytes;
    Outcome outcome;
  };
  auto into(std::optional<Begun>& begun) {
    return [&begun](FileBytes made, const Outcome& outcome) { begun = {std::move(made), outcome}; };
  }
  auto into(std::optional<Outcome>& answer) {
    return [&answer](const Outcome& outcome) { answer = outcome; };
  }
  [[nodiscard]] FileBytes begin(const OpenFile& request, SharedFile base = nullptr) {
    std::optional<Begun> begun;
    bytes.begin(request, std::move(base), into(begun));
    await(begun);
    CHECK(begun->outcome.text.empty());
    return begun->bytes;
  }
  [[nodiscard]] WrittenBytes::Examined examine(const FileBytes& file, bool may_have_puts = true) {
    std::optional<WrittenBytes::Examined> found;
    bytes.examine(file, "a", may_have_puts, [&](const WrittenBytes::Examined& seen) { found = seen; });
    await(found);
    return *found;
  }

  boost::asio::io_context loop;
  DiskWorker disk{loop};
  SegmentStore store{disk, {[](auto, const auto&) {}, [](auto) {}}};
  WrittenBytes bytes{loop, store};
  fs::path directory;
};

}  // namespace

TEST_CASE("a new file begins in memory, empty, with the permissions of its open") {
  World world;
  const FileBytes made = world.begin(world.request(O_WRONLY | O_CREAT | O_TRUNC));
  CHECK_FALSE(made.is_on_disk);
  CHECK(made.base == nullptr);
  CHECK(text_of(*made.file).empty());
  CHECK((status_of(*made.file).st_mode & 0777U) == 0640);
}

TEST_CASE("a file is copied from its base with its times: the run's own, or the one on disk") {
  for (const bool is_on_disk : {false, true}) {
    CAPTURE(is_on_disk);
    World world;
    SharedFile base;
    if (is_on_disk) {
      std::ofstream(world.directory / "a") << "before";
    } else {
      base = file_with("before");
    }
    const FileBytes made = world.begin(world.request(O_RDWR), base);
    REQUIRE(made.base != nullptr);
    std::optional<Outcome> copied;
    world.bytes.copy_base(made, world.into(copied));
    world.await(copied);
    CHECK_FALSE(copied->is_failure());
    CHECK(text_of(*made.file) == "before");
    CHECK(status_of(*made.file).st_mtim.tv_nsec == status_of(*made.base).st_mtim.tv_nsec);
    CHECK(world.examine(made).is_unchanged);
    write_to(*made.file, "behind");
    CHECK_FALSE(world.examine(made).is_unchanged);
  }
}

TEST_CASE("a base that cannot be opened is told") {
  World world;
  OpenFile request = world.request(O_RDWR, "none");
  request.is_on_disk = true;
  std::optional<World::Begun> begun;
  world.bytes.begin(request, nullptr, world.into(begun));
  world.await(begun);
  CHECK(begun->outcome.status == sluice::NC_EPERM);
  CHECK(begun->outcome.text.find("none") != std::string::npos);
}

TEST_CASE("a file that will be large begins on the spill disk, if there is one") {
  World world;
  const OpenFile request = world.request(O_WRONLY | O_CREAT | O_TRUNC);
  world.bytes.note_size(request.key.rule, memory_bytes);
  CHECK_FALSE(world.begin(request).is_on_disk);
  fs::create_directory(world.directory / "spill");
  world.store.set_spill_directory((world.directory / "spill").string(), false);
  FileBytes made = world.begin(request);
  CHECK(made.is_on_disk);
  CHECK(fs::is_empty(world.directory / "spill"));  // it has no name
  CHECK(world.begin(world.request(O_RDWR), file_with(std::string(memory_bytes, 'x'))).is_on_disk);
  world.bytes.note_size(request.key.rule, 1);
  CHECK_FALSE(world.begin(request).is_on_disk);
}

TEST_CASE("a file in place is the one on disk; it is made where it is not there") {
  World world;
  std::optional<World::Begun> begun;
  world.bytes.begin_in_place(world.request(O_WRONLY | O_CREAT), nullptr, nullptr, world.into(begun));
  world.await(begun);
  REQUIRE(begun->bytes.file != nullptr);
  CHECK(begun->bytes.is_in_place);
  CHECK_FALSE(begun->bytes.before.has_value());
  CHECK(fs::exists(world.directory / "a"));
  begun.reset();
  world.bytes.begin_in_place(world.request(O_WRONLY), nullptr, nullptr, world.into(begun));
  world.await(begun);
  CHECK(begun->bytes.before.has_value());
  begun.reset();
  world.bytes.begin_in_place(world.request(O_WRONLY, "none"), nullptr, nullptr, world.into(begun));
  world.await(begun);
  CHECK(begun->bytes.file == nullptr);
  CHECK(begun->outcome.status == sluice::NC_ENOENT);
}

TEST_CASE(
    "a file in place begins with the bytes that the run has; what has them already stays the same file") {
  World world;
  const auto begin = [&] {
    std::optional<World::Begun> begun;
    world.bytes.begin_in_place(world.request(O_RDWR), file_with("from memory"), nullptr, world.into(begun));
    world.await(begun);
    REQUIRE(begun->bytes.file != nullptr);
    return begun->bytes.file;
  };
  std::ofstream(world.directory / "a") << "of a former run";
  const SharedFile first = begin();
  CHECK(text_of(*first) == "from memory");
  const SharedFile second = begin();
  struct stat one {
  }, two{};
  REQUIRE(::fstat(first->number(), &one) == 0);
  REQUIRE(::fstat(second->number(), &two) == 0);
  CHECK(one.st_ino == two.st_ino);
}

TEST_CASE("a CDF file has puts, where they are of use; other files have none") {
  World world;
  FileBytes made{file_with("CDF is not what this is")};
  CHECK(world.examine(made).puts == nullptr);
  formats::Header header;
  formats::Variable variable;
  variable.name = "x";
  variable.type = formats::Type::int32;
  variable.dimids = {header.add_dimension({"n", 3, false})};
  header.add_variable(std::move(variable));
  (void)formats::compute_layout(header, {}, nullptr);
  const auto encoded = formats::encode_header(header);
  std::string text(reinterpret_cast<const char*>(encoded.data()), encoded.size());
  text.resize(static_cast<std::size_t>(header.variable(0).begin), '\0');
  text += std::string("\0\0\0\1\0\0\0\2\0\0\0\3", 12);
  made.file = file_with(text);
  CHECK(world.examine(made, false).puts == nullptr);
  const auto found = world.examine(made);
  CHECK(sluice::runtime::is_sealed(*made.file));  // readers map it
  REQUIRE(found.puts != nullptr);
  std::vector<std::int32_t> elements(found.puts->data_bytes / 4);
  std::optional<Outcome> written;
  world.bytes.write_log(made, found.puts, {std::as_writable_bytes(std::span(elements)), nullptr},
                        world.into(written));
  world.await(written);
  CHECK_FALSE(written->is_failure());
  CHECK(elements == std::vector<std::int32_t>{1, 2, 3});
}

TEST_CASE("bytes move to a file on disk, and stay where they are if that fails") {
  World world;
  const FileBytes made{file_with("moved")};
  const auto on_disk = [&](const char* name, int flags) {
    return std::make_shared<const FileDescriptor>(
        ::open((world.directory / name).c_str(), flags | O_CLOEXEC, 0600));
  };
  std::optional<World::Begun> moved;
  world.bytes.move_to_disk(made, on_disk("to", O_RDWR | O_CREAT), world.into(moved));
  world.await(moved);
  CHECK(moved->bytes.is_on_disk);
  CHECK(text_of(*moved->bytes.file) == "moved");
  moved.reset();
  world.bytes.move_to_disk(made, on_disk(".", O_RDONLY), world.into(moved));
  world.await(moved);
  CHECK(moved->outcome.is_failure());
  CHECK_FALSE(moved->bytes.is_on_disk);
  CHECK(moved->bytes.file == made.file);
}

TEST_CASE("a file takes the place of the one at its path") {
  World world;
  std::ofstream(world.directory / "a") << "before";
  std::optional<Outcome> written;
  world.bytes.write_to_disk({file_with("behind")}, (world.directory / "a").string(), world.into(written));
  world.await(written);
  CHECK_FALSE(written->is_failure());
  std::string text;
  std::ifstream(world.directory / "a") >> text;
  CHECK(text == "behind");
  written.reset();
  world.bytes.write_to_disk({file_with("behind")}, (world.directory / "none" / "a").string(),
                            world.into(written));
  world.await(written);
  CHECK(written->text.find("none") != std::string::npos);
}

namespace {

constexpr std::size_t large = std::size_t{2} << 20;

/// Begins the next file with the one before, as programs do that append, and writes the text at its begin.
FileBytes go_on(World& world, const SharedFile& base, const std::string& text) {
  FileBytes made = world.begin(world.request(O_RDWR), base);
  std::optional<Outcome> copied;
  world.bytes.copy_base(made, world.into(copied));
  world.await(copied);
  CHECK(text_of(*made.file) == text_of(*base));
  const FileDescriptor writer(::open(link_to(*made.file).c_str(), O_WRONLY | O_CLOEXEC));
  CHECK(::write(writer.number(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  return made;
}

}  // namespace

TEST_CASE("who goes on in a file again and again gets a former one, and what that lacks") {
  World world;
  world.bytes.start(100 * large);
  SharedFile newest = file_with(std::string(large, 'a'));
  for (int i = 0; i < 5; ++i) {
    const FileBytes made = go_on(world, newest, std::string(1000, static_cast<char>('b' + i)));
    CHECK(world.bytes.copied_bytes() <= large + static_cast<std::size_t>(i) * 4096);
    CHECK(WrittenBytes::may_be_spare(made));
    auto found = world.examine(made);
    CHECK(sluice::runtime::size_of(found.changed) == 4096);
    newest = made.file;
    world.bytes.keep_spare(world.request(0).path, made, std::move(found.changed));
  }
  // A file that was opened just to look is as its base, and needs nothing the next time.
  std::optional<FileBytes> same = go_on(world, newest, "");
  REQUIRE(world.examine(*same).is_unchanged);
  world.bytes.keep_spare(world.request(0).path, *same, {});
  same.reset();
  const std::uint64_t copied = world.bytes.copied_bytes();
  (void)go_on(world, newest, "");
  CHECK(world.bytes.copied_bytes() == copied);
}

TEST_CASE("a snapshot has the bytes of its moment, and only what has changed is copied and compared") {
  World world;
  world.bytes.start(100 * large);
  const SharedFile written = file_with(std::string(large, 'a'));
  SharedFile former;
  for (int i = 0; i < 5; ++i) {
    std::string text = text_of(*written);
    text[5000] = static_cast<char>('b' + i);
    if (i == 3) text.resize(large - 10);
    write_to(*written, text);
    std::optional<World::Begun> begun;
    world.bytes.snapshot(world.request(0), written, former, world.into(begun));
    world.await(begun);
    CHECK(begun->outcome.text.empty());
    FileBytes made = begun->bytes;
    begun.reset();
    CHECK(text_of(*made.file) == text);
    made.base = former;
    former = made.file;
    if (made.base == nullptr) continue;
    auto found = world.examine(made);
    CHECK(sluice::runtime::size_of(found.changed) == 4096);
    CHECK_FALSE(found.is_unchanged);
    world.bytes.keep_spare(world.request(0).path, made, std::move(found.changed));
  }
  CHECK(world.bytes.copied_bytes() < 3 * large);
}
