#pragma once
// A registry for tests: with memory that only counts, stored answers, and named processes.
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sluice/formats/error.hpp"
#include "sluice/matcher/registry.hpp"

namespace sluice::matcher::test {

inline constexpr std::uint64_t kib = 1024;
inline constexpr std::uint64_t mib = 1024 * kib;

/// By which the registry tries whether a disk has space.
inline constexpr std::uint64_t least_segment = 4096;

/// Segments as plain memory. The first bytes of a segment show what was done with it.
class PlainMemory final : public SegmentMemory {
 public:
  void create(SegmentId segment, std::uint64_t bytes) override {
    if (is_exhausted) throw Error(NC_ENO_SPACE, "the system has no memory");
    sizes[segment] = bytes;
    words[segment].resize(8);
  }
  bool create_spilled(SegmentId segment, std::uint64_t bytes, DiskRoom room) override {
    std::uint64_t on_disk = bytes;
    for (const auto& [id, size] : sizes) on_disk += is_spilled(id) ? size : 0;
    if (room == DiskRoom::beyond_reserve) on_disk += reserve_bytes;
    if (on_disk > disk_bytes) throw Error(NC_ENO_SPACE, "the disk is full");
    sizes[segment] = bytes;
    if (is_disk_slow) being_made.push_back(segment);
    return !is_disk_slow;
  }
  void create_logged(SegmentId segment, std::uint64_t bytes, const LogPlace& place) override {
    sizes[segment] = bytes;
    logged[segment] = place;
  }
  void keep_log(SegmentId segment, bool is_kept) noexcept override { kept_logs[segment] = is_kept; }
  void clear(SegmentId segment, SegmentUse use) override { cleared.push_back({segment, use}); }
  bool destroy(SegmentId segment) noexcept override {
    sizes.erase(segment);
    words.erase(segment);
    destroyed.insert(segment);
    return !is_disk_slow;
  }
  void drop_warm(MatcherPlace matcher) noexcept override { dropped.push_back(matcher); }
  std::span<const std::byte> contents(SegmentId segment) override { return words.at(segment); }
  void mark_gone(SegmentId control, std::uint32_t rank) noexcept override { gone.push_back({control, rank}); }

  struct Cleared {
    SegmentId segment;
    SegmentUse use;
  };
  struct Gone {
    SegmentId control;
    std::uint32_t rank;
  };
  bool is_exhausted = false;
  std::uint64_t disk_bytes = 0;
  std::uint64_t reserve_bytes = 0;    ///< of the disk
  bool is_disk_slow = false;          ///< reports about space on the disk come later
  std::vector<SegmentId> being_made;  ///< spilled segments that were ordered since then
  std::map<SegmentId, std::uint64_t> sizes;
  std::map<SegmentId, std::vector<std::byte>> words;
  std::set<SegmentId> destroyed;
  std::map<SegmentId, LogPlace> logged;
  std::map<SegmentId, bool> kept_logs;  ///< the last order for each log
  std::vector<Cleared> cleared;
  std::vector<MatcherPlace> dropped;
  std::vector<Gone> gone;
};

/// The answer to a request.
struct Answer {
  enum class Kind {
    none,
    created,
    opened,
    opened_file,
    described,
    granted,
    disk_freed,
    image,
    done,
    refused
  } kind = Kind::none;
  int status = 0;
  std::string text;
  StepId step = 0;
  int version = 0;
  std::size_t logs = 0;
  std::int64_t record_count = 0;
  std::size_t header_bytes = 0;
  SegmentId segment = 0;
  std::uint64_t bytes = 0;
  std::uint64_t given_back = 0;
};

class KeptAnswers final : public RegistryAnswers {
 public:
  void created(const Ticket& ticket, const Step& step) override {
    keep(ticket, Answer::Kind::created, &step);
  }
  void opened(const Ticket& ticket, const Step& step) override { keep(ticket, Answer::Kind::opened, &step); }
  void opened_file(const Ticket& ticket, const std::string& path) override {
    keep(ticket, Answer::Kind::opened_file, nullptr).text = path;
  }
  void described(const Ticket& ticket, std::uint8_t version) override {
    keep(ticket, Answer::Kind::described, nullptr).version = version;
  }
  void granted(const Ticket& ticket, const SegmentLease& segment) override {
    Answer& answer = keep(ticket, Answer::Kind::granted, nullptr);
    answer.segment = segment.id();
    answer.bytes = segment.bytes();
  }
  void disk_freed(const Ticket& ticket, std::uint64_t given_back) override {
    keep(ticket, Answer::Kind::disk_freed, nullptr).given_back = given_back;
  }
  void image_ready(const Ticket& ticket, const Step& step, const StepImage& image) override {
    Answer& answer = keep(ticket, Answer::Kind::image, &step);
    answer.segment = image.file.id();
    answer.bytes = image.bytes;
  }
  void make_image(const Step& step, const StepImage& image) override {
    images.push_back({step.id, image.file.id(), image.bytes});
  }
  void done(const Ticket& ticket) override { keep(ticket, Answer::Kind::done, nullptr); }
  void refused(const Ticket& ticket, int status, const std::string& text) override {
    Answer& answer = keep(ticket, Answer::Kind::refused, nullptr);
    answer.status = status;
    answer.text = text;
  }
  void published(const Step& step) override { ended_steps.insert(step.id); }
  void job_wanted(const std::string& component, const Step& step) override {
    jobs[component].push_back(step.id);
  }
  void drain(const Step& step) override { drains.push_back(step.id); }
  void look(const LookRequest& request) override { looks.push_back(request); }
  void erased(StepId step) override { erased_steps.insert(step); }
  void event(const std::string& text) override { events.push_back(text); }

  struct OrderedImage {
    StepId step = 0;
    SegmentId file = 0;
    std::uint64_t bytes = 0;
  };
  std::map<std::uint32_t, Answer> by_tag;
  std::vector<OrderedImage> images;                 ///< that are to be made
  std::map<std::string, std::vector<StepId>> jobs;  ///< that are wanted, by component
  std::vector<std::string> events;
  std::vector<StepId> drains;
  std::vector<LookRequest> looks;  ///< looks that have not been answered
  std::set<StepId> ended_steps;
  std::set<StepId> erased_steps;
  bool has_answered_twice = false;

 private:
  Answer& keep(const Ticket& ticket, Answer::Kind kind, const Step* step) {
    Answer& answer = by_tag[ticket.tag];
    has_answered_twice = has_answered_twice || answer.kind != Answer::Kind::none;
    answer.kind = kind;
    if (step != nullptr) {
      answer.step = step->id;
      answer.logs = step->logs.size();
      answer.record_count = step->records_for_readers();
      answer.header_bytes = step->header.size();
    }
    return answer;
  }
};

/// The registry, and short names for the actions of clients. An action returns its tag; answer(tag) is its
/// answer so far.
struct World {
  explicit World(std::vector<FileRule> rules, std::uint64_t memory_bytes = 64 * mib,
                 std::vector<ComponentSize> sizes = {})
      : World(std::move(rules), memory_bytes, default_retain_bytes(memory_bytes), std::move(sizes)) {}
  World(std::vector<FileRule> rules, std::uint64_t memory_bytes, std::uint64_t retain_bytes,
        std::vector<ComponentSize> sizes, std::uint32_t nodes = 1, std::string spill_directory = {},
        std::vector<JobReader> job_readers = {}, std::size_t most_past_files = 10'000,
        std::size_t least_folded_files = 200'000, OfferBoard* offers = nullptr, PackingChoice packing = {})
      : registry({std::move(rules),
                  std::move(sizes),
                  memory_bytes,
                  [this] { return now_ms; },
                  retain_bytes,
                  nodes,
                  std::move(spill_directory),
                  {},
                  {},
                  std::move(job_readers),
                  most_past_files,
                  least_folded_files,
                  offers,
                  packing},
                 memory, answers) {}

  std::uint64_t now_ms = 0;
  bool are_processes_idle = true;
  bool are_components_idle = false;
  PlainMemory memory;
  KeptAnswers answers;
  Registry registry;
  std::uint32_t last_tag = 0;
  std::uint32_t last_process = 0;

  ProcessId process(const std::string& component, MatcherPlace place = {}) {
    ++last_process;
    return registry.connect(component, last_process, 1000 + last_process, place);
  }
  std::vector<ProcessId> processes(const std::string& component, int n) {
    std::vector<ProcessId> ids;
    for (int i = 0; i < n; ++i) ids.push_back(process(component));
    return ids;
  }

  /// An exception counts as the answer, as in the matcher server.
  template <class Call>
  std::uint32_t ask(Call call) {
    const Ticket ticket{0, ++last_tag};
    try {
      call(ticket);
    } catch (const Error& error) {
      answers.refused(ticket, error.status(), error.what());
    }
    return ticket.tag;
  }
  std::uint32_t create(ProcessId p, const std::string& name, Member member, bool no_clobber = false,
                       std::uint8_t version = 1) {
    return ask([&](const Ticket& t) {
      registry.open(t, p, {{rule, name}, member, "/files/" + name, Purpose::create, {}, version, no_clobber});
    });
  }
  std::uint32_t inquire(ProcessId p, const std::string& name) {
    return ask([&](const Ticket& t) { registry.open(t, p, {{rule, name}, alone(), {}, Purpose::describe}); });
  }
  std::uint32_t open(ProcessId p, const std::string& name, Member member) {
    return ask([&](const Ticket& t) { registry.open(t, p, {{rule, name}, member}); });
  }
  std::uint32_t reopen(ProcessId p, const std::string& name, Member member) {
    return ask([&](const Ticket& t) { registry.open(t, p, {{rule, name}, member, {}, Purpose::write}); });
  }
  /// Opens when the file may be on disk.
  std::uint32_t open_earlier(ProcessId p, const std::string& name, bool for_writing = false) {
    Open request{{rule, name}, alone(), "/files/" + name, for_writing ? Purpose::write : Purpose::read};
    request.is_on_disk = true;
    return ask([&](const Ticket& t) { registry.open(t, p, request); });
  }
  /// Creates a step that begins with the contents of a file.
  std::uint32_t import(ProcessId p, const std::string& name) {
    Open request{{rule, name}, alone(), "/files/" + name, Purpose::create};
    request.is_import = true;
    return ask([&](const Ticket& t) { registry.open(t, p, request); });
  }
  std::uint32_t need(ProcessId p, StepId step, std::uint64_t bytes, SegmentUse use = SegmentUse::data,
                     std::uint64_t wanted_bytes = 0) {
    return ask([&](const Ticket& t) { registry.need_segment(t, p, {step, use, bytes, wanted_bytes}); });
  }
  /// Asks for memory before the first put.
  std::uint32_t need_ahead(ProcessId p, StepId step, std::uint64_t bytes) {
    return ask([&](const Ticket& t) {
      registry.need_segment(t, p, {step, SegmentUse::data, bytes, bytes, {}, true});
    });
  }
  /// The bytes of a file that is on the spill disk.
  std::uint32_t need_for_file_on_disk(ProcessId p, StepId step, std::uint64_t bytes) {
    return ask([&](const Ticket& t) {
      registry.need_segment(t, p, {step, SegmentUse::file, bytes, bytes, {}, false, true});
    });
  }
  /// Asks for space in the process's burst-buffer log.
  std::uint32_t log(ProcessId p, StepId step, std::uint64_t bytes, const std::string& path,
                    std::uint64_t offset = 4096) {
    return ask([&](const Ticket& t) {
      registry.need_segment(t, p, {step, SegmentUse::data, bytes, bytes, {path, offset}});
    });
  }
  /// Asks to wait until the disk has space. `seen`: from the answer to the last such request.
  std::uint32_t await_disk(ProcessId p, StepId step, std::uint64_t seen = 0) {
    return ask([&](const Ticket& t) {
      registry.await_disk(t, p, {step, mib, seen, "No space left on device"});
    });
  }
  std::uint32_t lease(ProcessId reader, StepId step, MatcherPlace place, const InboundSize& size,
                      std::uint64_t connection = 0) {
    return ask([&](const Ticket& t) {
      registry.lease_inbound(t, step, place, size, InboundReader{reader, connection});
    });
  }
  std::uint32_t image(ProcessId p, StepId step) {
    return ask([&](const Ticket& t) { registry.image(t, p, step); });
  }
  bool has_image(std::uint32_t tag) { return answer(tag).kind == Answer::Kind::image; }
  /// A matcher has made the image that was ordered first.
  SegmentId make_image(const DrainOutcome& outcome = {}) {
    const auto ordered = answers.images.front();
    answers.images.erase(answers.images.begin());
    registry.image_made(ordered.step, ordered.file, outcome);
    return ordered.file;
  }
  std::uint32_t remove(ProcessId p, const std::string& name) {
    return ask([&](const Ticket& t) { registry.open(t, p, {{rule, name}, {}, {}, Purpose::remove}); });
  }
  /// By the C library, as a component that only reads the file.
  std::uint32_t change_file(ProcessId p, const std::string& name, bool removes) {
    return ask([&](const Ticket& t) {
      registry.open(t, p, {{rule, name}, {}, "/files/" + name, removes ? Purpose::hide : Purpose::change});
    });
  }
  void publish(ProcessId p, StepId step, std::int64_t records = 0) {
    registry.close(p, {PublishRequest{step, records, {}}});
  }
  std::uint32_t header(ProcessId p, StepId step) {
    return ask([&](const Ticket& t) { registry.set_header(t, p, {step, std::vector<std::byte>(8), {}}); });
  }
  /// `requests`: the size of all puts so far.
  std::uint32_t sync(ProcessId p, StepId step, std::int64_t records, std::uint64_t requests = 1) {
    return ask([&](const Ticket& t) {
      registry.sync(t, p, {step, {{0, 0}, records, Fingerprint{requests, requests}}});
    });
  }
  std::uint32_t wait_for_puts(ProcessId p, StepId step, const std::string& what) {
    return ask([&](const Ticket& t) { registry.wait_for_puts(t, p, step, what); });
  }
  void close(ProcessId p, StepId step) { registry.close(p, {ReadEnd{step, {}}}); }

  const Answer& answer(std::uint32_t tag) {
    answer_looks();
    return answers.by_tag[tag];
  }
  /// Answers looks: the processes have no other threads.
  void answer_looks() {
    while (!answers.looks.empty()) {
      const LookRequest request = answers.looks.front();
      answers.looks.erase(answers.looks.begin());
      const bool is_idle = request.component.empty() ? are_processes_idle : are_components_idle;
      registry.looked(request.number, is_idle);
    }
  }
  bool is_waiting(std::uint32_t tag) { return answer(tag).kind == Answer::Kind::none; }
  bool is_created(std::uint32_t tag) { return answer(tag).kind == Answer::Kind::created; }
  bool is_opened(std::uint32_t tag) { return answer(tag).kind == Answer::Kind::opened; }
  /// The version that answered an inquiry; 0: not answered, or refused.
  int described(std::uint32_t tag) { return answer(tag).version; }
  /// The file that an open was given; empty if none.
  std::string file(std::uint32_t tag) {
    const Answer found = answer(tag);
    return found.kind == Answer::Kind::opened_file ? found.text : std::string();
  }
  bool is_granted(std::uint32_t tag) { return answer(tag).kind == Answer::Kind::granted; }
  bool is_disk_freed(std::uint32_t tag) { return answer(tag).kind == Answer::Kind::disk_freed; }
  int refusal(std::uint32_t tag) {
    return answer(tag).kind == Answer::Kind::refused ? answer(tag).status : 0;
  }

  /// Publishes a step of one process with that many bytes. Returns its id.
  StepId write(ProcessId p, const std::string& name, std::uint64_t bytes = 0) {
    const StepId step = answer(create(p, name, alone())).step;
    if (bytes > 0) need(p, step, bytes);
    publish(p, step);
    return step;
  }
  /// Opens and closes, as a reader with one process does.
  StepId read(ProcessId p, const std::string& name) {
    const StepId step = answer(open(p, name, alone())).step;
    if (step != 0) close(p, step);
    return step;
  }
  /// A group of one process.
  Member alone() { return {++next_group, 0, 1}; }
  Member member(std::uint64_t group, std::uint32_t rank, std::uint32_t size) {
    return {1000000 + group, rank, size};
  }

  std::uint64_t next_group = 0;
  std::uint32_t rule = 0;
};

/// The same; readers see the step while it is written.
inline std::vector<FileRule> one_rule(PublishAt publish_at) {
  return {{"*.nc", "model", {"analysis"}, true, publish_at}};
}

/// model writes, analysis reads.
inline std::vector<FileRule> one_rule() {
  return {{"*.nc", "model", {"analysis"}, true}};
}

}  // namespace sluice::matcher::test
