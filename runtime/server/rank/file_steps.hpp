#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "client_connections.hpp"
#include "control_protocol.hpp"
#include "matcher_base.hpp"
#include "written_bytes.hpp"

namespace sluice::runtime {

/// The steps that written files become. For each file the matcher is a client of the registry, in the name of
/// the process that has opened it, over a connection number of its own. So for the registry a file is written
/// as any dataset is: docs/design/written-files.md.
class FileSteps {
 public:
  using Then = std::function<void(const Outcome& outcome)>;
  using Filled = std::function<void(FileBytes bytes, const Outcome& outcome)>;

  FileSteps(MatcherBase& base, WrittenBytes& bytes) : base_(base), bytes_(bytes) {}

  /// Begins a connection in the name of the process.
  [[nodiscard]] FileId connect(const LocalProcess& process);
  [[nodiscard]] bool is_empty() const noexcept { return steps_.empty(); }
  /// Asks for a step; `then` is called later.
  void create(FileId file, Open request, Then then);
  /// 0: it has not been created.
  [[nodiscard]] matcher::StepId step(FileId file) const { return steps_.at(file).step; }
  /// The file has another name. Its step, if there is one, is discarded; another one can be created.
  void forget_step(FileId file);
  /// What a step is filled with.
  struct Contents {
    std::string path;
    FileBytes bytes;
    std::uint64_t size = 0;
    std::shared_ptr<const FilePuts> puts;  ///< null: no CDF file. Shared with the thread that writes them
  };
  /// Gets memory for the bytes, which may move to the spill disk by that, and for the puts, and writes the
  /// puts; `then` is called later. Then the step can be published.
  void fill(FileId file, Contents contents, Filled then);
  struct Size {
    std::uint64_t file_bytes = 0;
    std::uint64_t written_bytes = 0;  ///< of them: the rest is as in the step before
  };
  /// Publishes the step, and ends the connection. Readers may be served within the call.
  void publish(FileId file, const Size& size, std::uint32_t closes);
  /// Ends the connection without a step, which is discarded if there is one. Nothing is called any more for
  /// the file. The request's step is not used.
  void discard(FileId file, const Discard& request);
  /// Whether the registry holds it up.
  [[nodiscard]] bool is_waiting(FileId file) const {
    return steps_.contains(file) && !steps_.at(file).asked.empty();
  }
  /// The registry's answer to a request that was made for a file; others are left alone.
  [[nodiscard]] bool take(const Answer& answer);

 private:
  struct Step {
    FileId file = 0;
    matcher::StepId step = 0;
    Then created = {};
    Filled filled = {};  ///< null: it is not being filled
    Contents contents = {};
    std::set<std::uint32_t> asked = {};  ///< tags of what has not been answered
    std::map<std::uint32_t, matcher::SegmentId> segments = {};
    std::uint32_t table_tag = 0, data_tag = 0, bytes_tag = 0;
    std::uint32_t last_tag = 0;
    PublishRequest publication = {};
  };

  [[nodiscard]] Step* find(FileId file);
  std::uint32_t ask(Step& step, RegistryRequest request);
  std::uint32_t ask_segment(Step& step, SegmentUse use, std::uint64_t bytes);
  void go_on(const Answer& answer);
  void fail(Step& step, const Outcome& outcome);
  void advance(Step& step);
  [[nodiscard]] bool may_be_log(const Step& step) const;
  void make_ordinary_log(Step& step);
  void write_log(Step& step);
  void move_to_disk(Step& step);
  void complete(Step& step);
  void describe(Step& step);

  MatcherBase& base_;
  WrittenBytes& bytes_;
  std::map<FileId, Step> steps_;
  std::uint64_t last_file_ = 0;
};

}  // namespace sluice::runtime
