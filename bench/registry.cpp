// Measures the registry at matcher 0, through which all creates, opens and closes of a run pass. Prints the
// cost of a message by the number of processes, and by the number of earlier steps that were read. The cost
// must grow with neither. There are as many writers as readers, and each reader opens before the step exists.
// A small file in the other direction tells the writers to continue. All processes of a component open
// together, or each by itself (groups of one process).
//
//     registry
#include "sluice/matcher/registry.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include "sluice/formats/error.hpp"

using namespace sluice;
using namespace sluice::matcher;

namespace {

/// Segments without memory.
class NoMemory final : public SegmentMemory {
 public:
  void create(SegmentId /*segment*/, std::uint64_t /*bytes*/) override {}
  bool create_spilled(SegmentId /*segment*/, std::uint64_t /*bytes*/, DiskRoom /*room*/) override {
    return true;
  }
  void clear(SegmentId /*segment*/, SegmentUse /*use*/) override {}
  bool destroy(SegmentId /*segment*/) noexcept override { return true; }
  std::span<const std::byte> contents(SegmentId /*segment*/) override { return {}; }
  void mark_gone(SegmentId /*control*/, std::uint32_t /*rank*/) noexcept override {}
};

class Answers final : public RegistryAnswers {
 public:
  void created(const Ticket& /*ticket*/, const Step& made) override { step = made.id; }
  void opened(const Ticket& /*ticket*/, const Step& found) override { step = found.id; }
  void opened_file(const Ticket& /*ticket*/, const std::string& /*path*/) override {}
  void described(const Ticket& /*ticket*/, std::uint8_t /*version*/) override {}
  void granted(const Ticket& /*ticket*/, const SegmentLease& /*segment*/) override {}
  void disk_freed(const Ticket& /*ticket*/, std::uint64_t /*given_back*/) override {}
  void done(const Ticket& /*ticket*/) override {}
  void refused(const Ticket& /*ticket*/, int status, const std::string& text) override {
    throw Error(static_cast<Status>(status), text);
  }
  void erased(StepId /*step*/) override {}
  void event(const std::string& /*text*/) override {}

  StepId step = 0;
};

double seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

class Run {
 public:
  Run(std::uint32_t processes, bool opens_alone)
      : size_(processes),
        opens_alone_(opens_alone),
        registry_({{{"step_*.nc", "model", {"analysis"}}, {"go_*.nc", "analysis", {"model"}}},
                   {{"model", processes}, {"analysis", processes}},
                   std::uint64_t{1} << 40,
                   [] { return std::uint64_t{0}; }},
                  memory_, answers_) {
    for (std::uint32_t i = 0; i < processes; ++i) {
      writers_.push_back(registry_.connect("model", i + 1, i));
      readers_.push_back(registry_.connect("analysis", i + 1, i));
    }
    // Processes connect in any order.
    std::mt19937 random(1);
    std::ranges::shuffle(writers_, random);
    std::ranges::shuffle(readers_, random);
  }

  /// Returns how many messages it takes.
  std::size_t step(int number) {
    const std::string name = std::to_string(number) + ".nc";
    messages_ = 0;
    open(readers_, {0, "step_" + name});
    const StepId step = write(writers_, {0, "step_" + name}, 65536);
    close(readers_, step);
    open(writers_, {1, "go_" + name});
    close(writers_, write(readers_, {1, "go_" + name}, 0));
    return messages_;
  }

  /// Files of one process each, which nobody reads, and all readers wait for another one.
  void leave_unread(int files) {
    for (int i = 0; i < files; ++i) {
      const ProcessId writer = writers_[static_cast<std::size_t>(i) % writers_.size()];
      registry_.open(
          next_message(), writer,
          {{0, "step_" + std::to_string(i) + ".nc"}, {++group_, 0, 1}, {}, matcher::Purpose::create});
      registry_.set_header(next_message(), writer, {answers_.step, std::vector<std::byte>(1000), {}});
      registry_.need_segment(next_message(), writer, {answers_.step, SegmentUse::data, 65536});
      registry_.close(writer, {PublishRequest{answers_.step, 0, {}}});
    }
    open(readers_, {0, "step_none.nc"});
  }
  /// What `sluice status` asks for. Returns how many files it lists.
  [[nodiscard]] std::size_t view() const { return registry_.view({}).files.size(); }

 private:
  using Processes = std::vector<ProcessId>;

  Ticket next_message() { return {0, static_cast<std::uint32_t>(++messages_)}; }
  void open(const Processes& processes, const DatasetKey& key) {
    ++group_;
    for (std::uint32_t i = 0; i < size_; ++i) {
      if (opens_alone_)
        registry_.open(next_message(), processes[i], {key, {group_++, 0, 1}});
      else
        registry_.open(next_message(), processes[i], {key, {group_, i, size_}});
    }
  }
  StepId write(const Processes& processes, const DatasetKey& key, std::uint64_t bytes) {
    ++group_;
    for (std::uint32_t i = 0; i < size_; ++i)
      registry_.open(next_message(), processes[i], {key, {group_, i, size_}, {}, matcher::Purpose::create});
    const StepId step = answers_.step;
    registry_.set_header(next_message(), processes[0], {step, std::vector<std::byte>(1000), {}});
    for (std::uint32_t i = 0; i < size_ && bytes > 0; ++i)
      registry_.need_segment(next_message(), processes[i], {step, SegmentUse::data, bytes});
    for (const ProcessId process : processes) {
      ++messages_;
      registry_.close(process, {PublishRequest{step, 0, {}}});
    }
    return step;
  }
  void close(const Processes& processes, StepId step) {
    for (const ProcessId process : processes) {
      ++messages_;
      registry_.close(process, {ReadEnd{step, {}}});
    }
  }

  std::uint32_t size_;
  bool opens_alone_;
  NoMemory memory_;
  Answers answers_;
  Registry registry_;
  Processes writers_;
  Processes readers_;
  std::uint64_t group_ = 0;
  std::size_t messages_ = 0;
};

/// Microseconds per message, for `steps` steps after `before` earlier ones.
double time_of_message(std::uint32_t processes, int before, int steps, bool opens_alone = false) {
  Run run(processes, opens_alone);
  for (int i = 0; i < before; ++i) run.step(i);
  const double begin = seconds();
  std::size_t messages = 0;
  for (int i = 0; i < steps; ++i) messages += run.step(before + i);
  return (seconds() - begin) * 1e6 / static_cast<double>(messages);
}

/// Microseconds of matcher 0 for a question of `sluice status`.
double time_of_view(std::uint32_t processes, int files) {
  Run run(processes, false);
  run.leave_unread(files);
  constexpr int questions = 50;
  std::size_t listed = 0;
  const double begin = seconds();
  for (int i = 0; i < questions; ++i) listed += run.view();
  const double time = (seconds() - begin) * 1e6 / questions;
  if (listed == 0) throw Error(NC_EINVAL, "the view has no files");
  return time;
}

}  // namespace

int main() {
  std::printf("a message to the registry, by the processes of each of two components:\n");
  for (const std::uint32_t processes : {1U, 16U, 256U, 4096U, 65536U}) {
    const int steps = processes > 4000 ? 2 : static_cast<int>(8192 / processes);
    std::printf("%10u processes %8.2f us\n", processes, time_of_message(processes, 1, steps));
  }
  std::printf("the same where each process opens for itself:\n");
  for (const std::uint32_t processes : {1U, 16U, 256U, 4096U, 16384U}) {
    const int steps = processes > 4000 ? 2 : static_cast<int>(8192 / processes);
    const double time = time_of_message(processes, 1, steps, true);
    std::printf("%10u processes %8.2f us\n", processes, time);
    // If the cost grows with the number, larger numbers would take forever.
    if (time > 100) break;
  }
  std::printf("and by the steps before it, of one process each:\n");
  for (const int before : {10, 1000, 100000})
    std::printf("%10d steps     %8.2f us\n", before, time_of_message(1, before, 2000));
  std::printf("a question of 'sluice status', by ranks of each component and unread files:\n");
  for (const auto& [processes, files] :
       {std::pair{2U, 10}, std::pair{1000U, 10}, std::pair{2U, 10000}, std::pair{1000U, 10000}})
    std::printf("%10u ranks %10d files %8.0f us\n", processes, files, time_of_view(processes, files));
  return 0;
}
