#include "sluice/runtime/session.hpp"

#include <poll.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <utility>

#include "sluice/formats/error.hpp"
#include "sluice/runtime/handshake.hpp"

namespace sluice::runtime {

std::uint64_t random_number() {
  std::uint64_t number = 0;
  // Reads of this size are always complete. They are interrupted only before the system has gathered entropy
  // at boot.
  while (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) {
    if (errno != EINTR) throw IoError(NC_EIO, errno, "a random number", "draw");
  }
  return number;
}

namespace {

/// How long a process that has sent a request polls for the answer before it sleeps. Most of these answers
/// come at once, and sleeping and waking take longer than the answer. The process keeps its processor
/// meanwhile: if it yielded to a process that computes, it would get the processor back only after a whole
/// time slice.
std::chrono::microseconds time_awake(MessageType question, MessageType answer) noexcept {
  const bool comes_at_once = question == MessageType::header || answer == MessageType::opened ||
                             answer == MessageType::segment || answer == MessageType::plans ||
                             answer == MessageType::welcome;
  return std::chrono::microseconds(comes_at_once ? 40 : 0);
}

/// Whether the answer may have attached descriptors.
bool may_bring_descriptors(MessageType answer) noexcept {
  return answer == MessageType::opened || answer == MessageType::segment || answer == MessageType::plans ||
         answer == MessageType::image_made || answer == MessageType::file_opened ||
         answer == MessageType::welcome;
}

/// Whether the error concerns only this process, and leaves the connection intact.
bool is_local(int error_number) noexcept {
  return error_number == ENOMEM || error_number == ENOBUFS || error_number == EMSGSIZE ||
         error_number == EMFILE || error_number == ENFILE;
}

/// If there is no socket at all, this process is on a machine that is unknown to the run.
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
    throw Error(NC_EIO, "no matcher of this run is on " + std::string(host.data()) + " (no " + path +
                            "). The run has ended, or the workflow does not name this machine: add " +
                            std::string(host.data()) + " to `hostfile` or `launcher-options`");
  }
}

}  // namespace

/// A connection for one exchange. It is reused unless a message may still be under way: then the next message
/// is unpredictable.
class Session::Lease {
 public:
  explicit Lease(Session& session) : session_(session), connection_(session.take_connection()) {}
  ~Lease() {
    if (!connection_->is_clean) return;
    try {
      session_.return_connection(std::move(connection_));
    } catch (...) {
      // No memory for an entry in the list: the process makes another connection.
    }
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  [[nodiscard]] Connection& operator*() const noexcept { return *connection_; }

 private:
  Session& session_;
  std::unique_ptr<Connection> connection_;
};

Session::Session(const ClientEnvironment& environment, std::uint64_t process_token)
    : socket_path_(environment.socket_path),
      component_(environment.component),
      process_token_(process_token != 0 ? process_token : random_number()),
      copy_threads_(static_cast<int>(environment.copy_threads)),
      next_group_(random_number()) {}

Session::~Session() = default;

void Session::expect_usable() const {
  if (is_forked_child()) {
    throw Error(NC_EIO, "the parent process opened this dataset: a forked child must open the file itself");
  }
  const std::lock_guard lock(mutex_);
  if (is_lost_) throw Error(NC_EIO, lost_reason_);
}

void Session::lose(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (!is_lost_) {
    lost_reason_ = "the connection to the matcher at " + socket_path_ + " is lost (" + reason +
                   "). Data that was not published is lost. The log of the run says why the matcher ended";
    is_lost_ = true;
  }
  throw Error(NC_EIO, lost_reason_);
}

std::unique_ptr<Session::Connection> Session::make_connection() {
  auto connection = std::make_unique<Connection>(Connection{connect_to_matcher(socket_path_)});
  const Hello hello = hello_of_process(component_, process_token_);
  std::vector<Question> questions;
  questions.push_back({MessageType::hello, encode(hello), MessageType::welcome});
  const Packet packet = packet_of(std::move(questions));
  const auto reply = std::move(exchange_on(*connection, packet).front());
  node_ = welcome_of(reply, socket_path_).node;
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
  // When all connections of a process wait, the matcher assumes that the process can do nothing more, and may
  // fail its waits as hopeless. When other threads can act, a connection that does not wait tells the matcher
  // so.
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
  Batch all;
  for (Question& question : questions) {
    answers.push_back({question.type, question.expected, new_tag()});
    all.requests.push_back({question.type, answers.back().tag, std::move(question.fields)});
  }
  if (all.requests.size() > 1) return {{MessageType::batch, 0, encode(all)}, std::move(answers)};
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

/// The connection belongs to this thread until the answer has been processed.
void Session::exchange(MessageType type, std::vector<std::byte> fields, MessageType expected,
                       const std::function<void(const ReceivedMessage&)>& take) {
  std::vector<Question> questions;
  questions.push_back({type, std::move(fields), expected});
  const Packet packet = packet_of(std::move(questions));
  const Lease connection(*this);
  const ReceivedMessage answer = std::move(exchange_on(*connection, packet).front());
  throw_if_error(answer);
  take(answer);
}

std::vector<ReceivedMessage> Session::exchange(std::vector<Question> questions) {
  const Packet packet = packet_of(std::move(questions));
  const Lease connection(*this);
  return exchange_on(*connection, packet);
}

/// Sends all requests before it waits for the first answer. Answers come in the order of the requests.
std::vector<ReceivedMessage> Session::exchange_on(Connection& connection, const Packet& packet) {
  const auto with_descriptors = std::ranges::count_if(
      packet.answers, [](const ExpectedAnswer& answer) { return may_bring_descriptors(answer.answer); });
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

/// Returns the next message that is not a notice; returns nothing after a notice.
std::optional<ReceivedMessage> Session::receive_on(Connection& connection, const Packet& packet,
                                                   DescriptorReserve* reserve) {
  const auto question = packet.answers.front().question;
  try {
    auto message = connection.socket.receive(time_awake(question, packet.answers.front().answer), reserve);
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

/// Reads what the matcher has sent without a question.
void Session::read_notices() {
  {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return;
  }
  const Lease lease(*this);
  Connection& connection = *lease;
  try {
    DescriptorReserve reserve(1, connection.socket.descriptor());
    pollfd readable{connection.socket.descriptor(), POLLIN, 0};
    while (::poll(&readable, 1, 0) > 0) {
      connection.is_clean = false;
      auto message = connection.socket.receive({}, &reserve);
      if (!message) lose("it was closed");
      if (!take_notice(*message))
        lose("\"" + std::string(message_name(message->type)) + "\" is no answer to anything");
      connection.is_clean = true;
      if (!reserve.take_one()) segments_.map_all();
    }
  } catch (const Error& error) {
    if (is_lost_ || connection.is_clean) throw;  // nothing was received
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
  if (message.type == MessageType::offers) {
    const std::lock_guard lock(mutex_);
    offers_.push_back(decode<OffersNotice>(message.fields));
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

Opened Session::open(const Open& request) {
  keep_another_connection();
  Opened opened;
  exchange(MessageType::open, encode(request), MessageType::opened, [&](const ReceivedMessage& answer) {
    opened = decode<Opened>(answer.fields);
    note_opened(opened);
  });
  return opened;
}

/// The shortest question to the registry.
void Session::await_taken() {
  (void)exchange(MessageType::list, encode(ListRequest{matcher::no_directory, false, {}, {}}),
                 MessageType::listing);
}

Plans Session::get(const Get& request) {
  Plans plans;
  exchange(MessageType::get, encode(request), MessageType::plans, [&](const ReceivedMessage& answer) {
    plans = decode<Plans>(answer.fields);
    note_ranges(request.step, plans.ranges);
  });
  return plans;
}

Plans Session::get_when_put(const Get& request) {
  keep_another_connection();
  return get(request);
}

FileImage Session::image(Open request) {
  keep_another_connection();
  request.wants = Open::Form::bytes;
  return image_of(exchange(MessageType::open, encode(request), MessageType::image_made));
}

ReceivedMessage Session::ask_about_file(MessageType type, std::vector<std::byte> fields) {
  if (type != MessageType::file_holders && type != MessageType::note)
    return exchange(type, std::move(fields),
                    type == MessageType::open_file ? MessageType::file_opened : MessageType::done);
  post(type, std::move(fields));
  return {};
}

void Session::sync(const SyncRequest& request) {
  (void)exchange(MessageType::sync, encode(request), MessageType::done);
}

void Session::remove(const DatasetKey& key, const std::string& path) {
  (void)exchange(MessageType::open, encode(Open{key, {}, path, Purpose::remove}), MessageType::done);
}

WritableSegment Session::need_segment(const SegmentRequest& request) {
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

WritableSegment Session::map_segment(std::uint64_t segment) {
  auto [mapping, file, file_offset] = segments_.writable(segment);
  const auto memory = mapping->writable();
  return {segment, memory, std::move(mapping), std::move(file), file_offset};
}

/// A segment that cannot be mapped now is kept for the next call, because the matcher counts it as granted.
WritableSegment Session::writable_segment(const SegmentRequest& request, const SegmentGrant& grant) {
  try {
    return map_segment(grant.segment);
  } catch (const Error&) {
    const std::lock_guard lock(mutex_);
    owed_.insert({{request.step, request.use}, grant});
    throw;
  }
}

/// Data that does not fit in the owed segment leaves it empty. A table chunk is used in any case, because the
/// matcher counts it.
std::optional<SegmentGrant> Session::take_owed(const SegmentRequest& request) {
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

std::vector<std::optional<WritableSegment>> Session::prepare(const HeaderRequest* header,
                                                             std::span<const SegmentRequest> segments) {
  std::vector<std::optional<WritableSegment>> granted(segments.size());
  std::vector<Question> questions;
  for (const SegmentRequest& segment : segments)
    questions.push_back({MessageType::need_segment, encode(segment), MessageType::segment});
  if (header != nullptr) questions.push_back({MessageType::header, encode(*header), MessageType::done});
  if (questions.empty()) return granted;
  auto answers = exchange(std::move(questions));
  // Do this first, whatever the result for the header: descriptors come only once.
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (answers[i].type != MessageType::segment) continue;
    const auto grant = take_grant(answers[i]);
    try {
      granted[i] = writable_segment(segments[i], grant);
    } catch (const Error&) {
      // The put that needs the segment reports the error.
    }
  }
  if (header != nullptr) throw_if_error(answers.back());
  return granted;
}

std::uint64_t Session::await_disk(const DiskRequest& request) {
  keep_another_connection();
  return decode<Done>(exchange(MessageType::await_disk, encode(request), MessageType::done).fields)
      .given_back;
}

void Session::announce_put(const PutNotice& notice) {
  post(MessageType::put_notice, encode(notice));
}

void Session::tell_of_log(const LogNotice& notice) {
  post(MessageType::log_notice, encode(notice));
}

void Session::close(const Close& end) {
  forget_owed(end.step());
  forget_opened(end.step());
  try {
    post(MessageType::close, encode(end));
  } catch (const Error& error) {
    // Otherwise readers would wait forever.
    if (!is_lost_ && std::holds_alternative<PublishRequest>(end.how))
      close(
          {Discard{end.step(), StepEnd::aborted, std::string("it could not be published: ") + error.what()}});
    throw;
  }
}

void Session::tell_of(const OrdinaryFile& file) {
  {
    constexpr std::size_t most_reported = 8;
    const std::lock_guard lock(mutex_);
    const bool has_rule = file.rule != OrdinaryFile::no_rule;
    if (!has_rule && reported_files_.size() >= most_reported) return;
    // One file stands for all files of a rule.
    if (!reported_files_.insert({file.rule, file.is_written, has_rule ? std::string() : file.path}).second)
      return;
  }
  post(MessageType::note, encode(Note{file}));
}

Session::GatheringNotice::GatheringNotice(Session& session, Gathering gathering)
    : session_(session), gathering_(std::move(gathering)), connection_(std::make_unique<Lease>(session)) {
  send();
}

Session::GatheringNotice::~GatheringNotice() {
  try {
    gathering_.is_over = true;
    send();
  } catch (const std::exception&) {  // the connection is lost: the matcher counts the gathering as over
  }
}

void Session::GatheringNotice::send() {
  session_.send_on(**connection_, {MessageType::note, 0, encode(Note{gathering_})});
  (**connection_).is_clean = true;
}

std::unique_ptr<Session::GatheringNotice> Session::tell_of(Gathering gathering) {
  return std::make_unique<GatheringNotice>(*this, std::move(gathering));
}

Session::ReportedCopy::ReportedCopy(Session& session, std::uint64_t step, bool is_put) noexcept
    : session_(session), notice_{++session.last_copy_, step, is_put, false} {
  tell(false);
}

void Session::ReportedCopy::tell(bool is_over) noexcept {
  try {
    notice_.is_over = is_over;
    session_.post(MessageType::note, encode(Note{notice_}));
  } catch (const std::exception&) {  // the connection is lost: the call itself tells of that
  }
}

const std::vector<std::string>& Session::first_listing(
    const std::string& directory, const std::function<std::vector<std::string>()>& list) {
  const std::lock_guard lock(mutex_);
  const auto known = first_listings_.find(directory);
  return known != first_listings_.end() ? known->second
                                        : first_listings_.emplace(directory, list()).first->second;
}

int Session::idle_connection() {
  const std::lock_guard lock(mutex_);
  return idle_.empty() ? -1 : idle_.front()->socket.descriptor();
}

bool Session::is_alive() {
  constexpr std::int64_t looks_again_after_ms = 20;  // a step without a message asks the system nothing
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  const std::int64_t now_ms = now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
  if (is_lost_) return false;
  const std::lock_guard lock(mutex_);
  if (now_ms < looks_again_ms_) return true;
  looks_again_ms_ = now_ms + looks_again_after_ms;
  return idle_.empty() || idle_.back()->socket.is_alive();
}

}  // namespace sluice::runtime
