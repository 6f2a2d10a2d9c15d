// Files that were saved at an fsync: what is there under the name is complete, whatever ends the process that
// saves, and is found to be damaged where it is.
#include "sluice/storage/saved_file.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <cstdint>
#include <random>
#include <span>
#include <string>

#include "sluice/storage/faulty_file_system.hpp"
#include "sluice/storage/memory_file_system.hpp"
#include "support/seed.hpp"

using namespace sluice;
using namespace sluice::storage;

namespace {

const SavedFile what{"/d/a", 1, 0};

void write(FileSystem& files, const std::string& path, const std::string& text) {
  const auto file = files.open(path, OpenMode::create);
  file->write(0, std::as_bytes(std::span(text)));
}

std::string text_of(FileSystem& files, const std::string& path) {
  const auto file = files.open(path, OpenMode::read);
  std::string text(static_cast<std::size_t>(file->size_bytes()), '\0');
  read_exactly(*file, 0, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace

TEST_CASE("a saved file has the documented bytes") {
  MemoryFileSystem files;
  write(files, "draft", "abc");
  FileSaver saver;
  saver.save(files, "draft", "saved", what);
  const auto number = [](char value) { return std::string(7, '\0') + value; };
  const std::string head = "sluicesv" + number(1) + number(4) +
                           "/d/a"
                           "\x4b\x87\x9b\x1b\x24\x97\xc4\xc8";
  const std::string part = number(0) + number(3) +
                           "\x18\x50\xba\x50\xc4\x1a\xa3\x54"
                           "abc";
  CHECK(text_of(files, "saved") == head + part + number(3) + number(0) + "\x23\xbd\x8b\xff\xbe\x12\xdb\x03");
  CHECK(read_saved_file(files, "saved").value().path == "/d/a");
  CHECK(read_saved_file(files, "saved").value().size_bytes == 3);
  CHECK(has_saved_contents(files, "saved", "draft"));
}

TEST_CASE("after the whole file, what has changed is saved, until more is outdated than the file has") {
  MemoryFileSystem files;
  FileSaver saver;
  std::string text(3 << 20, 'a');
  const auto save = [&](const char* to) {
    const std::uint64_t before = saver.written_bytes();
    write(files, "draft", text);
    saver.save(files, "draft", to, what);
    CHECK(has_saved_contents(files, saver.path(), "draft"));
    return saver.written_bytes() - before;
  };
  constexpr std::uint64_t few = 200;  // for heads
  CHECK(save("1") < text.size() + few);
  CHECK(save("2") == 0);
  text[5000] = 'b';
  CHECK(save("3") < 4096 + few);
  text += std::string(10'000, 'c');
  CHECK(save("4") < 10'000 + 4096 + few);
  text.resize(2'000'000);
  CHECK(save("5") < 4096 + few);
  text.resize(3 << 20);
  CHECK(save("6") < text.size() - 2'000'000 + 4096 + few);
  CHECK(saver.path() == "1");
  std::string to = "7";
  for (; saver.path() == "1"; to += '7') {
    text[1'000'000] = static_cast<char>(text[1'000'000] + 1);
    for (std::size_t at = 0; at < text.size(); at += 8192) ++text[at];
    REQUIRE(to.size() < 10);
    save(to.c_str());
  }
  text[10] = 'd';
  CHECK(save("8") < 4096 + few);
  CHECK(text_of(files, saver.path()).size() < text.size() + 5000);

  saver.save(files, "draft", "9", {"/d/other", 1, 0});
  CHECK(saver.path() == "9");
  CHECK(read_saved_file(files, "9").value().path == "/d/other");
}

TEST_CASE("what a file was at its saves is found again at random changes") {
  std::mt19937_64 dice(sluice::test::test_seed());
  const auto random = [&](std::size_t most) { return dice() % (most + 1); };
  MemoryFileSystem files;
  FileSaver saver;
  std::string text;
  for (int i = 0; i < 100; ++i) {
    CAPTURE(i);
    if (random(3) == 0) text.resize(random(300'000), static_cast<char>('a' + i % 26));
    for (std::size_t changes = random(5); changes > 0 && !text.empty(); --changes)
      text[random(text.size() - 1)] = static_cast<char>(dice());
    write(files, "draft", text);
    saver.save(files, "draft", "saved" + std::to_string(i), what);
    restore_file(files, saver.path(), "a");
    REQUIRE(text_of(files, "a") == text);
  }
}

TEST_CASE("a save or a restoration that fails at any step leaves the former contents or the new ones") {
  for (const bool restores : {false, true}) {
    int failures = 0;
    for (int last = 0; last < 100; ++last) {
      CAPTURE(last);
      MemoryFileSystem memory;
      int done = 1000;
      const auto decide = [&](const FileOperation&) { return done++ < last ? Fault{} : Fault{EIO, 0}; };
      const auto never = [&](const FileOperation&) { return Fault{}; };
      FaultyFileSystem good(memory, never), files(memory, decide);
      FileSaver saver;
      write(memory, "draft", "first");
      saver.save(good, "draft", "saved", what);
      write(memory, "draft", "the second");
      saver.save(good, "draft", "saved2", what);
      write(memory, "draft", "the third one");
      write(memory, "a", "former");
      done = 0;
      try {
        if (!restores) saver.save(files, "draft", "saved3", what);
        if (restores) restore_file(files, "saved", "a");
      } catch (const IoError&) {
        ++failures;
      }
      restore_file(memory, saver.path(), "b");
      const std::string target = text_of(memory, "a"), saved = text_of(memory, "b");
      CHECK((saved == "the second" || (!restores && saved == "the third one")));
      CHECK((target == "former" || (restores && target == "the second")));
      saver.save(good, "draft", "saved4", what);
      CHECK(has_saved_contents(memory, saver.path(), "draft"));
    }
    CHECK(failures > 3);
    CHECK(failures < 100);
  }
}

TEST_CASE("a saved file that is cut or damaged anywhere has its last whole state, or none") {
  MemoryFileSystem files;
  FileSaver saver;
  write(files, "draft", "abcdefgh");
  saver.save(files, "draft", "saved", what);
  const std::size_t first = text_of(files, "saved").size();
  write(files, "draft", "abcdefgh, and more");
  saver.save(files, "draft", "other", what);
  REQUIRE(saver.path() == "saved");
  const std::string whole = text_of(files, "saved");
  const auto check = [&](const std::string& bytes, std::size_t at) {
    CAPTURE(at);
    write(files, "cut", bytes);
    const auto found = read_saved_file(files, "cut");
    REQUIRE(found.has_value() == (at >= first));
    if (!found) return;
    restore_file(files, "cut", "a");
    CHECK(text_of(files, "a") == "abcdefgh");
  };
  for (std::size_t size = 0; size < whole.size(); ++size) check(whole.substr(0, size), size);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string other = whole;
    other[at] = static_cast<char>(other[at] ^ 0x80);
    check(other, at);
  }
  check(whole.substr(0, first) + std::string(100, '\0'), first);
}

TEST_CASE("the path of a saved file has its number, and its name no more bytes than a name may have") {
  const SavedFile of_long_name{"/d/" + std::string(250, 'x'), 1, 0};
  for (const SavedFile& file : {what, of_long_name}) {
    const std::string path = saved_file_path("/logs", file, 3, 17);
    CHECK(number_of_saved(path) == 17);
    CHECK(path.size() < 250);
  }
  CHECK(number_of_saved("/logs/other") == 0);
}
