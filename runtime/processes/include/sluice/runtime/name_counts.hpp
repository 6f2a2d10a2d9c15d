#pragma once
#include <cstdint>
#include <memory>
#include <string_view>

#include "sluice/runtime/segment.hpp"

namespace sluice::runtime {

/// How often it has changed to which files the paths lead: a page that a matcher shares with its processes.
/// Who has got the file of a path need not ask for it again as long as the count is the same. Who lists a
/// directory need not ask where the run has had no file. Many paths have one count.
class NameCounts {
 public:
  /// Of a matcher. Where no memory is to be had, it has stopped from the begin.
  NameCounts();
  /// Of a process, as its matcher has made it. Throws as Mapping does.
  explicit NameCounts(const FileDescriptor& page);

  /// 0: nobody knows how long a path leads to the same file.
  [[nodiscard]] std::uint64_t of(std::string_view path) const noexcept;
  /// False: the run has had no file in the directory. `directory`: absolute.
  [[nodiscard]] bool may_have_files(std::string_view directory) const noexcept;
  // By the matcher, before anybody can know of the change:
  void change(std::string_view path) noexcept;
  void change_all() noexcept;
  /// The path, and others with it.
  void change_all(std::string_view path) noexcept {
    change(path);
    change_all();
  }
  /// From now on files change without its knowledge.
  void stop() noexcept;
  /// Of a matcher: what its processes get; null: it has stopped.
  [[nodiscard]] const std::shared_ptr<const FileDescriptor>& page() const noexcept { return page_; }

 private:
  [[nodiscard]] std::uint64_t count_of_all() const noexcept;

  std::shared_ptr<const FileDescriptor> page_;  ///< shared with messages
  Mapping memory_;
};

}  // namespace sluice::runtime
