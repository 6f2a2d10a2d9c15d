#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::coordinator {

/// The log of a run: one line for each event, "2026-01-31T12:00:00.123Z SOURCE TEXT". Mode 0600. A full disk
/// does not end the run: lines are then lost, and the first reason is kept. A file that has grown to
/// `most_bytes` is renamed to PATH.1, in place of an earlier one, and a new one begins.
class EventLog {
 public:
  static constexpr std::uint64_t usual_most_bytes = 16 << 20;

  /// Creates the file. Throws IoError.
  explicit EventLog(std::filesystem::path path, std::uint64_t most_bytes = usual_most_bytes);

  void add(std::string_view source, std::string_view text);
  /// Why lines were lost; empty if no line was lost.
  [[nodiscard]] const std::string& failure() const noexcept { return failure_; }

 private:
  void open();
  void begin_anew();

  std::filesystem::path path_;
  std::uint64_t most_bytes_;
  std::uint64_t size_bytes_ = 0;
  runtime::FileDescriptor file_;
  std::string failure_;
};

}  // namespace sluice::coordinator
