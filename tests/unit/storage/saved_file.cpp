// Files that were saved at an fsync: what is there under the name is complete, whatever ends the process that
// saves, and is found to be damaged where it is.
#include "sluice/storage/saved_file.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <span>
#include <string>

#include "sluice/storage/faulty_file_system.hpp"
#include "sluice/storage/memory_file_system.hpp"

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
  save_file(files, "draft", "saved", what);
  const auto number = [](char value) { return std::string(7, '\0') + value; };
  CHECK(text_of(files, "saved") == "abc/d/a" + number(1) + number(3) + number(4) + "sluicesv");
  CHECK(read_saved_file(files, "saved").value().path == "/d/a");
  CHECK(has_saved_contents(files, "saved", *read_saved_file(files, "saved"), "draft"));
}

TEST_CASE("a save or a restoration that fails at any step leaves the former contents or the new ones") {
  for (const bool restores : {false, true}) {
    int failures = 0;
    for (int last = 0; last < 20; ++last) {
      CAPTURE(last);
      MemoryFileSystem memory;
      write(memory, "draft", "first");
      save_file(memory, "draft", "saved", what);
      write(memory, "draft", "the second");
      write(memory, "a", "former");
      int done = 0;
      const auto decide = [&](const FileOperation&) { return done++ < last ? Fault{} : Fault{EIO, 0}; };
      FaultyFileSystem files(memory, decide);
      try {
        if (!restores) save_file(files, "draft", "saved", what);
        if (restores) restore_file(files, "saved", read_saved_file(memory, "saved").value(), "a");
      } catch (const IoError&) {
        ++failures;
      }
      const std::string saved =
          text_of(memory, "saved")
              .substr(0, static_cast<std::size_t>(read_saved_file(memory, "saved")->size_bytes));
      const std::string target = text_of(memory, "a");
      CHECK((saved == "first" || (!restores && saved == "the second")));
      CHECK((target == "former" || (restores && target == "first")));
    }
    CHECK(failures > 3);
    CHECK(failures < 20);
  }
}

TEST_CASE("a saved file that is cut, or has other numbers, is none") {
  MemoryFileSystem files;
  write(files, "draft", "abcdefgh");
  save_file(files, "draft", "saved", what);
  const std::string whole = text_of(files, "saved");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write(files, "cut", whole.substr(0, size));
    CHECK_FALSE(read_saved_file(files, "cut"));
  }
  for (std::size_t at = whole.size() - 24; at < whole.size(); ++at) {  // size, length, signature
    std::string other = whole;
    other[at] = static_cast<char>(other[at] ^ 0x80);
    write(files, "other", other);
    CHECK_FALSE(read_saved_file(files, "other"));
  }
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
