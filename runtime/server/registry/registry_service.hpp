#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "close_fence.hpp"
#include "connection_table.hpp"
#include "control_protocol.hpp"
#include "drain_stages.hpp"
#include "informed_matchers.hpp"
#include "log_packing.hpp"
#include "offer_pages.hpp"
#include "registry_outlet.hpp"
#include "segment_messages.hpp"
#include "sluice/matcher/registry.hpp"
#include "sluice/runtime/node_map.hpp"
#include "step_notes.hpp"

namespace sluice::runtime {

/// The service around the registry, at matcher 0 only. It takes the requests of processes from all matchers,
/// in order of arrival, and sends the registry's answers. One small function serves each message, each
/// request and each answer; what has a state of its own is a class of its own.
class RegistryService final : private matcher::RegistryAnswers {
 public:
  /// `nodes` and `outlet` must outlive this object.
  RegistryService(CoordinatorHello hello, const NodeMap& nodes, RegistryOutlet& outlet);

  void take(MessageToRegistry message);
  /// Registry::has_past_files and fold_past_files.
  [[nodiscard]] bool has_past_files() const { return registry_.has_past_files(); }
  void fold_past_files() { registry_.fold_past_files(); }
  /// The process that was started for it has ended.
  void component_ends(const std::string& component);
  /// All processes of the component have ended, and their last messages have been handled.
  void component_exited(const ComponentExited& exit);
  /// Of a job that has ended: the last messages of its processes have been handled.
  void take(const JobNote& job);
  /// The coordinator knows that the run is ready: publishes the steps of the former run.
  void restore_steps();
  [[nodiscard]] bool has_former_steps() const { return !notes_.former_steps().empty(); }
  /// Reports waits that look hopeless. Call it before view().
  void look_again();
  /// Looks for waits that are hopeless by now.
  void look_at_others();
  [[nodiscard]] bool is_anybody_waiting() const { return registry_.is_anybody_waiting(); }
  [[nodiscard]] StatusReport status() const;
  [[nodiscard]] RunView view(const WatchRequest& request) const { return registry_.view(request); }
  /// Call it before the run ends.
  void keep_unfinished_logs() { registry_.keep_unfinished_logs(); }
  /// Why the run cannot begin; empty when it can.
  [[nodiscard]] const std::string& start_trouble() const noexcept { return start_trouble_; }

 private:
  // Messages from matcher `from`.
  void take(std::uint32_t from, ClientRequest& request);
  void take(std::uint32_t from, GroupCall& call);
  void take(std::uint32_t from, const SegmentCalls& several);
  void take(std::uint32_t from, Closes& several);
  void serve_series(const std::function<void()>& requests);
  void take(std::uint32_t from, const ConnectionEnded& end) { end_connection({from, end.connection}); }
  void take(std::uint32_t, const TakeSent& note) {
    if (note.key == note.new_key && !note.is_link) registry_.move_file(note.key, note.path, note.new_path);
    if (note.remover == TakeSent::whoever_has_it && !note.is_link &&
        registry_.rename_written(note.key, note.new_key, note.new_path))
      return;
    if (note.remover != TakeSent::whoever_has_it || registry_.is_file_written({{}, note.key}))
      fence_.pass(note, [] {});
  }
  void take(std::uint32_t from, const FileNames& note) {
    registry_.note_file({from, note.connection}, {note.keys, note.is_closed, note.is_in_place});
  }
  void take(std::uint32_t from, const SegmentsMapped& several);
  void take(std::uint32_t from, const ViewQuery& query);
  void take(std::uint32_t from, const RoundDone& done);
  void take(std::uint32_t from, const LeaseQuery& query);
  void take(std::uint32_t from, const GetWaits& note);
  void take(std::uint32_t from, CopyNote& note) { drains_.take(from, note); }
  void take(std::uint32_t /*from*/, const SpillDone& done) {
    if (done.segment == 0) return void(start_trouble_ = done.trouble);
    done.is_gone ? registry_.spill_gone(done.segment) : registry_.spill_made(done.segment, done.trouble);
  }
  void take(std::uint32_t /*from*/, const Looked& looked);
  void take(std::uint32_t /*from*/, const EventNotice& notice) {
    notice.is_detail ? detail(notice.text) : event(notice.text);
  }
  void take(std::uint32_t from, MatcherStatus& status) { counters_[from] = std::move(status); }

  void greet(const ConnectionId& id, const Hello& hello);

  // Requests of a process
  struct Requester {
    matcher::Ticket ticket;
    matcher::ProcessId process{};
  };
  template <class Request, class Work>
  void attempt(const Requester& from, const Work& work);
  template <class Request>
  void serve_or_refuse(const Requester& from, Request& request);
  void serve(const Requester& from, const Open& open);
  void serve(const Requester& from, const SegmentRequest& segment) {
    registry_.need_segment(from.ticket, from.process, segment);
  }
  void serve(const Requester& from, DiskRequest& disk) {
    registry_.await_disk(from.ticket, from.process, std::move(disk));
  }
  void serve(const Requester& from, HeaderRequest& header) {
    registry_.set_header(from.ticket, from.process, std::move(header));
  }
  void serve(const Requester& from, const SyncRequest& sync) {
    registry_.sync(from.ticket, from.process, sync);
  }
  void serve(const Requester& from, const ListRequest& list);
  void serve(const Requester& from, const WatchRequest& watch) { answer(from.ticket, registry_.view(watch)); }
  void serve(const Requester& from, Close& close) { registry_.close(from.process, std::move(close)); }
  void serve(const Requester& from, const Note& note) { registry_.note(from.process, note); }
  void serve(const Requester& /*from*/, const Hello& /*hello*/) {}  // greet has it

  template <class Request>
  void serve_behind(const TakeSent& closes, const Requester& from, const Request& request);
  void serve_now(const Requester& from, const Open& open);
  void serve_now(const Requester& from, const ListRequest& list) { tell_list(from.ticket, list); }
  void call_all(std::uint32_t from, GroupCall call);
  [[nodiscard]] matcher::WrittenFile file_before(const Requester& from, const Open& open);
  [[nodiscard]] bool is_file_in_memory(const Requester& from, const Open& create) const;
  void tell_list(const matcher::Ticket& ticket, const ListRequest& request);
  void tell_held_lists();
  /// Throws Error(NC_EPERM) when another matcher has the file that one of the matcher's processes writes.
  void check_file_is_free(std::uint32_t matcher, const Open& create);
  void note_put_in_place(const Open& create);
  void end_connection(const ConnectionId& id);
  [[nodiscard]] std::optional<matcher::InboundReader> inbound_reader(const LeaseReader& reader) const;
  void tell_news();
  void tell_of_waits();
  void tell_published();
  void order_looks();
  [[nodiscard]] const matcher::Step& step_of_query(std::uint32_t from, const ViewQuery& query);
  [[nodiscard]] bool is_writer(const matcher::Ticket& ticket, const matcher::Step& step) const;
  [[nodiscard]] Opened opened_reply(const matcher::Step& step, bool writes) const;
  void answer(const matcher::Ticket& ticket, Reply reply);
  /// An answer that all members of a group get.
  struct SharedReply {
    matcher::StepId step = 0;  ///< 0: none yet
    std::uint64_t revision = 0;
    SharedMessage message;
  };
  void answer(const matcher::Ticket& ticket, const SharedReply& reply) {
    const Receiver receiver{ticket.matcher, ticket.tag, ticket.connection};
    outlet_.send(std::span(&receiver, 1), reply.message);
  }
  static void for_each_matcher(std::span<const matcher::Ticket> tickets,
                               const std::function<void(std::span<const matcher::Ticket>)>& take);
  void answer_further(std::span<const matcher::Ticket> tickets, const SharedReply* reply,
                      const std::function<void(const matcher::Ticket&)>& answer_one);

  // matcher::RegistryAnswers
  void created(const matcher::Ticket& ticket, const matcher::Step& step) override;
  void created_all(std::span<const matcher::Ticket> tickets, const matcher::Step& step) override;
  void opened(const matcher::Ticket& ticket, const matcher::Step& step) override;
  void opened_all(std::span<const matcher::Ticket> tickets, const matcher::Step& step) override;
  void opened_file(const matcher::Ticket& ticket, const std::string& path) override;
  void described(const matcher::Ticket& ticket, std::uint8_t version) override;
  void granted(const matcher::Ticket& ticket, const matcher::SegmentLease& segment) override;
  void disk_freed(const matcher::Ticket& ticket, std::uint64_t given_back) override;
  void image_ready(const matcher::Ticket& ticket, const matcher::Step& step,
                   const matcher::StepImage& image) override;
  void make_image(const matcher::Step& step, const matcher::StepImage& image) override;
  void done(const matcher::Ticket& ticket) override;
  void refused(const matcher::Ticket& ticket, int status, const std::string& text) override;
  void begun(const matcher::Step& step) override {
    notes_.begun(step);
    informed_.tell_outdated(step);
  }
  void published(const matcher::Step& step) override;
  void read(const matcher::Step& step, const std::string& reader) override { notes_.read(step, reader); }
  void on_disk(const matcher::Step& step, const std::string& file) override { notes_.on_disk(step, file); }
  /// The matcher gives up what a killed process was writing by the C library.
  void given_up(const matcher::Step& step) override {
    if (!informed_.matcher_with_file(step.id)) notes_.given_up(step);
  }
  void removed(const matcher::DatasetKey& key) override { notes_.removed(key); }
  void job_wanted(const std::string& component, const matcher::Step& step) override;
  void drain(const matcher::Step& step) override { drains_.add(step.id); }
  void look(const matcher::LookRequest& request) override { looks_.push_back(request); }
  void erased(matcher::StepId step) override;
  void event(const std::string& text) override { outlet_.event(text); }
  void detail(const std::string& text) override { outlet_.detail(text); }

  const NodeMap& nodes_;
  RegistryOutlet& outlet_;
  std::vector<bool> is_written_in_place_;   ///< by rule
  std::set<std::uint32_t> put_in_place_;    ///< other rules with such files
  std::vector<matcher::StepId> published_;  ///< steps to announce
  /// A request for files that are published later.
  struct HeldList {
    matcher::Ticket ticket;
    ListRequest request;
  };
  std::vector<HeldList> held_lists_;
  std::vector<matcher::LookRequest> looks_;  ///< looks to order
  ConnectionTable connections_;
  SharedReply newest_created_;                       ///< the last answer to a create
  SharedReply newest_opened_;                        ///< the last answer to readers of a published step
  std::vector<Receiver> receivers_;                  ///< room for those of one answer
  std::map<std::uint32_t, MatcherStatus> counters_;  ///< by rank
  InformedMatchers informed_;
  CloseFence fence_;
  DrainStages drains_;
  StepNotes notes_;  ///< the record of steps
  SegmentMessages segments_;
  LogPackingOfMessages packing_;
  std::string start_trouble_;   ///< of one node; the other nodes' troubles are alike
  bool is_ending_ = false;      ///< nobody is left to receive messages
  matcher::Registry registry_;  ///< last: its destructor reports the steps that it erases

 public:
  ~RegistryService() override;
  RegistryService(const RegistryService&) = delete;
  RegistryService& operator=(const RegistryService&) = delete;
};

}  // namespace sluice::runtime
