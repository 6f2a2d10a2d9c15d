#pragma once
// A run of very many processes in one process: matcher 0's registry with the tree of all matchers, and the
// messages that the processes of all nodes cause there.
//
// Real: RegistryService and Registry, the relay tree of every matcher, and the encoding of all messages.
// Simulated: the processes and what their matchers pass on for them, in the order in which clients send it.
// Links move packets within this process, so the cost of MPI is not in it. There is no staged memory.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "cached_steps.hpp"
#include "registry_service.hpp"
#include "relay_tree.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/node_map.hpp"
#include "support/heap_bytes.hpp"

namespace sluice::test {

using namespace sluice::runtime;

/// Processes are divided among the nodes in contiguous blocks.
struct RunSize {
  std::uint32_t nodes = 1;
  std::uint32_t writers = 1;
  std::uint32_t readers = 1;
};

/// What a phase of a run cost matcher 0.
struct PhaseCost {
  std::string name;
  double milliseconds = 0;       ///< processor time
  double last_milliseconds = 0;  ///< the same of the last matcher: mostly for the view
  std::uint64_t taken = 0;       ///< messages that the registry took
  std::uint64_t sent = 0;        ///< messages that the registry sent
  std::uint64_t packets_in = 0, bytes_in = 0;
  std::uint64_t packets_out = 0, bytes_out = 0;

  PhaseCost& operator+=(const PhaseCost& other) noexcept {
    milliseconds += other.milliseconds, taken += other.taken, sent += other.sent;
    last_milliseconds += other.last_milliseconds;
    packets_in += other.packets_in, bytes_in += other.bytes_in;
    packets_out += other.packets_out, bytes_out += other.bytes_out;
    return *this;
  }
};

/// A process of a component, as its matcher sees it.
struct SimulatedProcess {
  std::uint32_t rank = 0;  ///< in its component
  std::uint32_t matcher = 0;
  std::uint64_t connection = 0;
  std::uint64_t step = 0;     ///< of the last answer
  std::uint64_t answers = 0;  ///< so far
  std::uint64_t errors = 0;
  std::uint64_t views_of_step = 0;  ///< views of that step that its matcher had when the answer came
  std::vector<std::uint64_t> granted;
};

class RankWorld final : private RegistryOutlet {
 public:
  explicit RankWorld(RunSize size, FileRule rule = {"*.nc", "model", {"analysis"}})
      : size_(size),
        nodes_(hosts(size.nodes), 1),
        links_(links_within_process(size.nodes)),
        views_(size.nodes) {
    for (std::uint32_t rank = 0; rank < size.nodes; ++rank) {
      trees_.push_back(std::make_unique<RelayTree>(
          links_[rank].get(),
          RelayTree::Handlers{[this](MessageToRegistry message) {
                                ++phase_.taken;
                                service_->take(std::move(message));
                              },
                              [this, rank](MessageToMatcher message) { take(rank, message.body); },
                              [](std::uint64_t) {}}));
    }
    CoordinatorHello hello;
    hello.rules = {std::move(rule)};
    hello.components = {{"model", size.writers}, {"analysis", size.readers}};
    hello.memory_bytes = std::uint64_t{1} << 50;
    service_ =
        std::make_unique<RegistryService>(std::move(hello), nodes_, static_cast<RegistryOutlet&>(*this));
    add(writers_, size.writers);
    add(readers_, size.readers);
  }

  /// All processes say hello.
  PhaseCost connect() {
    return all_ask("connect", all(), [&](const SimulatedProcess& process) {
      Hello hello;
      hello.component = process.connection <= size_.writers ? "model" : "analysis";
      hello.process_token = process.connection;
      hello.process_id = static_cast<std::uint32_t>(process.connection);
      hello.rank = static_cast<std::int32_t>(process.rank);
      return hello;
    });
  }
  PhaseCost create(const std::string& name) {
    const std::uint64_t group = ++group_;
    return all_ask("create", writers_, [&](const SimulatedProcess& process) {
      return Open{{0, name}, member(group, process, size_.writers), "/run/" + name, Purpose::create, {}, 5};
    });
  }
  PhaseCost reopen(const std::string& name) {
    const std::uint64_t group = ++group_;
    return all_ask("open for writing", writers_, [&](const SimulatedProcess& process) {
      return Open{{0, name}, member(group, process, size_.writers), "/run/" + name, Purpose::write};
    });
  }
  /// Memory for a request table and for data, and the header of rank 0.
  PhaseCost define() {
    return phase("header, memory", [&] {
      each(writers_, [&](SimulatedProcess& process) {
        process.granted.clear();
        ask(process, SegmentRequest{process.step, SegmentUse::table, 1024, 4096});
        ask(process, SegmentRequest{process.step, SegmentUse::data, 65536, 65536});
        if (process.rank == 0)
          ask(process, HeaderRequest{process.step, std::vector<std::byte>(1000), {1, 2}});
      });
    });
  }
  PhaseCost publish() {
    return phase("publish", [&] { each(writers_, [&](SimulatedProcess& process) { publish(process); }); });
  }
  PhaseCost open(const std::string& name) {
    const std::uint64_t group = ++group_;
    return all_ask("open", readers_, [&](const SimulatedProcess& process) {
      return Open{{0, name}, member(group, process, size_.readers), "/run/" + name};
    });
  }
  /// A matcher of each node fetches data of another node ahead of its readers, as in a replayed step.
  PhaseCost fetch() {
    return phase("memory for fetched data", [&] {
      for (std::uint32_t rank = 0; rank < size_.nodes; ++rank)
        trees_[rank]->send_up(LeaseQuery{1, readers_.front().step, 1U << 20U, 1U << 20U, {}});
    });
  }
  PhaseCost close() {
    return phase("close", [&] {
      each(readers_, [&](const SimulatedProcess& process) {
        tell(process, Close{ReadEnd{process.step, {0, 0, 1, 65536, 10, 1}, {}}});
      });
    });
  }
  PhaseCost end(SimulatedProcess& process) {
    return phase("end of a process",
                 [&] { trees_[process.matcher]->send_up(ConnectionEnded{process.connection}); });
  }

  [[nodiscard]] std::vector<SimulatedProcess>& writers() noexcept { return writers_; }
  [[nodiscard]] std::vector<SimulatedProcess>& readers() noexcept { return readers_; }
  [[nodiscard]] const RegistryService& service() const noexcept { return *service_; }
  [[nodiscard]] const std::vector<std::string>& events() const noexcept { return events_; }
  /// The matchers that were told to write their parts of steps to files.
  [[nodiscard]] const std::set<std::uint32_t>& drainers() const noexcept { return drainers_; }

 private:
  static std::vector<std::uint32_t> hosts(std::uint32_t nodes) {
    std::vector<std::uint32_t> hosts(nodes);
    std::iota(hosts.begin(), hosts.end(), 0U);
    return hosts;
  }
  static double processor_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }

  void add(std::vector<SimulatedProcess>& processes, std::uint32_t count) {
    for (std::uint32_t rank = 0; rank < count; ++rank) {
      SimulatedProcess process;
      process.rank = rank;
      process.matcher = static_cast<std::uint32_t>(std::uint64_t{rank} * size_.nodes / count);
      process.connection = ++connections_;
      processes.push_back(process);
    }
  }
  [[nodiscard]] SimulatedProcess& of_connection(std::uint64_t connection) {
    return connection <= size_.writers ? writers_.at(connection - 1)
                                       : readers_.at(connection - 1 - size_.writers);
  }
  [[nodiscard]] std::vector<std::reference_wrapper<SimulatedProcess>> all() {
    std::vector<std::reference_wrapper<SimulatedProcess>> processes(writers_.begin(), writers_.end());
    processes.insert(processes.end(), readers_.begin(), readers_.end());
    return processes;
  }
  [[nodiscard]] Member member(std::uint64_t group, const SimulatedProcess& process,
                              std::uint32_t size) const {
    return {group, process.rank, size, size_.nodes > 1};
  }

  template <class Request>
  void ask(const SimulatedProcess& process, Request request) {
    trees_[process.matcher]->send_up(ClientRequest{process.connection, ++tag_, std::move(request)});
  }
  /// A request without an answer has no tag.
  template <class Request>
  void tell(const SimulatedProcess& process, Request request) {
    trees_[process.matcher]->send_up(ClientRequest{process.connection, 0, std::move(request)});
  }
  void publish(SimulatedProcess& process) {
    PublishRequest publish{process.step, 0, {1, 65536, 0, 0, 10, 0}};
    publish.pattern.requests = {process.rank + 1, 7};
    publish.extent.is_known = true;
    publish.extent.variables = 1;
    publish.extent.dimensions = {{0, process.rank, process.rank + 1}, {1, 0, 4096}};
    publish.ranges = {{0, 0, 65536, process.granted.at(1), 0}};
    publish.position = {1, 200};
    tell(process, Close{std::move(publish)});
  }

  /// The processes of a node come in any order, and those of all nodes at the same time.
  template <class Processes, class Act>
  void each(Processes&& processes, Act act) {
    std::vector<std::size_t> order(processes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random_);
    for (const std::size_t i : order) {
      SimulatedProcess& process = processes[i];
      process.matcher == 0 ? at_root([&] { act(process); }) : act(process);
    }
  }

  /// A phase in which each process sends one request.
  template <class Processes, class Make>
  PhaseCost all_ask(const std::string& name, Processes&& processes, const Make& make) {
    return phase(name, [&] {
      each(processes, [&](const SimulatedProcess& process) { ask(process, make(process)); });
    });
  }

  template <class Work>
  static void count(double& milliseconds, Work work) {
    const double begin = processor_seconds();
    work();
    milliseconds += 1e3 * (processor_seconds() - begin);
  }
  template <class Work>
  void at_root(Work work) {
    count(phase_.milliseconds, work);
  }
  PhaseCost phase(const std::string& name, const std::function<void()>& work) {
    const PeerCounters before = links_[0]->counters(PacketKind::relay);
    phase_ = {name};
    work();
    settle();
    const PeerCounters& after = links_[0]->counters(PacketKind::relay);
    phase_.packets_in = after.packets_received - before.packets_received;
    phase_.bytes_in = after.bytes_received - before.bytes_received;
    phase_.packets_out = after.packets_sent - before.packets_sent;
    phase_.bytes_out = after.bytes_sent - before.bytes_sent;
    return phase_;
  }
  /// Turns of all matchers, the lowest in the tree first, until nothing is under way.
  void settle() {
    for (bool has_happened = true; has_happened;) {
      has_happened = false;
      for (std::uint32_t rank = size_.nodes; rank-- > 0;) {
        const auto turn = [&] {
          has_happened = links_[rank]->poll() || has_happened;
          trees_[rank]->flush();
          has_happened = links_[rank]->poll() || has_happened;
          trees_[rank]->flush();
        };
        if (rank == 0) {
          at_root(turn);
        } else if (rank + 1 == size_.nodes) {
          count(phase_.last_milliseconds, turn);
        } else {
          turn();
        }
        has_happened = !links_[rank]->is_idle() || has_happened;
      }
    }
  }

  // What the matchers do with the registry's messages.
  void take(std::uint32_t matcher, MatcherBody& body) {
    if (auto* const view = std::get_if<View>(&body)) {
      views_[matcher].first = view->step;
      views_[matcher].second += view->view.has_value() ? 1U : 0U;
      if (matcher + 1 == size_.nodes && view->view) (void)last_steps_.take(std::move(*view->view));
    }
    if (const auto* const erased = std::get_if<StepOver>(&body);
        erased != nullptr && matcher + 1 == size_.nodes)
      last_steps_.forget(erased->step);
    const auto* const drain = std::get_if<MakeCopy>(&body);
    if (drain != nullptr && std::holds_alternative<DrainOrder>(drain->what)) drainers_.insert(matcher);
    auto* const answer = std::get_if<Answer>(&body);
    if (answer != nullptr && answer->connection != 0)
      take(matcher, *answer);  // 0: memory for the matcher itself
  }
  void take(std::uint32_t matcher, const Answer& answer) {
    SimulatedProcess& process = of_connection(answer.connection);
    if (process.matcher != matcher) throw Error(NC_EIO, "an answer came to another matcher");
    ++process.answers;
    if (std::holds_alternative<ErrorReply>(answer.reply)) ++process.errors;
    if (const auto* const created = std::get_if<Opened>(&answer.reply)) process.step = created->step;
    if (const auto* const opened = std::get_if<Opened>(&answer.reply)) {
      process.step = opened->step;
      process.views_of_step = views_[matcher].first == opened->step ? views_[matcher].second : 0;
    }
    const auto* const granted = std::get_if<Granted>(&answer.reply);
    if (granted != nullptr) process.granted.push_back(granted->segment);
  }

  // RegistryOutlet
  void send(MessageToMatcher&& message) override {
    ++phase_.sent;
    trees_[0]->send_down(std::move(message));
  }
  void send(std::uint32_t matcher, const GrantOrder& order) override {
    ++phase_.sent;
    trees_[0]->send_down(matcher, order);
  }
  void send(std::span<const Receiver> to, const SharedMessage& message) override {
    phase_.sent += to.size();
    trees_[0]->send_down(to, message);
  }
  void event(const std::string& text) override { events_.push_back(text); }
  void detail(const std::string& /*text*/) override {}
  void send(FilePublished /*file*/) override {}
  void take_sent(const TakeSent& /*what*/, std::function<void()> then) override { then(); }
  void do_beside(std::function<void()> work, std::function<void()> then) override {
    work();
    then();
  }
  [[nodiscard]] OfferPages* offer_pages() override { return nullptr; }

  RunSize size_;
  NodeMap nodes_;
  std::vector<std::unique_ptr<PeerLink>> links_;
  std::vector<std::unique_ptr<RelayTree>> trees_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> views_;  ///< by matcher: the last step, and how many
  CachedSteps last_steps_;                                      ///< of the last matcher
  std::unique_ptr<RegistryService> service_;
  std::vector<SimulatedProcess> writers_;
  std::vector<SimulatedProcess> readers_;
  std::vector<std::string> events_;
  std::set<std::uint32_t> drainers_;
  PhaseCost phase_;
  std::mt19937 random_{1};
  std::uint64_t connections_ = 0;
  std::uint64_t group_ = 0;
  std::uint32_t tag_ = 0;
};

/// Bytes of the registry for a file that nobody has read. Packets of matchers are gone when they are counted.
inline std::size_t bytes_of_step(std::uint32_t nodes, std::uint32_t writers) {
  RankWorld world({nodes, writers, 1});
  (void)world.connect();
  constexpr std::size_t files = 3;
  std::size_t before = 0;
  for (std::size_t i = 0; i <= files; ++i) {
    if (i == 1) before = heap_bytes();  // the first file makes what lasts
    const std::string name = "kept_" + std::to_string(i) + ".nc";
    (void)world.create(name), (void)world.define(), (void)world.publish();
  }
  return (heap_bytes() - before) / files;
}

}  // namespace sluice::test
