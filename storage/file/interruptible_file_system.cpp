#include "sluice/storage/interruptible_file_system.hpp"

#include <algorithm>
#include <utility>

namespace sluice::storage {
namespace {

constexpr std::int64_t part_bytes = std::int64_t{16} << 20;

class InterruptibleFile final : public ForwardingFile {
 public:
  InterruptibleFile(std::unique_ptr<File> base, InterruptibleFileSystem::Check check)
      : ForwardingFile(std::move(base)), check_(check) {}

  [[nodiscard]] std::size_t read(std::int64_t offset_bytes, std::span<std::byte> bytes) const override {
    check_();
    return base().read(offset_bytes, bytes);
  }
  void write(std::int64_t offset_bytes, std::span<const std::byte> bytes) override {
    check_();
    base().write(offset_bytes, bytes);
  }
  std::int64_t copy(const File& from, const FileRange& range, std::int64_t offset_bytes) override {
    const auto* const other = dynamic_cast<const InterruptibleFile*>(&from);
    const File& source = other != nullptr ? other->base() : from;
    std::int64_t done = 0;
    while (done < range.size()) {
      check_();
      const auto begin = range.begin + done;
      const auto wanted = std::min(part_bytes, range.end - begin);
      const auto copied = base().copy(source, {begin, begin + wanted}, offset_bytes + done);
      done += copied;
      if (copied < wanted) break;
    }
    return done;
  }

 private:
  InterruptibleFileSystem::Check check_;
};

}  // namespace

std::unique_ptr<File> InterruptibleFileSystem::open(const std::string& path, OpenMode mode) {
  check_();
  return std::make_unique<InterruptibleFile>(base().open(path, mode), check_);
}

}  // namespace sluice::storage
