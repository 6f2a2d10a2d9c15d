#include "sluice/runtime/session.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

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

/// A process that finds nothing there at all is on a machine that the run does not know of.
PacketSocket connect_to_matcher(const std::string& path) {
  try {
    return connect_to(path);
  } catch (const IoError& error) {
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
  const Hello hello{protocol_version, std::string(library_version), process_token_,
                    static_cast<std::uint32_t>(::getpid()), component_};
  const auto reply = exchange_on(*connection, {MessageType::hello, encode(hello), MessageType::welcome});
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
  auto own = take_connection();
  return_connection(take_connection());
  return_connection(std::move(own));
}

void Session::connect() {
  return_connection(take_connection());
}

ReceivedMessage Session::exchange(MessageType type, std::vector<std::byte> fields, MessageType expected) {
  auto connection = take_connection();
  ReceivedMessage answer = exchange_on(*connection, {type, std::move(fields), expected});
  // Not after an exception: then nobody knows what is still in the connection.
  return_connection(std::move(connection));
  throw_if_error(answer);
  return answer;
}

ReceivedMessage Session::exchange_on(Connection& connection, Question question) {
  std::vector<Question> questions;
  questions.push_back(std::move(question));
  return std::move(exchange_on(connection, std::move(questions)).front());
}

/// All of them are sent before the first answer is waited for; answers come in the order of the questions.
std::vector<ReceivedMessage> Session::exchange_on(Connection& connection, std::vector<Question> questions) {
  const auto patience = time_awake(questions.front().type);
  std::vector<ReceivedMessage> answers(questions.size());
  std::vector<std::uint32_t> tags;
  try {
    Several all;
    for (Question& question : questions) {
      tags.push_back(connection.next_tag++);
      if (connection.next_tag == 0) connection.next_tag = 1;  // 0 is for notices
      all.requests.push_back({question.type, tags.back(), std::move(question.fields)});
    }
    if (all.requests.size() == 1) {
      connection.socket.send({questions.front().type, tags.front(), std::move(all.requests.front().fields)});
    } else {
      connection.socket.send({MessageType::several, 0, encode(all)});
    }
    for (std::size_t left = questions.size(); left > 0;) {
      auto message = connection.socket.receive(patience);
      if (!message) {
        lose("it was closed while waiting for the answer to \"" +
             std::string(message_name(questions.front().type)) + "\"");
      }
      if (take_notice(*message)) continue;
      const auto found = static_cast<std::size_t>(std::ranges::find(tags, message->tag) - tags.begin());
      if (message->tag == 0 || found == tags.size() ||
          (message->type != questions[found].expected && message->type != MessageType::error)) {
        lose("\"" + std::string(message_name(message->type)) + "\" is no answer to \"" +
             std::string(message_name(questions.front().type)) + "\"");
      }
      tags[found] = 0;
      answers[found] = std::move(*message);
      --left;
    }
  } catch (const Error& error) {
    if (is_lost_) throw;
    lose(error.what());
  }
  return answers;
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
  auto connection = take_connection();
  try {
    connection->socket.send({type, 0, std::move(fields)});
  } catch (const Error& error) {
    lose(error.what());
  }
  return_connection(std::move(connection));
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
  auto answer = exchange(MessageType::need_segment, encode(request), MessageType::segment);
  return writable_segment(answer, request.bytes);
}

WritableSegment Session::writable_segment(ReceivedMessage& answer, std::uint64_t least_bytes) {
  const auto grant = decode<SegmentGrant>(answer.fields);
  store_segment(answer, grant);
  auto [mapping, file, file_offset] = segments_.writable(grant.segment);
  // Written as a file, it would keep other writers of that file waiting, and nothing would be saved.
  if (grant.has_cheap_faults) file.reset();
  const auto memory = mapping->writable();
  if (memory.size() < least_bytes) {
    throw Error(NC_EIO, "the matcher gave " + std::to_string(memory.size()) + " bytes where " +
                            std::to_string(least_bytes) + " are needed");
  }
  return {grant.segment, memory, std::move(mapping), std::move(file), file_offset};
}

std::vector<std::optional<WritableSegment>> Session::prepare(const HeaderUpdate* header,
                                                             std::span<const NeedSegment> segments) {
  std::vector<Question> questions;
  for (const NeedSegment& segment : segments)
    questions.push_back({MessageType::need_segment, encode(segment), MessageType::segment});
  if (header != nullptr) questions.push_back({MessageType::header, encode(*header), MessageType::done});
  if (questions.empty()) return {};
  auto connection = take_connection();
  auto answers = exchange_on(*connection, std::move(questions));
  return_connection(std::move(connection));
  // First, whatever has become of the header: descriptors come once.
  std::vector<std::optional<WritableSegment>> granted(segments.size());
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (answers[i].type == MessageType::segment) granted[i] = writable_segment(answers[i], segments[i].bytes);
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
  post(MessageType::publish, encode(request));
}
void Session::discard(const Discard& request) {
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

bool Session::is_alive() {
  if (is_lost_) return false;
  const std::lock_guard lock(mutex_);
  return idle_.empty() || idle_.back()->socket.is_alive();
}

}  // namespace sluice::runtime
