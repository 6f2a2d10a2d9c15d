#pragma once
#include <filesystem>
#include <string>
#include <string_view>

#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::coordinator {

/// The log of a run: one line an event, "2026-01-31T12:00:00.123Z SOURCE TEXT". Mode 0600. A full disk does
/// not end the run: lines are then lost, and the first reason is kept.
class EventLog {
 public:
  /// Creates the file; throws IoError.
  explicit EventLog(const std::filesystem::path& path);

  void add(std::string_view source, std::string_view text);
  /// Why lines were lost; empty when none was.
  [[nodiscard]] const std::string& failure() const noexcept { return failure_; }

 private:
  runtime::FileDescriptor file_;
  std::string failure_;
};

}  // namespace sluice::coordinator
