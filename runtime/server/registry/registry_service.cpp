#include "registry_service.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <type_traits>
#include <utility>

#include "kept_file.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/matcher/process_table.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::runtime {

using matcher::Ticket;

namespace {

std::uint64_t now_ms() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

std::vector<bool> rules_in_place(const std::vector<matcher::FileRule>& rules) {
  std::vector<bool> in_place;
  for (const matcher::FileRule& rule : rules) in_place.push_back(matcher::is_written_in_place(rule.through));
  return in_place;
}

matcher::RegistryOptions registry_options(CoordinatorHello hello, const NodeMap& nodes,
                                          matcher::OfferBoard* offers, const matcher::LogPacking& packing) {
  matcher::RegistryOptions options{
      std::move(hello.rules),
      std::move(hello.components),
      hello.memory_bytes,
      now_ms,
      hello.retain_bytes,
      nodes.nodes(),
      std::move(hello.spill_directory),
      matcher::warm_shares(hello.prewarm_bytes, static_cast<std::uint32_t>(nodes.matchers_of(0).size())),
      std::move(hello.directory),
      std::move(hello.job_readers)};
  options.offers = offers;
  options.packing.packing = &packing;
  return options;
}

}  // namespace

RegistryService::RegistryService(CoordinatorHello hello, const NodeMap& nodes, RegistryOutlet& outlet)
    : nodes_(nodes),
      outlet_(outlet),
      is_written_in_place_(rules_in_place(hello.rules)),
      informed_(nodes, outlet),
      fence_(outlet),
      drains_({registry_, nodes, informed_, outlet}, hello.rules),
      notes_(hello.step_record, hello.rules, outlet),
      segments_(nodes, outlet, notes_),
      registry_(registry_options(std::move(hello), nodes, outlet.offer_pages(), packing_), segments_, *this) {
  if (OfferPages* const pages = outlet.offer_pages())
    pages->find_connections_by(
        [this](matcher::ProcessId process) { return connections_.of_process(registry_rank, process); });
}

RegistryService::~RegistryService() {
  is_ending_ = true;
  segments_.stop();
}

void RegistryService::component_ends(const std::string& component) {
  registry_.component_ends(component);
  tell_news();
}

void RegistryService::component_exited(const ComponentExited& exit) {
  exit.starts_again ? registry_.component_restarts(exit.component, exit.reason)
                    : registry_.component_exited(exit.component, exit.reason);
  if (exit.reason == matcher::well_ended) notes_.writer_done(exit.component);
  connections_.remove_of(exit.component);
  tell_news();
}

void RegistryService::restore_steps() {
  for (const matcher::FormerCount& former : notes_.former_counts()) registry_.go_on_counting(former);
  for (const matcher::FormerStep& former : notes_.former_steps()) (void)registry_.restore(former);
  tell_news();
}

void RegistryService::take(const JobNote& job) {
  switch (job.state) {
    case JobNote::State::begun:
      return registry_.job_begun(job.component, job.step);
    case JobNote::State::done:
      registry_.job_done(job.component, job.step);
      break;
    case JobNote::State::ended:
      registry_.job_ended(job.component, job.step);
  }
  tell_news();
}

StatusReport RegistryService::status() const {
  StatusReport report = registry_.status();
  for (const auto& [rank, counters] : counters_) report.matchers.push_back(counters);
  return report;
}

// Messages from matchers

void RegistryService::take(MessageToRegistry message) {
  std::visit([&](auto& body) { take(message.matcher, body); }, message.body);
  tell_news();
}

void RegistryService::take(std::uint32_t from, ClientRequest& request) {
  const ConnectionId id{from, request.connection};
  if (const auto* const hello = std::get_if<Hello>(&request.request)) return greet(id, *hello);
  const Connection* const found = connections_.find(id);
  if (found == nullptr) return;  // its component has exited meanwhile
  registry_.note_act(found->process);
  const Requester requester{{request.connection, request.tag, from}, found->process};
  std::visit([&](auto& body) { serve_or_refuse(requester, body); }, request.request);
}

void RegistryService::take(std::uint32_t from, GroupCall& call) {
  const Open& open = call.call;
  for (const GroupCall::Caller& caller : call.callers) {
    const Connection* const found = connections_.find({from, caller.connection});
    if (found == nullptr || open.purpose != Purpose::read) continue;
    const std::string writer = registry_.may_be_closed_by({found->process, open.key, true});
    if (writer.empty()) break;  // those of one group are of one component
    return fence_.pass({writer, open.path}, [this, from, call] {
      serve_series([&] {
        call_all(from, call);
        tell_news();
      });
    });
  }
  call_all(from, std::move(call));
}

void RegistryService::call_all(std::uint32_t from, GroupCall call) {
  std::vector<matcher::Registry::Caller> callers;
  callers.reserve(call.callers.size());
  const bool is_create = call.call.purpose == Purpose::create;
  ConnectionTable::Walk connections = connections_.walk(from);
  for (const GroupCall::Caller& caller : call.callers) {
    const Connection* const found = connections.find(caller.connection);
    if (found == nullptr) continue;
    const Requester requester{{caller.connection, caller.tag, from}, found->process};
    if (is_create && found->is_for_file) {
      call.call.member.rank = caller.rank;
      serve_or_refuse(requester, call.call);
      continue;
    }
    callers.push_back({requester.ticket, requester.process, caller.rank});
    registry_.expect(found->process);
    registry_.note_act(found->process);
  }
  serve_series([&] {
    const auto follows = is_create ? matcher::WrittenFile{} : registry_.closed_file(call.call.key);
    registry_.open(callers, std::move(call.call), follows);
  });
}

void RegistryService::take(std::uint32_t from, const SegmentCalls& several) {
  const auto serve_all = [&] {
    std::vector<matcher::Registry::Caller> callers;
    for (const auto& [request, senders] : several.calls) {
      callers.clear();
      callers.reserve(senders.size());
      ConnectionTable::Walk connections = connections_.walk(from);
      for (const auto& [connection, tag] : senders) {
        const Connection* const found = connections.find(connection);
        if (found == nullptr) continue;
        callers.push_back({{connection, tag, from}, found->process});
        registry_.expect(found->process);
      }
      registry_.need_segments(callers, request);
    }
  };
  serve_series([&] { registry_.in_series(serve_all); });
}

/// An error in what follows from a series concerns others than its senders.
void RegistryService::serve_series(const std::function<void()>& requests) {
  try {
    requests();
  } catch (const std::exception& error) {
    event(error.what());
  }
}

void RegistryService::take(std::uint32_t from, Closes& several) {
  std::vector<matcher::ProcessId> processes;
  processes.reserve(several.requests.size());
  ConnectionTable::Walk connections = connections_.walk(from);
  for (const auto& one : several.requests) {
    const Connection* const found = connections.find(one.connection);
    processes.push_back(found == nullptr ? matcher::ProcessId{} : found->process);
  }
  // Each request needs much, so what all of them need would not stay in the cache.
  constexpr std::size_t processes_ahead = 8, logs_ahead = 4;
  const auto expect = [&](std::size_t i) {
    if (i + processes_ahead < processes.size()) registry_.expect(processes[i + processes_ahead]);
    if (i + logs_ahead < processes.size())
      registry_.expect_close(processes[i + logs_ahead], several.requests[i + logs_ahead].request.step());
  };
  const auto serve_all = [&] {
    for (std::size_t i = 0; i < std::min(processes_ahead, processes.size()); ++i)
      registry_.expect(processes[i]);
    for (std::size_t i = 0; i < processes.size(); ++i) {
      expect(i);
      auto& one = several.requests[i];
      if (processes[i] == matcher::ProcessId{}) continue;
      serve_or_refuse({{one.connection, one.tag, from}, processes[i]}, one.request);
    }
  };
  serve_series([&] { registry_.in_series(serve_all); });
}

void RegistryService::take(std::uint32_t from, const SegmentsMapped& several) {
  for (const SegmentsMapped::One& note : several.notes) {
    if (const Connection* const found = connections_.find({from, note.connection}))
      registry_.pool(matcher::node_of(note.segment)).note_mapped(note.segment, found->process);
  }
}

void RegistryService::take(std::uint32_t from, const RoundDone& done) {
  throw Error(NC_EIO, "matcher " + std::to_string(from) + " tells the registry that round " +
                          std::to_string(done.round) + " is done; only relays may end a round");
}

/// A process that the registry does not know has lost its connection.
void RegistryService::greet(const ConnectionId& id, const Hello& hello) {
  try {
    const auto process =
        registry_.connect(hello.component, hello.process_token, hello.process_id, nodes_.place_of(id.matcher),
                          hello.is_child_of_component ? matcher::Registry::StartedBy::component
                                                      : matcher::Registry::StartedBy::run,
                          hello.rank);
    const bool is_for_file =
        hello.is_for_file || registry_.has_other_matcher(process, nodes_.place_of(id.matcher));
    if (is_for_file) registry_.begin_file(process, {id.matcher, id.connection});
    connections_.add(id, process, hello.component, is_for_file);
  } catch (const Error& error) {
    end_connection(id);
    outlet_.send_to(id.matcher, HangUp{id.connection, error.what()});
  }
}

// Requests of processes

/// An error is the answer. Where nobody waits for one, it is an event.
template <class Request, class Work>
void RegistryService::attempt(const Requester& from, const Work& work) {
  try {
    work();
  } catch (const std::exception& error) {  // also of numbers that no process of ours would send
    const auto* const known = dynamic_cast<const Error*>(&error);
    if (from.ticket.tag != 0)
      return refused(from.ticket, known == nullptr ? NC_EIO : known->status(), error.what());
    event("connection " + std::to_string(from.ticket.connection) + ": " + std::string(request_name<Request>) +
          ": " + error.what());
  }
}

template <class Request>
void RegistryService::serve_or_refuse(const Requester& from, Request& request) {
  attempt<Request>(from, [&] { serve(from, request); });
}

void RegistryService::tell_list(const Ticket& ticket, const ListRequest& request) {
  Listing listing = registry_.list(request);
  if (request.newer_than && listing.files.empty()) return held_lists_.push_back({ticket, request});
  for (PublishedFile& file : listing.files) {
    if (!request.has_sizes || file.step == 0) continue;
    const matcher::Step& step = registry_.step(file.step);
    if (step.file_bytes) {
      file.bytes = *step.file_bytes;
      continue;
    }
    matcher::StepView view;
    view.header = step.header;
    view.name = step.name;
    const KeptFile kept = kept_file(view, static_cast<formats::Version>(step.version), step.record_count, {});
    file.bytes = static_cast<std::uint64_t>(kept.size_bytes());
  }
  answer(ticket, std::move(listing));
}

void RegistryService::tell_held_lists() {
  for (const HeldList& held : std::exchange(held_lists_, {})) {
    if (connections_.find({held.ticket.matcher, held.ticket.connection}) != nullptr)
      tell_list(held.ticket, held.request);
  }
}

/// Each would write a file of its own, and the last one would be taken for the whole. On disk, it is one
/// file, and what is in memory before or after that waits (has_to_change_place).
void RegistryService::check_file_is_free(std::uint32_t matcher, const Open& create) {
  const matcher::StepId newest = informed_.newest_file(create.key);
  if (newest == 0 || informed_.matcher_with_file(newest) == matcher) return;
  const matcher::Step& step = registry_.step(newest);
  if (step.is_in_files || create.is_in_place) return;
  if (step.state != matcher::StepState::in_progress) return;
  const std::string text =
      "'" + step.name +
      "' is written by the C library (or MPI-IO) in processes of different nodes: only those of one node can "
      "write one file in memory. Give the rule 'through: file', let one process write it, or use PnetCDF";
  event(text);
  throw Error(NC_EPERM, text);
}

/// It is told once a rule.
void RegistryService::note_put_in_place(const Open& create) {
  if (!put_in_place_.insert(create.key.rule).second) return;
  event("'" + create.path +
        "' is written by MPI-IO, and this run has several matchers or nodes, or a link leads to it and no "
        "rule covers it: such files are written on the disk, and read there when they are closed, as with "
        "'through: file'. With one node and 'matchers: 1', files of MPI-IO stay in memory");
}

bool RegistryService::is_file_in_memory(const Requester& from, const Open& create) const {
  const Connection* const connection = connections_.find({from.ticket.matcher, from.ticket.connection});
  return connection != nullptr && connection->is_for_file && !create.is_in_place &&
         !is_written_in_place_.at(create.key.rule);
}

/// What was closed before comes first.
void RegistryService::serve(const Requester& from, const Open& open) {
  if (open.taken.step != 0 || open.is_by_mere_reader())
    return registry_.open(from.ticket, from.process, open);
  const bool is_create = open.purpose == Purpose::create;
  if (is_create && !is_file_in_memory(from, open)) return serve_now(from, open);
  const bool is_removal = open.purpose == Purpose::remove;
  const bool waits = !is_create && !is_removal && !open.is_look();
  const matcher::Registry::Use use{
      from.process, open.key, waits, {from.ticket.matcher, from.ticket.connection}};
  const std::string writer = registry_.may_be_closed_by(use);
  // A rename ends with a removal, and a link with a look. Whoever sees its end may use both names.
  const bool ends_naming = is_removal || open.which == Open::Which::growing;
  if (writer.empty() && (!ends_naming || fence_.is_idle())) return serve_now(from, open);
  const Connection* const found = connections_.find({from.ticket.matcher, from.ticket.connection});
  const bool is_own = found != nullptr && connections_.component_name(*found) == writer;
  const bool removes = is_own && (is_removal || (is_create && open.is_on_disk));
  Open behind = open;
  behind.is_on_disk = behind.is_on_disk || (removes && registry_.is_file_written(use));
  serve_behind({writer, open.path, open.key, removes ? from.ticket.matcher : TakeSent::nobody}, from, behind);
}

void RegistryService::serve_now(const Requester& from, const Open& open) {
  const bool looks = open.purpose == Purpose::read && open.which == Open::Which::growing;
  const auto elsewhere = looks ? registry_.file_elsewhere(from.process, open.key) : matcher::WrittenFile{};
  if (elsewhere.connection != 0)
    return answer(from.ticket, ImageReady{0, 0, 0, FileSource{elsewhere.matcher, 0, elsewhere.connection}});
  registry_.open(from.ticket, from.process, open, file_before(from, open));
}

/// Of its creates, a matcher knows itself which of its files come first.
matcher::WrittenFile RegistryService::file_before(const Requester& from, const Open& open) {
  const bool is_create = open.purpose == Purpose::create;
  if (open.is_in_place && !is_written_in_place_.at(open.key.rule)) note_put_in_place(open);
  if (is_create && !is_file_in_memory(from, open)) return {};
  const matcher::WrittenFile closed = registry_.closed_file(open.key);
  if (!is_create || (closed.connection != 0 && closed.matcher != from.ticket.matcher)) return closed;
  check_file_is_free(from.ticket.matcher, open);
  return {};
}

template <class Request>
void RegistryService::serve_behind(const TakeSent& closes, const Requester& from, const Request& request) {
  fence_.pass(closes, [this, from, request] {
    if (connections_.find({from.ticket.matcher, from.ticket.connection}) == nullptr) return;
    serve_series([&] {
      attempt<Request>(from, [&] { serve_now(from, request); });
      tell_news();
    });
  });
}

/// A list for one who waits for files has what is published later.
void RegistryService::serve(const Requester& from, const ListRequest& list) {
  const bool may_lack_any = !list.after && !list.newer_than && list.directory != matcher::no_directory;
  if (!may_lack_any || !registry_.is_any_written()) return serve_now(from, list);
  serve_behind({{}, list.directory}, from, list);
}

/// What the processes have sent or closed before they fell asleep comes first: it may end the wait.
void RegistryService::take(std::uint32_t /*from*/, const Looked& looked) {
  if (!looked.is_nobody_able) return registry_.looked(looked.number, false);
  fence_.pass({{}, "/"}, [this, number = looked.number] { registry_.looked(number, true); });
}

void RegistryService::end_connection(const ConnectionId& id) {
  const auto ended = connections_.remove(id);
  if (!ended) return;
  ended->is_for_file ? registry_.end_file(ended->process, {id.matcher, id.connection})
                     : registry_.disconnect(ended->process, id.connection);
}

void RegistryService::take(std::uint32_t from, const GetWaits& note) {
  const Ticket ticket{note.connection, note.tag, from};
  if (note.is_over) return registry_.end_get_wait(ticket);
  const Connection* const found = connections_.find({from, note.connection});
  if (found == nullptr) return;
  try {
    registry_.wait_for_puts(ticket, found->process, note.step, note.text);
  } catch (const Error& error) {
    refused(ticket, error.status(), error.what());
  }
}

// Views

void RegistryService::take(std::uint32_t from, const ViewQuery& query) {
  try {
    informed_.tell(from, query.query, step_of_query(from, query));
  } catch (const Error& error) {
    outlet_.send_to(from, View{query.query, query.step, {}, ErrorReply{error.status(), error.what()}});
  }
}

const matcher::Step& RegistryService::step_of_query(std::uint32_t from, const ViewQuery& query) {
  if (query.connection == 0) return registry_.step(query.step);
  const Connection* const found = connections_.find({from, query.connection});
  if (found == nullptr) throw Error(NC_EIO, "this connection has ended");
  return registry_.step_for_get(found->process, query.step);
}

/// Empty when the connection has ended.
std::optional<matcher::InboundReader> RegistryService::inbound_reader(const LeaseReader& reader) const {
  const Connection* const found = connections_.find({reader.matcher, reader.connection});
  if (found == nullptr) return std::nullopt;
  return matcher::InboundReader{found->process, reader.connection};
}

void RegistryService::take(std::uint32_t from, const LeaseQuery& query) {
  const auto reader = query.reader ? inbound_reader(*query.reader) : std::nullopt;
  if (query.query == 0) {
    if (reader) registry_.join_inbound_wait(query.step, nodes_.place_of(from), *reader);
    return;
  }
  const Ticket ticket{LeaseQuery::connection, query.query, from};
  try {
    informed_.note_fetch(from, registry_.step(query.step));
    const bool is_ahead = !query.reader;
    registry_.lease_inbound(ticket, query.step, nodes_.place_of(from),
                            {query.bytes, query.wanted_bytes, is_ahead}, reader);
  } catch (const Error& error) {
    refused(ticket, error.status(), error.what());
  }
}

/// Sends what the registry reported during a call, when it could not be called back.
void RegistryService::tell_news() {
  if (!published_.empty()) tell_held_lists();
  tell_published();
  drains_.start_added();
  order_looks();
  tell_of_waits();
}

/// Who waits for a publication or a close must hear of it at once.
void RegistryService::tell_of_waits() {
  OfferPages* const pages = outlet_.offer_pages();
  if (pages == nullptr) return;
  pages->set_quiet(held_lists_.empty() && !registry_.is_anybody_waiting());
}

void RegistryService::order_looks() {
  for (matcher::LookRequest& request : std::exchange(looks_, {})) {
    const std::uint32_t to = nodes_.rank_of({request.node, request.index});
    outlet_.send_to(to, Look{std::move(request)});
  }
}

void RegistryService::look_again() {
  registry_.look_again();
  tell_news();
}

void RegistryService::look_at_others() {
  registry_.look_at_others();
  tell_news();
}

void RegistryService::tell_published() {
  for (const matcher::StepId id : std::exchange(published_, {})) {
    try {
      informed_.announce(registry_.step(id));
      registry_.make_images_ahead(id);
    } catch (const Error&) {
      // The step has ended already.
    }
  }
}

// The registry's answers

void RegistryService::answer(const Ticket& ticket, Reply reply) {
  outlet_.send_to(ticket.matcher, Answer{ticket.connection, ticket.tag, std::move(reply)});
}

void RegistryService::job_wanted(const std::string& component, const matcher::Step& step) {
  outlet_.send(FilePublished{component, step.id, step.path, step.number_in_rule});
}

void RegistryService::created(const Ticket& ticket, const matcher::Step& step) {
  const matcher::SegmentId control = step.control.empty() ? 0 : step.control.id();
  const Connection* const connection = connections_.find({ticket.matcher, ticket.connection});
  if (connection != nullptr && connection->is_for_file && !is_written_in_place_.at(step.key.rule)) {
    informed_.note_file(ticket.matcher, step);
  }
  begun(step);
  Opened reply;
  reply.step = step.id;
  reply.control = control;
  reply.publish_at = step.publish_at;
  if (ticket.matcher == registry_rank) return answer(ticket, std::move(reply));
  if (newest_created_.step != step.id) newest_created_ = {step.id, 0, share(Answer{0, 0, std::move(reply)})};
  answer(ticket, newest_created_);
}

void RegistryService::created_all(std::span<const Ticket> tickets, const matcher::Step& step) {
  for_each_matcher(tickets, [&](std::span<const Ticket> of_matcher) {
    created(of_matcher.front(), step);
    // A file that the process writes by the C library has a connection of its own.
    const auto matcher = of_matcher.front().matcher;
    const bool may_share = matcher != registry_rank && !informed_.matcher_with_file(step.id);
    answer_further(of_matcher.subspan(1), may_share ? &newest_created_ : nullptr,
                   [&](const Ticket& ticket) { created(ticket, step); });
  });
}

void RegistryService::opened_all(std::span<const Ticket> tickets, const matcher::Step& step) {
  for_each_matcher(tickets, [&](std::span<const Ticket> of_matcher) {
    opened(of_matcher.front(), step);
    const bool may_share = of_matcher.front().matcher != registry_rank && step.writers == nullptr &&
                           step.state == matcher::StepState::published;
    answer_further(of_matcher.subspan(1), may_share ? &newest_opened_ : nullptr,
                   [&](const Ticket& ticket) { opened(ticket, step); });
  });
}

/// Calls `take` with the tickets of each matcher.
void RegistryService::for_each_matcher(std::span<const Ticket> tickets,
                                       const std::function<void(std::span<const Ticket>)>& take) {
  while (!tickets.empty()) {
    const auto end = std::ranges::find_if(
        tickets, [&](const Ticket& ticket) { return ticket.matcher != tickets.front().matcher; });
    const auto count = static_cast<std::size_t>(end - tickets.begin());
    take(tickets.first(count));
    tickets = tickets.subspan(count);
  }
}

/// Answers as the first one of the matcher was answered, or each by itself.
void RegistryService::answer_further(std::span<const Ticket> tickets, const SharedReply* reply,
                                     const std::function<void(const Ticket&)>& answer_one) {
  if (reply == nullptr) std::ranges::for_each(tickets, answer_one);
  if (reply == nullptr || tickets.empty()) return;
  receivers_.clear();
  for (const Ticket& ticket : tickets) receivers_.push_back({ticket.matcher, ticket.tag, ticket.connection});
  outlet_.send(receivers_, reply->message);
}

/// The writer of a stream in files makes another file for its next step, so a second name keeps this one.
void RegistryService::published(const matcher::Step& step) {
  notes_.published(step);
  informed_.tell_outdated(step);
  published_.push_back(step.id);
  if (!step.is_in_files || step.file.empty() || step.file == step.path) return;
  (void)::unlink(step.file.c_str());  // of an earlier run
  if (::link(step.path.c_str(), step.file.c_str()) != 0)
    outlet_.event(IoError(NC_EIO, errno, step.file, "create").what());
}

bool RegistryService::is_writer(const Ticket& ticket, const matcher::Step& step) const {
  if (step.writers == nullptr) return false;
  const Connection* const connection = connections_.find({ticket.matcher, ticket.connection});
  if (connection == nullptr) return false;
  if (registry_.is_writing(connection->process, step.id)) return true;
  return step.writers->component->name == connections_.component_name(*connection) &&
         std::ranges::any_of(step.writers->members, [&](const auto& member) {
           return member.second.process == connection->process;
         });
}

/// The header and the log positions go with the view, once to each matcher, which adds them to the answer.
void RegistryService::opened(const Ticket& ticket, const matcher::Step& step) {
  informed_.tell(ticket.matcher, 0, step);
  const bool writes = is_writer(ticket, step);
  const bool may_share =
      ticket.matcher != registry_rank && !writes && step.state == matcher::StepState::published;
  if (may_share) {
    const bool is_known = newest_opened_.step == step.id && newest_opened_.revision == step.revision;
    if (!is_known) newest_opened_ = {step.id, step.revision, share(Answer{0, 0, opened_reply(step, writes)})};
    return answer(ticket, newest_opened_);
  }
  if (writes) begun(step);
  answer(ticket, opened_reply(step, writes));
}

Opened RegistryService::opened_reply(const matcher::Step& step, bool writes) const {
  Opened reply;
  reply.step = step.id;
  reply.version = step.version;
  reply.record_count = step.records_for_readers();
  reply.pattern = step.pattern;
  reply.publish_at = step.publish_at;
  reply.origin = step.origin;
  reply.path = step.data_path();
  reply.is_in_files = step.is_in_files;
  if (!writes) reply.stream_number = step.stream_number;
  if (!step.control.empty() && writes) reply.control = step.control.id();
  reply.stays = writes ? step.is_continued : registry_.stays(step);
  if (writes) reply.base = step.base;
  return reply;
}

void RegistryService::opened_file(const Ticket& ticket, const std::string& path) {
  Opened reply;
  reply.path = path;
  answer(ticket, std::move(reply));
}

void RegistryService::described(const Ticket& ticket, std::uint8_t version) {
  Opened reply;
  reply.version = version;
  answer(ticket, std::move(reply));
}

void RegistryService::granted(const Ticket& ticket, const matcher::SegmentLease& segment) {
  outlet_.send(ticket.matcher, GrantSeries::Grant{ticket.connection, ticket.tag, segment.id()});
}

void RegistryService::disk_freed(const Ticket& ticket, std::uint64_t given_back) {
  answer(ticket, Done{given_back});
}

void RegistryService::image_ready(const Ticket& ticket, const matcher::Step& step,
                                  const matcher::StepImage& image) {
  answer(ticket, ImageReady{step.id, image.file.id(), image.bytes});
}

/// The view goes first, also of a step that grows.
void RegistryService::make_image(const matcher::Step& step, const matcher::StepImage& image) {
  const std::uint32_t maker = nodes_.rank_of(matcher::owner_of(image.file.id()));
  informed_.tell(maker, 0, step);
  ImageOrder order{image.file.id(), step.version, {}, image.shows_all};
  // What was made of the puts would have other bytes than the file.
  if (const auto with_file = informed_.matcher_with_file(step.id); with_file && step.file_bytes)
    order.source = FileSource{*with_file, *step.file_bytes};
  outlet_.send_to(maker, MakeCopy{step.id, order});
}

void RegistryService::done(const Ticket& ticket) {
  answer(ticket, Done{});
}

void RegistryService::refused(const Ticket& ticket, int status, const std::string& text) {
  answer(ticket, ErrorReply{status, text});
}

void RegistryService::erased(matcher::StepId step) {
  if (is_ending_) return;
  notes_.erased(step);
  informed_.erase(step);
}

}  // namespace sluice::runtime
