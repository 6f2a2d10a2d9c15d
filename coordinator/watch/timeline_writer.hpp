#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/runtime/file_descriptor.hpp"
#include "sluice/runtime/protocol.hpp"
#include "sluice/workflows/workflow.hpp"

namespace sluice::coordinator {

/// Writes the timeline of a run into its log directory. It stays below a limit, however long the run is. A
/// full disk does not end the run: the timeline then ends early.
class TimelineWriter {
 public:
  /// Creates the file. Throws IoError.
  TimelineWriter(const std::filesystem::path& log_directory, const workflows::Workflow& workflow,
                 std::int64_t began);

  void component_started(const std::string& name, std::uint64_t time_ms);
  void component_ended(const std::string& name, std::uint64_t time_ms, const std::string& how,
                       std::uint64_t processor_ms);
  /// Adds what has changed since the last view. `time_ms`: when it has arrived.
  void add(const runtime::RunView& view, std::uint64_t time_ms);
  void warn(const std::string& text);
  void end(std::uint64_t time_ms, const std::string& verdict);
  /// The number of views so far. With more of them, fewer a second are enough.
  [[nodiscard]] std::uint64_t views() const noexcept { return views_; }

 private:
  void add_activities(const runtime::RunView& view, std::int64_t offset_ms);
  /// A line whose cells are separated by tabs; written by flush().
  template <class... Cells>
  void line(std::string_view kind, const Cells&... cells);
  /// The same, unless the last line with the same kind and key had the same cells.
  template <class... Cells>
  void line_if_new(std::string_view kind, std::uint64_t time_ms, const std::string& key,
                   const Cells&... cells);
  void flush();

  runtime::FileDescriptor file_;
  std::string pending_;
  std::map<std::string, std::string> last_;  ///< by kind and key
  std::uint64_t activity_bytes_ = 0;
  std::uint64_t views_ = 0;
};

}  // namespace sluice::coordinator
