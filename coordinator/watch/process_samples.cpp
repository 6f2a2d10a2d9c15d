#include "process_samples.hpp"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <string_view>
#include <thread>
#include <vector>

#include "sluice/runtime/file_descriptor.hpp"
#include "sluice/runtime/matcher_choice.hpp"
#include "sluice/runtime/run_processes.hpp"

namespace sluice::coordinator {
namespace {

using runtime::FileDescriptor;

constexpr std::chrono::milliseconds window{60};
constexpr std::uint64_t period_ns = 100'000;  ///< of processor time between two samples
constexpr int most_samples = 24;              ///< of a thread: bounds what they cost
constexpr std::size_t most_threads = 256;
constexpr std::uint32_t stack_bytes = 128;
constexpr std::size_t ring_pages = 1;  ///< holds most_samples

std::string variable_of(const std::string& environment, const std::string& name) {
  const std::string whole = '\0' + environment;
  const std::size_t at = whole.find('\0' + name + '=');
  if (at == std::string::npos) return {};
  const std::size_t begin = at + name.size() + 2;
  return whole.substr(begin, whole.find('\0', begin) - begin);
}

std::optional<std::uint32_t> rank_of(const std::string& environment) {
  std::string text;
  return runtime::find_rank([&](const char* name) {
    text = variable_of(environment, name);
    return text.empty() ? nullptr : text.c_str();
  });
}

/// The code of a process: where its mapped files are.
class CodeMap {
 public:
  explicit CodeMap(pid_t process) {
    std::istringstream lines(runtime::text_of_process_file("/proc/" + std::to_string(process) + "/maps"));
    for (std::string line; std::getline(lines, line);) add(line);
  }
  [[nodiscard]] bool has_mpi() const {
    return std::ranges::any_of(areas_, [](const Area& area) { return area.origin == CodeOrigin::mpi; });
  }
  /// Nothing: there is no code.
  [[nodiscard]] std::optional<CodeOrigin> at(std::uint64_t address) const {
    for (const Area& area : areas_)
      if (address >= area.begin && address < area.end) return area.origin;
    return std::nullopt;
  }

 private:
  struct Area {
    std::uint64_t begin = 0, end = 0;
    CodeOrigin origin = CodeOrigin::program;
  };

  void add(const std::string& line) {
    std::istringstream words(line);
    std::string range, access, offset, device, inode, file;
    words >> range >> access >> offset >> device >> inode;
    std::getline(words >> std::ws, file);
    if (access.find('x') == std::string::npos) return;
    const std::size_t dash = range.find('-');
    if (dash == std::string::npos) return;
    constexpr int hexadecimal = 16;
    areas_.push_back({std::stoull(range.substr(0, dash), nullptr, hexadecimal),
                      std::stoull(range.substr(dash + 1), nullptr, hexadecimal), origin_of(file)});
  }

  std::vector<Area> areas_;
};

/// The samples of one thread while it runs as a user's code.
class ThreadSamples {
 public:
  explicit ThreadSamples(pid_t thread) {
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_TASK_CLOCK;
    attributes.sample_period = period_ns;
    attributes.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_STACK_USER;
    attributes.sample_stack_user = stack_bytes;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    attributes.disabled = 1;
    event_ = FileDescriptor(
        static_cast<int>(::syscall(SYS_perf_event_open, &attributes, thread, -1, -1, PERF_FLAG_FD_CLOEXEC)));
    if (!event_) return;
    page_bytes_ = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    void* const mapped =
        ::mmap(nullptr, mapped_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, event_.number(), 0);
    if (mapped == MAP_FAILED) return;
    ring_ = static_cast<std::byte*>(mapped);
    ::ioctl(event_.number(), PERF_EVENT_IOC_REFRESH, most_samples);
  }
  ~ThreadSamples() {
    if (ring_ != nullptr) ::munmap(ring_, mapped_bytes());
  }
  ThreadSamples(const ThreadSamples&) = delete;
  ThreadSamples& operator=(const ThreadSamples&) = delete;

  [[nodiscard]] bool is_permitted() const noexcept { return ring_ != nullptr; }

  struct Counts {
    int in_mpi = 0, elsewhere = 0;
  };
  /// Stops the sampling.
  [[nodiscard]] Counts counts(const CodeMap& code) const {
    Counts counts;
    if (ring_ == nullptr) return counts;
    ::ioctl(event_.number(), PERF_EVENT_IOC_DISABLE, 0);
    std::uint64_t end = 0;
    std::memcpy(&end, ring_ + offsetof(perf_event_mmap_page, data_head), sizeof end);
    for (std::uint64_t at = 0; at + sizeof(perf_event_header) <= end;) {
      const auto header = read<perf_event_header>(at);
      if (header.size < sizeof header) break;
      if (header.type == PERF_RECORD_SAMPLE) {
        const CodeOrigin origin = origin_of_sample(at + sizeof header, at + header.size, code);
        counts.in_mpi += origin == CodeOrigin::mpi ? 1 : 0;
        counts.elsewhere += origin == CodeOrigin::program ? 1 : 0;
      }
      at += header.size;
    }
    return counts;
  }

 private:
  [[nodiscard]] std::size_t mapped_bytes() const noexcept { return (ring_pages + 1) * page_bytes_; }

  /// The ring does not go round: it holds most_samples.
  template <class Value>
  [[nodiscard]] Value read(std::uint64_t at) const {
    Value value{};
    if (at + sizeof value <= ring_pages * page_bytes_)
      std::memcpy(&value, ring_ + page_bytes_ + at, sizeof value);
    return value;
  }

  /// A sample: the address of the code, the size of the stack's copy, and the copy. In code that everybody
  /// calls, the first address of other code on the stack is taken for the caller.
  [[nodiscard]] CodeOrigin origin_of_sample(std::uint64_t at, std::uint64_t end, const CodeMap& code) const {
    constexpr std::uint64_t word = sizeof(std::uint64_t);
    CodeOrigin origin = code.at(read<std::uint64_t>(at)).value_or(CodeOrigin::shared);
    const std::uint64_t copied = std::min<std::uint64_t>(read<std::uint64_t>(at + word), stack_bytes);
    const std::uint64_t stack = at + 2 * word;
    for (std::uint64_t i = 0; i < copied && stack + i < end && origin == CodeOrigin::shared; i += word)
      origin = code.at(read<std::uint64_t>(stack + i)).value_or(CodeOrigin::shared);
    return origin;
  }

  FileDescriptor event_;
  std::size_t page_bytes_ = 0;
  std::byte* ring_ = nullptr;
};

/// A process that does not run.
struct Rest {
  char state = '\0';  ///< of its threads: T, t, D or S; 0: one of them runs, or could
  std::string used;   ///< processor time, in words
  bool operator==(const Rest&) const = default;
};

struct Threads {
  std::vector<pid_t> running;  ///< those that run, or could
  Rest rest;
};

/// A stopped thread tells more than one that waits for a disk, and that more than one that sleeps.
Threads threads_of(pid_t process) {
  const std::string directory = "/proc/" + std::to_string(process);
  Threads threads;
  std::string states;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory + "/task", error), end; !error && entry != end;
       entry.increment(error)) {
    const char state = runtime::process_state(entry->path());
    states += state;
    if (state == 'R') threads.running.push_back(static_cast<pid_t>(std::stol(entry->path().filename())));
  }
  if (states.empty() || states.find_first_not_of("tTDSI") != std::string::npos) return threads;
  for (const char state : {'t', 'T', 'D', 'S'}) {
    if (states.find(state) == std::string::npos) continue;
    threads.rest.state = state;
    break;
  }
  std::istringstream words(runtime::text_of_process_file(directory + "/stat"));
  std::string facts;
  std::getline(words, facts);
  std::istringstream numbers(facts.substr(std::min(facts.rfind(')') + 1, facts.size())));
  constexpr int before_times = 11;
  std::string word;
  for (int i = 0; i < before_times; ++i) numbers >> word;
  std::string user, system;
  numbers >> user >> system;
  threads.rest.used = user + ' ' + system;
  return threads;
}

/// A process of a component.
struct Sampled {
  pid_t process = 0;
  std::string component;
  std::optional<std::uint32_t> rank;
  CodeMap code;
  Rest rest = {};
  std::vector<std::unique_ptr<ThreadSamples>> threads = {};

  [[nodiscard]] bool is_in_mpi() const {
    constexpr int least_share_percent = 90;
    ThreadSamples::Counts sum;
    for (const auto& thread : threads) {
      const ThreadSamples::Counts counts = thread->counts(code);
      sum.in_mpi += counts.in_mpi;
      sum.elsewhere += counts.elsewhere;
    }
    return sum.in_mpi > 0 && sum.in_mpi * 100 >= least_share_percent * (sum.in_mpi + sum.elsewhere);
  }
};

/// Begins to sample threads for MPI, as far as the system permits it.
class SampleBudget {
 public:
  void begin(Sampled& sampled, const std::vector<pid_t>& running) {
    if (is_used_up_ || !sampled.rank || !sampled.code.has_mpi()) return;
    for (const pid_t thread : running) {
      auto samples = std::make_unique<ThreadSamples>(thread);
      is_used_up_ = ++threads_ > most_threads || !samples->is_permitted();
      if (is_used_up_) return sampled.threads.clear();
      sampled.threads.push_back(std::move(samples));
    }
  }

 private:
  std::size_t threads_ = 0;
  bool is_used_up_ = false;
};

/// The processes of the run's components, and what they do at the begin.
std::vector<Sampled> begin_samples(const std::string& socket) {
  std::vector<Sampled> processes;
  SampleBudget budget;
  for (const pid_t process : runtime::processes_with_environment(runtime::run_mark(socket))) {
    const std::string environment =
        runtime::text_of_process_file("/proc/" + std::to_string(process) + "/environ");
    const std::string component = variable_of(environment, "SLUICE_COMPONENT");
    if (component.empty()) continue;
    Sampled sampled{process, component, rank_of(environment), CodeMap(process)};
    Threads threads = threads_of(process);
    sampled.rest = std::move(threads.rest);
    budget.begin(sampled, threads.running);
    processes.push_back(std::move(sampled));
  }
  return processes;
}

RankSets* set_of(ProcessStates& states, char state) {
  switch (state) {
    case 't':
    case 'T':
      return &states.stopped;
    case 'D':
      return &states.on_disk;
    case 'S':
      return &states.sleeping;
    default:
      return nullptr;
  }
}

/// Of a component without ranks, such as a script with its commands: what all its processes do.
class SerialComponents {
 public:
  void add(const std::string& component, char state) {
    const auto [known, is_new] = states_.emplace(component, state);
    if (is_new) return;
    const bool is_at_rest = state != '\0' && known->second != '\0';
    if (!is_at_rest) known->second = '\0';
    if (is_at_rest && state != 'S') known->second = state;  // a shell sleeps until its command has ended
  }
  void tell(ProcessStates& states) const {
    for (const auto& [component, state] : states_)
      if (RankSets* const set = set_of(states, state)) (*set)[component].insert(0);
  }

 private:
  std::map<std::string, char> states_;
};

}  // namespace

CodeOrigin origin_of(const std::string& mapped_file) {
  constexpr std::array<std::string_view, 12> of_mpi{"libmpi",   "libopen-", "libprrte",   "libpmi",
                                                    "mca_",     "libuc",    "libfabric",  "libpsm",
                                                    "libevent", "libhwloc", "libibverbs", "librdmacm"};
  constexpr std::array<std::string_view, 9> shared{"libc.",  "libc-",  "ld-linux", "libm.",    "libpthread",
                                                   "librt.", "libdl.", "libgcc_s", "libstdc++"};
  const std::string name = mapped_file.substr(mapped_file.rfind('/') + 1);
  const auto begins_name = [&](std::string_view begin) { return name.starts_with(begin); };
  if (std::ranges::any_of(of_mpi, begins_name)) return CodeOrigin::mpi;
  const bool is_shared = name == "[vdso]" || std::ranges::any_of(shared, begins_name);
  return is_shared ? CodeOrigin::shared : CodeOrigin::program;
}

ProcessStates sample_processes(const std::string& socket) {
  const std::vector<Sampled> processes = begin_samples(socket);
  ProcessStates found;
  if (processes.empty()) return found;
  std::this_thread::sleep_for(window);
  SerialComponents serial;
  for (const Sampled& process : processes) {
    const Rest now = threads_of(process.process).rest;
    const char state = now == process.rest ? now.state : '\0';
    if (!process.rank) serial.add(process.component, state);
    if (!process.rank) continue;
    if (process.is_in_mpi()) found.in_mpi[process.component].insert(*process.rank);
    if (RankSets* const set = set_of(found, state)) (*set)[process.component].insert(*process.rank);
  }
  serial.tell(found);
  return found;
}

namespace {

RankSets without_known(RankSets own, const runtime::RunView& view) {
  const auto drop = [&](const std::string& component, const auto& is_known, std::size_t unknown) {
    auto& ranks = own[component];
    std::erase_if(ranks, is_known);
    while (unknown-- > 0 && !ranks.empty()) ranks.erase(std::prev(ranks.end()));
  };
  const auto drop_listed = [&](const auto& status) {
    const auto is_listed = [&](std::uint32_t rank) {
      return std::ranges::find(status.ranks, rank) != status.ranks.end();
    };
    drop(status.component, is_listed,
         status.processes - std::min<std::size_t>(status.processes, status.ranks.size()));
  };
  for (const runtime::WaitStatus& wait : view.waits) drop_listed(wait);
  for (const matcher::CopyStatus& copy : view.copies) drop_listed(copy);
  for (const runtime::GatheringStatus& gathering : view.gatherings) {
    const bool knows_ranks = gathering.are_its_ranks && gathering.are_all_processes &&
                             gathering.present + gathering.absent.size() == gathering.size;
    const auto is_present = [&](std::uint32_t rank) {
      return knows_ranks && std::ranges::find(gathering.absent, rank) == gathering.absent.end();
    };
    drop(gathering.component, is_present, knows_ranks ? 0 : gathering.present);
  }
  std::erase_if(own, [](const auto& entry) { return entry.second.empty(); });
  return own;
}

}  // namespace

ProcessStates own_states(const ProcessStates& sampled, const runtime::RunView& view) {
  return {without_known(sampled.in_mpi, view), without_known(sampled.sleeping, view),
          without_known(sampled.on_disk, view), without_known(sampled.stopped, view)};
}

}  // namespace sluice::coordinator
