#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sluice/storage/forwarding_file_system.hpp"
#include "sluice/storage/memory_file_system.hpp"

namespace sluice::test {

/// Files in memory that know what would be left of them after a power failure: the bytes and marks that were
/// synced, under the names that were synced with their directory. As on a journalling file system, a synced
/// directory has the marks of its files, too.
class PowerCutFileSystem final : public storage::ForwardingFileSystem {
 public:
  /// What happens to names that were not synced.
  enum class Names { are_lost, are_kept };

  PowerCutFileSystem() : ForwardingFileSystem(memory_) {}

  [[nodiscard]] std::unique_ptr<storage::File> open(const std::string& path,
                                                    storage::OpenMode mode) override {
    auto file = memory_.open(path, mode);
    const auto [entry, is_new] = names_.try_emplace(path, std::make_shared<Synced>());
    auto tracked = std::make_unique<TrackedFile>(std::move(file), entry->second, *this);
    if (is_new || mode == storage::OpenMode::create) changed();
    return tracked;
  }
  void remove(const std::string& path) override {
    memory_.remove(path);
    names_.erase(path);
    changed();
  }
  void rename(const std::string& from, const std::string& to) override {
    memory_.rename(from, to);
    names_[to] = names_.extract(from).mapped();
    changed();
  }
  void sync_directory(const std::string& directory) override {
    std::erase_if(synced_names_,
                  [&](const auto& name) { return storage::directory_of(name.first) == directory; });
    for (const auto& [path, synced] : names_) {
      if (storage::directory_of(path) != directory) continue;
      synced->mark = memory_.open(path, storage::OpenMode::read)->mark();
      synced_names_[path] = synced;
    }
    changed();
  }

  /// The files that a power failure would leave now.
  [[nodiscard]] std::unique_ptr<storage::MemoryFileSystem> left(Names names) const {
    auto files = std::make_unique<storage::MemoryFileSystem>();
    for (const auto& [path, synced] : names == Names::are_kept ? names_ : synced_names_) {
      const auto file = files->open(path, storage::OpenMode::create);
      file->write(0, synced->bytes);
      (void)file->set_mark(synced->mark);
    }
    return files;
  }
  /// Called after each change; it may look at what is left.
  std::function<void()> on_change = [] {};

 private:
  struct Synced {
    std::vector<std::byte> bytes;
    std::string mark;
  };
  class TrackedFile final : public storage::ForwardingFile {
   public:
    TrackedFile(std::unique_ptr<File> base, std::shared_ptr<Synced> synced, PowerCutFileSystem& files)
        : ForwardingFile(std::move(base)), synced_(std::move(synced)), files_(files) {}
    void write(std::int64_t offset_bytes, std::span<const std::byte> bytes) override {
      base().write(offset_bytes, bytes);
      files_.changed();
    }
    void sync() override {
      synced_->bytes.resize(static_cast<std::size_t>(base().size_bytes()));
      (void)base().read(0, synced_->bytes);
      files_.changed();
    }

   private:
    std::shared_ptr<Synced> synced_;
    PowerCutFileSystem& files_;
  };
  void changed() const { on_change(); }

  storage::MemoryFileSystem memory_;
  std::map<std::string, std::shared_ptr<Synced>> names_;
  std::map<std::string, std::shared_ptr<Synced>> synced_names_;
};

/// Calls `check` with what would be left now, whether names survive or not.
template <class Check>
void after_power_failure(const PowerCutFileSystem& files, const Check& check) {
  for (const auto names : {PowerCutFileSystem::Names::are_lost, PowerCutFileSystem::Names::are_kept})
    check(*files.left(names));
}

}  // namespace sluice::test
