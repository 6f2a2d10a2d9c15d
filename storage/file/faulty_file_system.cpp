#include "sluice/storage/faulty_file_system.hpp"

#include <algorithm>

#include "file_errors.hpp"

namespace sluice::storage {
namespace {

using Kind = FileOperation::Kind;

const char* action_of(Kind kind) noexcept {
  constexpr const char* actions[] = {"open", "delete", "rename", "list the files of",      "sync",
                                     "read", "write",  "resize", "reserve disk space for", "sync",
                                     "close"};
  return actions[static_cast<std::size_t>(kind)];
}

class FaultyFile final : public ForwardingFile {
 public:
  FaultyFile(std::unique_ptr<File> base, const FaultyFileSystem::Decide& decide)
      : ForwardingFile(std::move(base)), decide_(decide) {}

  [[nodiscard]] std::size_t read(std::int64_t offset_bytes, std::span<std::byte> bytes) const override {
    const auto fault = decide_({Kind::read, path(), offset_bytes, static_cast<std::int64_t>(bytes.size())});
    if (fault.error_number != 0) throw_fault(fault, Kind::read, NC_EREAD);
    return base().read(offset_bytes, bytes);
  }

  void write(std::int64_t offset_bytes, std::span<const std::byte> bytes) override {
    const auto fault = decide_({Kind::write, path(), offset_bytes, static_cast<std::int64_t>(bytes.size())});
    if (fault.error_number == 0) return base().write(offset_bytes, bytes);
    const auto arrives = std::min(bytes.size(), static_cast<std::size_t>(fault.bytes_written));
    if (arrives > 0) base().write(offset_bytes, bytes.first(arrives));
    throw_fault(fault, Kind::write, NC_EWRITE);
  }

  void resize(std::int64_t size_bytes) override {
    check(Kind::resize, size_bytes);
    base().resize(size_bytes);
  }
  void reserve(std::int64_t size_bytes) override {
    check(Kind::reserve, size_bytes);
    base().reserve(size_bytes);
  }
  // There is no map(), so that `decide` sees all writes.
  void sync() override {
    check(Kind::sync, 0);
    base().sync();
  }
  void close() override {
    check(Kind::close, 0);
    base().close();
  }

 private:
  void check(Kind kind, std::int64_t bytes) const {
    const auto fault = decide_({kind, path(), 0, bytes});
    if (fault.error_number != 0) throw_fault(fault, kind, NC_EWRITE);
  }

  [[noreturn]] void throw_fault(const Fault& fault, Kind kind, Status otherwise) const {
    throw IoError(status_of_errno(fault.error_number, otherwise), fault.error_number, path(),
                  action_of(kind));
  }

  FaultyFileSystem::Decide decide_;
};

void check(const FaultyFileSystem::Decide& decide, Kind kind, const std::string& path) {
  const auto fault = decide({kind, path, 0, 0});
  if (fault.error_number != 0) fail(fault.error_number, path, action_of(kind));
}

}  // namespace

std::unique_ptr<File> FaultyFileSystem::open(const std::string& path, OpenMode mode) {
  check(decide_, Kind::open, path);
  return std::make_unique<FaultyFile>(base().open(path, mode), decide_);
}

void FaultyFileSystem::remove(const std::string& path) {
  check(decide_, Kind::remove, path);
  base().remove(path);
}

void FaultyFileSystem::rename(const std::string& from, const std::string& to) {
  check(decide_, Kind::rename, from);
  base().rename(from, to);
}

std::vector<std::string> FaultyFileSystem::list(const std::string& directory) {
  check(decide_, Kind::list, directory);
  return base().list(directory);
}

void FaultyFileSystem::sync_directory(const std::string& directory) {
  check(decide_, Kind::sync_directory, directory);
  base().sync_directory(directory);
}

}  // namespace sluice::storage
