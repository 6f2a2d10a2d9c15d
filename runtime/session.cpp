#include "sluice/runtime/session.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "parent_process.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/version.hpp"

namespace sluice::runtime {

std::uint64_t random_number() {
  std::uint64_t number = 0;
  // Never cut short for so few bytes; interrupted only before the system has gathered entropy at boot.
  while (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) {
    if (errno != EINTR) throw IoError(NC_EIO, errno, "random number", "draw");
  }
  return number;
}

namespace {

void throw_if_error(const ReceivedMessage& answer) {
  if (answer.type != MessageType::error) return;
  const auto error = decode<ErrorReply>(answer.fields);
  const bool is_known = error.status < 0 && status_name(error.status) != nullptr;
  throw Error(is_known ? static_cast<Status>(error.status) : NC_EIO, error.text);
}

/// How long a process that has asked looks for the answer before it sleeps: where that comes at once, as a
/// rule, to fall asleep and to be woken up takes longer than the answer. It keeps its processor meanwhile;
/// had it yielded that to one that computes, it would get it back after a whole slice only.
std::chrono::microseconds time_awake(MessageType question) noexcept {
  const bool comes_at_once = question == MessageType::create || question == MessageType::header ||
                             question == MessageType::need_segment || question == MessageType::get ||
                             question == MessageType::hello;
  return std::chrono::microseconds(comes_at_once ? 40 : 0);
}

/// Of one answer.
bool may_bring_descriptors(MessageType question) noexcept {
  return question == MessageType::create || question == MessageType::open_write ||
         question == MessageType::open_read || question == MessageType::need_segment ||
         question == MessageType::get;
}

/// What the system could not do for this process, and the connection knows nothing of it.
bool is_local(int error_number) noexcept {
  return error_number == ENOMEM || error_number == ENOBUFS || error_number == EMSGSIZE ||
         error_number == EMFILE || error_number == ENFILE;
}

/// A process that finds nothing there at all is on a machine that the run does not know of.
PacketSocket connect_to_matcher(const std::string& path) {
  try {
    return connect_to(path);
  } catch (const IoError& error) {
    if (error.status() == NC_ENFILE)
      throw Error(NC_ENFILE,
                  std::string(error.what()) + ": close some, or raise the limit (ulimit -n), and call again");
    if (error.error_number() != ENOENT) throw;
    std::array<char, 256> host{};
    (void)::gethostname(host.data(), host.size() - 1);
    throw Error(NC_EIO,
                "there is no matcher of this run on " + std::string(host.data()) + " (no " + path +
                    "): the run has ended, or it was not told that this machine takes part; name it in "
                    "`hostfile` or `launcher-options` of the workflow");
  }
}

}  // namespace

/// A connection for one exchange. It goes back unless something may still be on its way: then nobody knows
/// what comes next.
class Session::Lease {
 public:
  explicit Lease(Session& session) : session_(session), connection_(session.take_connection()) {}
  ~Lease() {
    if (!connection_->is_clean) return;
    try {
      session_.return_connection(std::move(connection_));
    } catch (...) {
      // No memory for a place in the list: the process makes another connection.
    }
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  [[nodiscard]] Connection& operator*() const noexcept { return *connection_; }

 private:
  Session& session_;
  std::unique_ptr<Connection> connection_;
};

Session::Session(const ClientEnvironment& environment)
    : socket_path_(environment.socket_path),
      component_(environment.component),
      process_token_(random_number()) {}

Session::~Session() = default;

void Session::expect_usable() const {
  if (is_foreign()) {
    throw Error(NC_EIO, "this dataset was opened by the parent process: a forked child opens its own");
  }
  const std::lock_guard lock(mutex_);
  if (is_lost_) throw Error(NC_EIO, lost_reason_);
}

void Session::lose(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (!is_lost_) {
    lost_reason_ = "the connection to the matcher at " + socket_path_ + " is lost (" + reason +
                   "): what was not published is gone; the log of the run says why the matcher ended";
    is_lost_ = true;
  }
  throw Error(NC_EIO, lost_reason_);
}

std::unique_ptr<Session::Connection> Session::make_connection() {
  auto connection = std::make_unique<Connection>(Connection{connect_to_matcher(socket_path_)});
  const Hello hello{protocol_version, std::string(library_version),
                    process_token_,   static_cast<std::uint32_t>(::getpid()),
                    component_,       is_child_of_run()};
  std::vector<Question> questions;
  questions.push_back({MessageType::hello, encode(hello), MessageType::welcome});
  const Packet packet = packet_of(std::move(questions));
  const auto reply = std::move(exchange_on(*connection, packet).front());
  throw_if_error(reply);
  const auto welcome = decode<Welcome>(reply.fields);
  if (welcome.protocol != protocol_version || welcome.library_version != library_version) {
    throw Error(NC_EIO, "the client library is Sluice " + std::string(library_version) + " (protocol " +
                            std::to_string(protocol_version) + "), the matcher at " + socket_path_ +
                            " is Sluice " + welcome.library_version + " (protocol " +
                            std::to_string(welcome.protocol) +
                            "): use the `sluice` command and the library of one installation");
  }
  node_ = welcome.node;
  return connection;
}

std::unique_ptr<Session::Connection> Session::take_connection() {
  expect_usable();
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto connection = std::move(idle_.back());
      idle_.pop_back();
      return connection;
    }
  }
  return make_connection();
}

void Session::return_connection(std::unique_ptr<Connection> connection) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(connection));
}

void Session::keep_another_connection() {
  // The matcher takes a process all of whose connections wait for one that can do nothing any more, and may
  // fail its waits as hopeless. Where other threads can act, a connection that does not wait tells so.
  {
    const std::lock_guard lock(mutex_);
    const int self = ::gettid();
    if (first_thread_ == 0) first_thread_ = self;
    is_used_by_several_threads_ = is_used_by_several_threads_ || self != first_thread_ || self != ::getpid();
    constexpr std::size_t own_and_another = 2;
    if (!is_used_by_several_threads_ || idle_.size() >= own_and_another) return;
  }
  const Lease own(*this);
  const Lease another(*this);
}

void Session::connect() {
  const Lease connection(*this);
}

std::uint32_t Session::new_tag() noexcept {
  auto tag = ++last_tag_;
  while (tag == 0) tag = ++last_tag_;  // 0 is for notices
  return tag;
}

Session::Packet Session::packet_of(std::vector<Question> questions) {
  std::vector<ExpectedAnswer> answers;
  Several all;
  for (Question& question : questions) {
    answers.push_back({question.type, question.expected, new_tag()});
    all.requests.push_back({question.type, answers.back().tag, std::move(question.fields)});
  }
  if (all.requests.size() > 1) return {{MessageType::several, 0, encode(all)}, std::move(answers)};
  auto& only = all.requests.front();
  return {{only.type, only.tag, std::move(only.fields)}, std::move(answers)};
}

ReceivedMessage Session::exchange(MessageType type, std::vector<std::byte> fields, MessageType expected) {
  std::vector<Question> questions;
  questions.push_back({type, std::move(fields), expected});
  ReceivedMessage answer = std::move(exchange(std::move(questions)).front());
  throw_if_error(answer);
  return answer;
}

std::vector<ReceivedMessage> Session::exchange(std::vector<Question> questions) {
  const Packet packet = packet_of(std::move(questions));
  const Lease connection(*this);
  return exchange_on(*connection, packet);
}

/// All are sent before the first answer is waited for; answers are given in the order of the questions.
std::vector<ReceivedMessage> Session::exchange_on(Connection& connection, const Packet& packet) {
  const auto with_descriptors = std::ranges::count_if(
      packet.answers, [](const ExpectedAnswer& answer) { return may_bring_descriptors(answer.question); });
  std::optional<DescriptorReserve> reserve;
  if (with_descriptors > 0)
    reserve.emplace(static_cast<std::size_t>(with_descriptors), connection.socket.descriptor());
  std::vector<ReceivedMessage> answers(packet.answers.size());
  std::vector<bool> is_there(answers.size());
  send_on(connection, packet.message);
  for (std::size_t left = answers.size(); left > 0;) {
    auto message = receive_on(connection, packet, reserve ? &*reserve : nullptr);
    if (!message) continue;
    const auto found = std::ranges::find(packet.answers, message->tag, &ExpectedAnswer::tag);
    const auto number = static_cast<std::size_t>(found - packet.answers.begin());
    const bool is_answer = found != packet.answers.end() && !is_there[number] &&
                           (message->type == found->answer || message->type == MessageType::error);
    if (!is_answer) {
      lose("\"" + std::string(message_name(message->type)) + "\" is no answer to \"" +
           std::string(message_name(packet.answers.front().question)) + "\"");
    }
    is_there[number] = true;
    answers[number] = std::move(*message);
    --left;
  }
  connection.is_clean = true;
  return answers;
}

void Session::send_on(Connection& connection, const OutgoingMessage& message) {
  try {
    connection.socket.send(message);
    connection.is_clean = false;
  } catch (const IoError& error) {
    if (is_local(error.error_number())) throw;
    lose(error.what());
  } catch (const Error& error) {
    lose(error.what());
  }
}

/// The next message that is no notice; nothing after one that is.
std::optional<ReceivedMessage> Session::receive_on(Connection& connection, const Packet& packet,
                                                   DescriptorReserve* reserve) {
  const auto question = packet.answers.front().question;
  try {
    auto message = connection.socket.receive(time_awake(question), reserve);
    if (!message) {
      lose("it was closed while waiting for the answer to \"" + std::string(message_name(question)) + "\"");
    }
    if (!take_notice(*message)) return message;
    // Its descriptor has taken one that the answer may need.
    if (reserve != nullptr && !reserve->take_one()) segments_.map_all();
    return std::nullopt;
  } catch (const Error& error) {
    if (is_lost_) throw;
    lose(error.what());
  }
}

bool Session::take_notice(ReceivedMessage& message) {
  if (message.type == MessageType::drop_segments) {
    segments_.drop(decode<DropSegments>(message.fields).segments);
    return true;
  }
  if (message.type == MessageType::segment && message.tag == 0) {
    store_segment(message, decode<SegmentGrant>(message.fields));
    return true;
  }
  return false;
}

void Session::store_segment(ReceivedMessage& message, const SegmentGrant& grant) {
  if (grant.has_descriptor != (message.descriptors.size() == 1)) {
    throw Error(NC_EIO, "damaged packet: a segment with " + std::to_string(message.descriptors.size()) +
                            " descriptors");
  }
  segments_.add(grant, grant.has_descriptor ? std::move(message.descriptors.front()) : FileDescriptor{});
}

void Session::post(MessageType type, std::vector<std::byte> fields) {
  const OutgoingMessage message(type, 0, std::move(fields));
  const Lease connection(*this);
  send_on(*connection, message);
  (*connection).is_clean = true;
}

Created Session::create(const Create& request) {
  keep_another_connection();
  return decode<Created>(exchange(MessageType::create, encode(request), MessageType::created).fields);
}

Opened Session::open(const Open& request, bool for_writing) {
  keep_another_connection();
  const MessageType type = for_writing ? MessageType::open_write : MessageType::open_read;
  return decode<Opened>(exchange(type, encode(request), MessageType::opened).fields);
}

Described Session::inquire(const Inquire& request) {
  keep_another_connection();
  return decode<Described>(exchange(MessageType::inquire, encode(request), MessageType::described).fields);
}

Plans Session::get(const Get& request) {
  return decode<Plans>(exchange(MessageType::get, encode(request), MessageType::plans).fields);
}

Plans Session::get_when_put(const Get& request) {
  keep_another_connection();
  return get(request);
}

void Session::sync(const Sync& request) {
  (void)exchange(MessageType::sync, encode(request), MessageType::done);
}

void Session::remove(const Remove& request) {
  (void)exchange(MessageType::remove, encode(request), MessageType::done);
}

WritableSegment Session::need_segment(const NeedSegment& request) {
  keep_another_connection();
  if (const auto owed = take_owed(request)) return writable_segment(request, *owed);
  auto answer = exchange(MessageType::need_segment, encode(request), MessageType::segment);
  const auto grant = take_grant(answer);
  if (grant.bytes < request.bytes) {
    throw Error(NC_EIO, "the matcher gave " + std::to_string(grant.bytes) + " bytes where " +
                            std::to_string(request.bytes) + " are needed");
  }
  return writable_segment(request, grant);
}

SegmentGrant Session::take_grant(ReceivedMessage& answer) {
  auto grant = decode<SegmentGrant>(answer.fields);
  store_segment(answer, grant);
  return grant;
}

/// What cannot be mapped now is kept for the next call: the matcher counts it as given.
WritableSegment Session::writable_segment(const NeedSegment& request, const SegmentGrant& grant) {
  try {
    auto [mapping, file, file_offset] = segments_.writable(grant.segment);
    // Written as a file, it would keep other writers of that file waiting, and nothing would be saved.
    if (grant.has_cheap_faults) file.reset();
    const auto memory = mapping->writable();
    return {grant.segment, memory, std::move(mapping), std::move(file), file_offset};
  } catch (const Error&) {
    const std::lock_guard lock(mutex_);
    owed_.insert({{request.step, request.use}, grant});
    throw;
  }
}

/// Data that does not fit there leaves it empty; a chunk of a table counts in any case, as the matcher has
/// it.
std::optional<SegmentGrant> Session::take_owed(const NeedSegment& request) {
  const std::lock_guard lock(mutex_);
  for (auto owed = owed_.find({request.step, request.use}); owed != owed_.end();
       owed = owed_.find({request.step, request.use})) {
    const SegmentGrant grant = owed->second;
    owed_.erase(owed);
    if (request.use != SegmentUse::data || grant.bytes >= request.bytes) return grant;
  }
  return std::nullopt;
}

void Session::forget_owed(std::uint64_t step) {
  const std::lock_guard lock(mutex_);
  std::erase_if(owed_, [&](const auto& owed) { return owed.first.step == step; });
}

std::vector<std::optional<WritableSegment>> Session::prepare(const HeaderUpdate* header,
                                                             std::span<const NeedSegment> segments) {
  std::vector<std::optional<WritableSegment>> granted(segments.size());
  std::vector<Question> questions;
  for (const NeedSegment& segment : segments)
    questions.push_back({MessageType::need_segment, encode(segment), MessageType::segment});
  if (header != nullptr) questions.push_back({MessageType::header, encode(*header), MessageType::done});
  if (questions.empty()) return granted;
  auto answers = exchange(std::move(questions));
  // First, whatever has become of the header: descriptors come once.
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (answers[i].type != MessageType::segment) continue;
    const auto grant = take_grant(answers[i]);
    try {
      granted[i] = writable_segment(segments[i], grant);
    } catch (const Error&) {
      // The put that needs it says so.
    }
  }
  if (header != nullptr) throw_if_error(answers.back());
  return granted;
}

Room Session::await_room(const AwaitRoom& request) {
  keep_another_connection();
  return decode<Room>(exchange(MessageType::await_room, encode(request), MessageType::room).fields);
}

void Session::announce_put(const PutNotice& notice) {
  post(MessageType::put_notice, encode(notice));
}
void Session::publish(const Publish& request) {
  forget_owed(request.step);
  try {
    post(MessageType::publish, encode(request));
  } catch (const Error&) {
    // Readers would wait for it for good.
    if (!is_lost_) discard({request.step});
    throw;
  }
}
void Session::discard(const Discard& request) {
  forget_owed(request.step);
  post(MessageType::discard, encode(request));
}
void Session::close_read(const CloseRead& request) {
  post(MessageType::close_read, encode(request));
}

void Session::tell_of(const OrdinaryFile& file) {
  {
    constexpr std::size_t most_told = 8;
    const std::lock_guard lock(mutex_);
    const bool has_rule = file.rule != OrdinaryFile::no_rule;
    if (!has_rule && told_files_.size() >= most_told) return;
    // Of a rule the first file stands for all.
    if (!told_files_.insert({file.rule, file.is_written, has_rule ? std::string() : file.path}).second)
      return;
  }
  post(MessageType::ordinary_file, encode(file));
}

std::shared_ptr<StepLogs> Session::step_logs(std::uint64_t step) {
  const std::lock_guard lock(mutex_);
  std::erase_if(step_logs_, [](const auto& entry) { return entry.second.expired(); });
  auto& known = step_logs_[step];
  auto logs = known.lock();
  if (logs == nullptr) {
    logs = std::make_shared<StepLogs>(segments_);
    known = logs;
  }
  return logs;
}

std::optional<LogSize> Session::expected_size(const StepKind& kind) const {
  const std::lock_guard lock(mutex_);
  const auto known = expected_sizes_.find(kind);
  if (known == expected_sizes_.end()) return std::nullopt;
  return known->second;
}

void Session::remember_size(const StepKind& kind, LogSize size) {
  constexpr std::size_t most_kinds = 256;  // of a program that never repeats itself
  const std::lock_guard lock(mutex_);
  if (expected_sizes_.size() >= most_kinds) expected_sizes_.clear();
  expected_sizes_[kind] = size;
}

void Session::keep_log(const DatasetKey& key, KeptLog log) {
  constexpr std::size_t most_logs = 256;  // of a program with very many files; most are written once
  const std::lock_guard lock(mutex_);
  if (kept_logs_.size() >= most_logs && !kept_logs_.contains(key)) {
    kept_logs_.erase(
        std::ranges::min_element(kept_logs_, {}, [](const auto& entry) { return entry.second.step; }));
  }
  kept_logs_.insert_or_assign(key, std::move(log));
}

const std::vector<std::string>& Session::first_listing(
    const std::string& directory, const std::function<std::vector<std::string>()>& list) {
  const std::lock_guard lock(mutex_);
  const auto known = first_listings_.find(directory);
  return known != first_listings_.end() ? known->second
                                        : first_listings_.emplace(directory, list()).first->second;
}

std::uint64_t Session::kept_log_of(const DatasetKey& key, const Member& member) const {
  const std::lock_guard lock(mutex_);
  const auto kept = kept_logs_.find(key);
  if (kept == kept_logs_.end()) return 0;
  return kept->second.rank == member.rank && kept->second.size == member.size ? kept->second.step : 0;
}

std::unique_ptr<WriteLog> Session::take_log(const DatasetKey& key) {
  const std::lock_guard lock(mutex_);
  auto kept = kept_logs_.extract(key);
  return kept.empty() ? nullptr : std::move(kept.mapped().log);
}

bool Session::is_alive() {
  if (is_lost_) return false;
  const std::lock_guard lock(mutex_);
  return idle_.empty() || idle_.back()->socket.is_alive();
}

}  // namespace sluice::runtime
