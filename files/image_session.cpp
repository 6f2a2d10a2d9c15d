#include "image_session.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "client_library.hpp"
#include "sluice/files/held_signals.hpp"
#include "sluice/files/process_memory.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/handshake.hpp"
#include "sluice/runtime/session.hpp"
#include "sluice/runtime/wire.hpp"

namespace sluice::files {

using runtime::FileDescriptor;
using runtime::MessageType;

namespace {

constexpr std::uint64_t any_step = 0;
/// Nothing tells of links that any process may make on any disk.
constexpr int look_at_name_ms = 100;

/// Of a number that is as high as the limit of the process allows, but not among the lowest.
FileDescriptor duplicate_beyond(int descriptor) {
  for (const int least_number : {first_hidden_number, 300}) {
    FileDescriptor made(::fcntl(descriptor, F_DUPFD_CLOEXEC, least_number));
    if (made) return made;
  }
  return {};
}

/// Descriptors of the images that the process keeps, with their files; -1: none.
constinit std::array<std::atomic<int>, most_known_images> known_numbers{-1, -1, -1, -1, -1, -1, -1, -1};
constinit std::array<FileIdentity, most_known_images> known_identities{};

/// The process that has steps of streams open; 0: none has.
constinit std::atomic<pid_t> keeper{0};

/// A step that a former run has left in a file. In a stream, the program may open the file several times.
FoundImage file_of_step(const runtime::RuleMatch& match, const std::string& path) {
  FoundImage found;
  if (match.rule.is_stream) found.image = FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!found.image) found.path = path;
  return found;
}

void send(const runtime::PacketSocket& socket, const runtime::OutgoingMessage& message) {
  await_space(socket.descriptor());
  socket.send(message);
}

}  // namespace

bool is_known_image(int descriptor) noexcept {
  return std::ranges::any_of(known_numbers, [&](const auto& number) { return number == descriptor; });
}

/// What another thread of the parent was about to note is left alone.
void leave_images_of_parent() noexcept {
  for (std::size_t i = 0; i < known_numbers.size(); ++i) {
    const int descriptor = known_numbers[i].exchange(-1);
    if (descriptor >= 0 && identity_of(descriptor) == known_identities[i]) (void)::close(descriptor);
  }
}

bool has_kept_steps() noexcept {
  return keeper.load(std::memory_order_relaxed) != 0 && keeper.load() == ::getpid();
}

FileDescriptor hidden_duplicate(int descriptor) {
  FileDescriptor hidden = duplicate_beyond(descriptor);
  return hidden ? std::move(hidden) : FileDescriptor(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
}

FileIdentity identity_of(int descriptor) noexcept {
  struct stat facts {};
  return ::fstat(descriptor, &facts) == 0 ? FileIdentity{facts.st_dev, facts.st_ino} : FileIdentity{};
}

runtime::PacketSocket hidden_connection(const std::string& socket_path) {
  const runtime::PacketSocket made = runtime::connect_to(socket_path);
  FileDescriptor hidden = hidden_duplicate(made.descriptor());
  if (!hidden) throw Error(NC_ENFILE, "no file descriptor is left for a connection");
  return runtime::PacketSocket(std::move(hidden));
}

HiddenDescriptor::HiddenDescriptor(FileDescriptor file)
    : file_(duplicate_beyond(file.number())), identity_(identity_of(file.number())) {
  if (!file_) file_ = std::move(file);
}

HiddenDescriptor::HiddenDescriptor(FileDescriptor hidden, FileIdentity identity) noexcept
    : file_(std::move(hidden)), identity_(identity) {}

/// A number that has become another file is the program's.
HiddenDescriptor::~HiddenDescriptor() {
  if (file_ && !is_there()) (void)file_.release();
}

HiddenDescriptor& HiddenDescriptor::operator=(HiddenDescriptor&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(identity_, other.identity_);
  return *this;
}

bool HiddenDescriptor::is_there() const noexcept {
  return file_ && identity_of(file_.number()) == identity_;
}

ImageSession::ImageSession(runtime::ClientEnvironment environment, runtime::FilesMatcher matcher)
    : environment_(std::move(environment)),
      matcher_(std::move(matcher)),
      process_token_(runtime::random_number()) {}

std::optional<FoundImage> ImageSession::find(const runtime::RuleMatch& match, bool is_look,
                                             const IsOutdated& is_outdated) {
  if (FoundImage known = is_look ? image_to_look_at(match.file) : FoundImage{}; known.image) return known;
  keep_another_connection();
  auto connection = take_connection();
  connection->is_outdated = &is_outdated;
  try {
    FoundImage found = open(*connection, match, is_look);
    give_back(std::move(connection));
    return found;
  } catch (const Error& error) {
    if (gives_up(connection)) return std::nullopt;
    if (error.status() != NC_ENOENT) throw;
    give_back(std::move(connection));
    // Its memory may have been used again, and this process has seen it: then it goes on seeing that.
    FoundImage known{known_image(match.file, any_step), {}};
    if (!known.image) throw;
    return known;
  }
}

/// The matcher forgets what nobody waits for. The process has another connection all the time.
bool ImageSession::gives_up(std::unique_ptr<Connection>& connection) {
  if (!connection->is_given_up) return false;
  give_back(take_connection());
  connection.reset();
  return true;
}

std::optional<FoundImage> ImageSession::find_next(const runtime::RuleMatch& match, bool is_look,
                                                  const IsOutdated& is_outdated) {
  keep_another_connection();
  auto connection = take_connection();
  connection->is_outdated = &is_outdated;
  // First: the writer may wait until the step before has been read.
  leave_steps(*connection, &match.file);
  try {
    FoundImage found = open(*connection, match, is_look);
    give_back(std::move(connection));
    return found;
  } catch (const Error& error) {
    if (gives_up(connection)) return std::nullopt;
    if (error.status() == NC_ENOENT) give_back(std::move(connection));
    throw;
  }
}

FoundImage ImageSession::find_again(const runtime::RuleMatch& match, std::uint64_t step) {
  auto connection = take_connection();
  try {
    FoundImage found = open(*connection, match, true, step);
    give_back(std::move(connection));
    return found;
  } catch (const Error&) {
    give_back(std::move(connection));
    throw;
  }
}

/// A step that grows has another image each time.
FoundImage ImageSession::open(Connection& connection, const runtime::RuleMatch& match, bool is_look,
                              std::uint64_t again) {
  const runtime::Member alone{runtime::random_number() >> 1, 0, 1, false};
  runtime::Open request = match.open(alone);
  request.continues = again;
  if (is_look) request.which = runtime::Open::Which::look;
  request.wants = runtime::Open::Form::bytes;
  request.is_kept = match.rule.is_stream && match.rule.may_restart && !is_look;
  auto [image, made] = runtime::image_of(
      exchange(connection, MessageType::open, runtime::encode(request), MessageType::image_made));
  if (!made.path.empty()) {
    FoundImage on_disk = made.step == 0 ? FoundImage{{}, made.path} : file_of_step(match, made.path);
    on_disk.step = made.step;
    return on_disk;
  }
  if (request.is_kept && made.step != 0) keep_step(match.file, made.step);
  FoundImage found{{}, {}, made.step};
  if (!made.grows) found.image = known_image(match.file, made.step);
  if (!found.image) found.image = std::move(image);
  // With `identity: name`, the counts are those of another path.
  const std::uint64_t count = match.key.name == match.file ? made.count : 0;
  remember(found.image, {match.file, made.step, {}, 0, count});
  return found;
}

void ImageSession::keep_step(const std::string& file, std::uint64_t step) {
  const std::lock_guard lock(mutex_);
  const bool is_known =
      std::ranges::any_of(kept_steps_, [&](const KeptStep& kept) { return kept.step == step; });
  if (!is_known) kept_steps_.push_back({file, step});
  keeper = ::getpid();
}

/// `file`: of which stream; null: of all.
void ImageSession::leave_steps(Connection& connection, const std::string* file) {
  std::vector<std::uint64_t> left;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(kept_steps_, [&](const KeptStep& kept) {
      const bool is_left = file == nullptr || kept.file == *file;
      if (is_left) left.push_back(kept.step);
      return is_left;
    });
    if (kept_steps_.empty()) keeper = 0;
  }
  for (const std::uint64_t step : left)
    send(connection.socket,
         {MessageType::close, 0, runtime::encode(runtime::Close{runtime::ReadEnd{step, {}}})});
}

void ImageSession::leave_steps() {
  auto connection = take_connection();
  leave_steps(*connection, nullptr);
  give_back(std::move(connection));
}

/// The matcher may need the file that was known: it goes on in one that nobody has any more.
OpenedFile ImageSession::open_file(const runtime::OpenFile& request) {
  forget(request.path);
  auto answer = ask(MessageType::open_file, runtime::encode(request), MessageType::file_opened);
  const auto opened = runtime::decode<runtime::FileOpened>(answer.fields);
  if (opened.is_ordinary) return {};
  if (answer.descriptors.size() != 1) throw Error(NC_EIO, "damaged packet: a file without a descriptor");
  remember(request, opened, answer.descriptors.front());
  return {std::move(answer.descriptors.front()), opened.names};
}

OpenedFile ImageSession::known_file(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const KnownImage* const known = last_image(path);
  return known != nullptr ? OpenedFile{duplicate_beyond(known->image.number()), known->names} : OpenedFile{};
}

/// What the path leads to still; null: that is not known.
const ImageSession::KnownImage* ImageSession::last_image(const std::string& file) const {
  const auto known = std::ranges::find(images_, file, &KnownImage::file);
  const bool is_same = known != images_.end() && known->count != 0 && counts_ &&
                       counts_->of(file) == known->count && known->user == ::geteuid() &&
                       known->image.is_there();
  return is_same ? &*known : nullptr;
}

/// Of a file that the component reads. The run counts its opens, so each of them asks.
FoundImage ImageSession::image_to_look_at(const std::string& file) {
  const std::lock_guard lock(mutex_);
  const KnownImage* const known = last_image(file);
  return known != nullptr ? FoundImage{duplicate_beyond(known->image.number()), {}, known->step}
                          : FoundImage{};
}

/// What a program makes anew it seldom reads.
void ImageSession::remember(const runtime::OpenFile& request, const runtime::FileOpened& opened,
                            const FileDescriptor& file) {
  const int how = static_cast<int>(request.flags) & (O_ACCMODE | O_TRUNC);
  if (opened.count == 0 || is_in_memory_of_parent() || (how != O_RDONLY && how != O_RDWR)) return;
  if (const std::lock_guard lock(mutex_); !counts_) return;
  KnownImage known{request.path, any_step, {}, 0, opened.count, opened.names};
  if (how == O_RDONLY) return remember(file, std::move(known));
  const std::string link = "/proc/thread-self/fd/" + std::to_string(file.number());
  const FileDescriptor reader(::open(link.c_str(), O_RDONLY | O_CLOEXEC));
  if (reader) remember(reader, std::move(known));
}

void ImageSession::name_file(const runtime::NameFile& request) {
  (void)ask(MessageType::name_file, runtime::encode(request), MessageType::done);
}

void ImageSession::await_file(const runtime::AwaitFile& request) {
  (void)ask(MessageType::await_file, runtime::encode(request), MessageType::done);
}

void ImageSession::ask(const runtime::Open& open) {
  (void)ask(MessageType::open, runtime::encode(open), MessageType::done);
}

void ImageSession::tell(const runtime::FileHolder& holder) {
  post(MessageType::file_holders, runtime::encode(holder));
}

void ImageSession::complain(const std::string& text) {
  post(MessageType::note,
       runtime::encode(runtime::Note{runtime::Complaint{runtime::OrdinaryFile::no_rule, text}}));
}

void ImageSession::post(MessageType type, const std::vector<std::byte>& fields) {
  if (ask_by_client_library(type, fields)) return;
  auto connection = take_connection();
  send(connection->socket, {type, 0, fields});
  give_back(std::move(connection));
}

/// A refusal leaves the connection as it is.
runtime::ReceivedMessage ImageSession::ask(MessageType type, std::vector<std::byte> fields,
                                           MessageType expected) {
  if (auto answer = ask_by_client_library(type, fields)) return std::move(*answer);
  auto connection = take_connection();
  try {
    auto answer = exchange(*connection, type, std::move(fields), expected);
    give_back(std::move(connection));
    return answer;
  } catch (const Error& error) {
    if (error.status() != NC_EIO) give_back(std::move(connection));
    throw;
  }
}

FileDescriptor ImageSession::known_image(const std::string& file, std::uint64_t step) {
  const std::lock_guard lock(mutex_);
  const auto known = std::ranges::find(images_, file, &KnownImage::file);
  if (known == images_.end() || (step != any_step && known->step != step) || !known->image.is_there())
    return FileDescriptor();
  return duplicate_beyond(known->image.number());
}

void ImageSession::forget(const std::string& file) {
  const std::lock_guard lock(mutex_);
  std::erase_if(images_, [&](const KnownImage& known) { return known.file == file; });
  note_known();
}

/// Of `known`, all but the image.
void ImageSession::remember(const FileDescriptor& image, KnownImage known) {
  forget(known.file);
  const std::lock_guard lock(mutex_);
  struct stat facts {};
  if (::fstat(image.number(), &facts) != 0) return;
  known.bytes = static_cast<std::uint64_t>(facts.st_size);
  const auto known_bytes = [&] {
    std::uint64_t all = known.bytes;
    for (const KnownImage& other : images_) all += other.bytes;
    return all;
  };
  // They keep their memory as long as they are known, also when the matcher could use it for others.
  while (!images_.empty() && (images_.size() >= most_known_images || known_bytes() > most_known_bytes))
    images_.erase(images_.begin());
  FileDescriptor hidden = duplicate_beyond(image.number());
  if (hidden) {
    known.image = HiddenDescriptor(std::move(hidden), {facts.st_dev, facts.st_ino});
    images_.push_back(std::move(known));
  }
  note_known();
}

void ImageSession::note_known() const noexcept {
  for (std::size_t i = 0; i < known_numbers.size(); ++i) {
    known_numbers[i] = -1;
    if (i >= images_.size()) continue;
    known_identities[i] = images_[i].image.identity();
    known_numbers[i] = images_[i].image.number();
  }
}

/// Without memory for the page, the process asks each time.
void ImageSession::take_page(const runtime::ReceivedMessage& welcome) {
  const std::lock_guard lock(mutex_);
  if (counts_ || welcome.descriptors.empty()) return;
  try {
    counts_.emplace(welcome.descriptors.front());
  } catch (const Error&) {
  }
}

runtime::ReceivedMessage ImageSession::exchange(Connection& connection, MessageType type,
                                                std::vector<std::byte> fields, MessageType expected) {
  std::uint32_t tag = 0;
  {
    const std::lock_guard lock(mutex_);
    if (++last_tag_ == 0) ++last_tag_;  // 0 is for notices
    tag = last_tag_;
  }
  send(connection.socket, {type, tag, std::move(fields)});
  for (;;) {
    const bool may_change = connection.is_outdated != nullptr;
    while (!await_message(connection.socket.descriptor(), may_change ? look_at_name_ms : 0)) {
      if (!(*connection.is_outdated)()) continue;
      connection.is_given_up = true;
      throw Error(NC_EIO, "the name leads to another file now");
    }
    auto message = connection.socket.receive();
    if (!message) throw Error(NC_EIO, "the matcher has closed the connection");
    if (message->tag != tag) continue;  // of segments, which nobody maps here
    runtime::throw_if_error(*message);
    if (message->type != expected) throw Error(NC_EIO, "damaged packet: it is no answer");
    return std::move(*message);
  }
}

std::unique_ptr<ImageSession::Connection> ImageSession::connect() {
  const bool is_by_door = ::geteuid() != 0 && !matcher_.door_path.empty();
  runtime::PacketSocket socket = hidden_connection(is_by_door ? matcher_.door_path : matcher_.socket_path);
  const FileIdentity identity = identity_of(socket.descriptor());
  auto connection =
      std::make_unique<Connection>(Connection{std::move(socket), identity, ::geteuid(), ::getegid()});
  const runtime::Hello hello = runtime::hello_of_process(environment_.component, process_token_);
  const auto answer = exchange(*connection, MessageType::hello, runtime::encode(hello), MessageType::welcome);
  (void)runtime::welcome_of(answer, matcher_.socket_path);
  take_page(answer);
  if (!is_in_memory_of_parent()) note_connection(connection->socket.descriptor());
  return connection;
}

std::unique_ptr<ImageSession::Connection> ImageSession::take_connection() {
  {
    const std::lock_guard lock(mutex_);
    // The matcher knows a connection's user by its beginning. A server may have become another one since.
    for (std::size_t left = idle_.size(); left-- > 0;) {
      if (idle_[left]->user != ::geteuid() || idle_[left]->group != ::getegid()) continue;
      auto connection = std::move(idle_[left]);
      idle_.erase(idle_.begin() + static_cast<std::ptrdiff_t>(left));
      if (identity_of(connection->socket.descriptor()) == connection->identity) return connection;
      (void)connection.release();  // its number belongs to the program now
    }
  }
  return connect();
}

void ImageSession::give_back(std::unique_ptr<Connection> connection) {
  connection->is_outdated = nullptr;
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(connection));
}

/// As runtime::Session: a process all of whose connections wait can do nothing, for the matcher.
void ImageSession::keep_another_connection() {
  {
    const std::lock_guard lock(mutex_);
    has_threads_ = has_threads_ || ::gettid() != ::getpid();
    if (!has_threads_ || idle_.size() > 1) return;
  }
  auto own = take_connection();
  auto another = take_connection();
  give_back(std::move(own));
  give_back(std::move(another));
}

// The last word

namespace {

/// A matcher that is busy takes a moment.
constexpr int most_looks = 20, look_ms = 100;

constinit std::atomic<int> connection{-1};
constinit std::atomic<std::uint64_t> connection_number{0};  ///< st_ino of the socket
constinit std::atomic<pid_t> owner{0};

std::uint64_t number_of(int descriptor) noexcept {
  struct stat facts {};
  return ::fstat(descriptor, &facts) == 0 && S_ISSOCK(facts.st_mode) ? facts.st_ino : 0;
}

/// A packet, as docs/protocol.md has it: little-endian, as all processes of a node are.
struct Packet {
  static constexpr std::size_t header_bytes = 8, file_bytes = 16;
  std::array<std::byte, header_bytes + 1 + 4 + most_farewell_files * file_bytes + 2> bytes{};
  std::size_t size = 0;

  template <class Number>
  void add(Number number) noexcept {
    std::memcpy(bytes.data() + size, &number, sizeof number);
    size += sizeof number;
  }
};

}  // namespace

void note_connection(int descriptor) noexcept {
  connection_number = number_of(descriptor);
  connection = descriptor;
  owner = ::getpid();
}

bool say_farewell(std::span<const runtime::FileIdentity> files) noexcept {
  const int descriptor = connection;
  const std::uint64_t number = connection_number;
  if (owner != ::getpid() || number == 0 || number_of(descriptor) != number) return false;
  const auto known = files.first(files.size() < most_farewell_files ? files.size() : most_farewell_files);
  Packet packet;
  packet.add(static_cast<std::uint16_t>(runtime::MessageType::file_holders));
  packet.add(std::uint16_t{0});  // flags
  packet.add(std::uint32_t{0});  // tag: no answer
  packet.add(std::uint8_t{0});   // it does not hold them
  packet.add(static_cast<std::uint32_t>(known.size()));
  for (const runtime::FileIdentity& file : known) {
    packet.add(file.device);
    packet.add(file.file);
  }
  packet.add(std::uint8_t{0});  // not by exec
  packet.add(std::uint8_t{0});  // nothing is known of changes
  const auto send = [&] {
    return ::send(descriptor, packet.bytes.data(), packet.size, MSG_NOSIGNAL | MSG_DONTWAIT) ==
           static_cast<ssize_t>(packet.size);
  };
  if (send()) return true;
  // The matcher reads what is there without this process, unless it is stopped.
  pollfd writable{descriptor, POLLOUT, 0};
  for (int i = 0; i < most_looks && (errno == EAGAIN || errno == EINTR); ++i) {
    (void)::poll(&writable, 1, look_ms);
    if (send()) return true;
  }
  return false;
}

bool has_noted_connection() noexcept {
  return owner == ::getpid() && connection_number != 0 && number_of(connection) == connection_number;
}

}  // namespace sluice::files
