#pragma once
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "get_answer.hpp"
#include "matcher_base.hpp"
#include "readable_sockets.hpp"
#include "sluice/matcher/step.hpp"
#include "user_rights.hpp"
#include "watched_socket.hpp"

namespace sluice::runtime {

/// A process in the matcher that it is connected to.
struct LocalProcess {
  matcher::ProcessId id{};  ///< this matcher's number, not the registry's; never reused
  std::string component;
  std::uint64_t token = 0;
  std::uint32_t process_id = 0;  ///< of the operating system
  std::uint32_t connections = 0;
  std::map<matcher::StepId, std::uint32_t> open_steps = {};  ///< with the number of times
  /// Steps whose images the process has had, and that it has open until it closes them (Open::is_kept).
  std::map<matcher::StepId, matcher::AccessCounters> kept_steps = {};
  /// The newest steps that it has opened by the C library, for the summary.
  std::set<matcher::StepId> counted_steps = {};

  [[nodiscard]] bool has_open(matcher::StepId step) const { return open_steps.contains(step); }
  void note_open(matcher::StepId step) { ++open_steps[step]; }
  void note_close(matcher::StepId step);
  /// Whether an open by the C library is the process's first one of the step, as far as is remembered. Nobody
  /// knows what such a process reads, and many programs open a file several times to read it once.
  [[nodiscard]] bool counts_anew(matcher::StepId step);
};

/// The processes that are connected to a matcher.
class LocalProcesses {
 public:
  /// Adds a connection. Component, token and process id identify the process.
  LocalProcess& connect(const std::string& component, std::uint64_t token, std::uint32_t process_id);
  /// Removes a connection. Returns whether it was the last one, with which the process ends.
  [[nodiscard]] bool disconnect(LocalProcess& process);

 private:
  struct Identity {
    std::string component;
    std::uint64_t token = 0;
    std::uint32_t process_id = 0;
    auto operator<=>(const Identity&) const = default;
  };
  std::map<Identity, LocalProcess> processes_;
  std::uint64_t next_id_ = 1;
};

using ClientId = std::uint64_t;

/// A connection of a client process.
struct Client {
  ClientId id = 0;
  std::unique_ptr<WatchedSocket> socket;
  LocalProcess* process = nullptr;                        ///< null until hello
  std::string end_reason;                                 ///< why it is to be closed; empty: it stays open
  std::unordered_set<matcher::SegmentId> known_segments;  ///< segments that were named on this connection
  std::unordered_set<std::uint64_t> known_files;          ///< files whose descriptors were sent on it
  std::vector<matcher::SegmentId> dropped_segments;       ///< destroyed known segments, not yet announced
  std::unordered_map<matcher::StepId, AnnouncedRanges> told;
  /// An image that the process gets in one exchange. Its step is open until it has its answer.
  struct ImageRead {
    matcher::StepId step = 0;      ///< 0: the registry has not answered
    bool is_counted = false;       ///< the process reads the step, and does not only look
    bool is_kept = false;          ///< Open::is_kept
    bool has_image = false;        ///< the answer was an image
    bool grows = false;            ///< ImageMade::grows
    std::string path = {};         ///< Open::path
    std::uint64_t count = 0;       ///< ImageMade::count
    bool wants_facts = false;      ///< alone, if another node has the file open
    std::optional<Open> own = {};  ///< for open_file, or a file that gets a name: what was asked
    /// Takes the file, or null, and answers later.
    std::function<void(const SharedFile&)> then = {};
    std::chrono::steady_clock::time_point begin = {};
    matcher::AccessCounters counters = {};
  };
  std::unordered_map<std::uint32_t, ImageRead> image_reads;  ///< by tag
  std::vector<ReadEnd> ended_reads;                          ///< of which the registry is to hear
  /// The last create or open: its step, once the registry has answered.
  struct Opening {
    std::uint32_t tag = 0;
    Purpose purpose = Purpose::read;
    matcher::StepId step = 0;
  } opening;
  std::shared_ptr<const UserRights> rights = {};  ///< shared with what is done for it; null: this user's
  bool is_neighbour = false;                      ///< another matcher of this node; it says no hello
  bool is_known_to_registry = false;              ///< the registry has answered it

  [[nodiscard]] std::string name() const;
  [[nodiscard]] const std::string& trouble() const {
    return end_reason.empty() ? socket->trouble() : end_reason;
  }
};

/// Handles the messages of clients.
class ClientHandler {
 public:
  virtual ~ClientHandler() = default;
  /// An exception means a damaged message, and ends the connection.
  virtual void handle(Client& client, ReceivedMessage& message) = 0;
  /// Handles mail that was posted until now: what processes have told without a message.
  virtual void take_mail() = 0;
  enum class EndKind { told, untold };  ///< whether the registry is told
  /// A connection of the process has ended.
  virtual void ended(ClientId client, matcher::ProcessId process, EndKind kind) = 0;
};

/// The connections of client processes to this matcher, and their listening socket.
class ClientConnections {
 public:
  /// Begins to listen; listen() accepts connections. `door`: of other users, or empty. Throws IoError.
  ClientConnections(MatcherBase& base, std::string socket_path, const std::string& door,
                    ClientHandler& handler);
  ~ClientConnections();
  ClientConnections(const ClientConnections&) = delete;
  ClientConnections& operator=(const ClientConnections&) = delete;

  void listen();
  /// Answers by `image_made`, or leaves the answer to ImageRead::then. `file` has the bytes of the image.
  void send_image(Client& client, std::uint32_t tag, ImageMade made, SharedFile file);
  /// Null when the connection has ended.
  [[nodiscard]] Client* find(ClientId id);
  /// Whether a connection has not said hello yet. A thread that makes its first call sleeps until its hello
  /// is answered. Until then nobody knows that the thread can act.
  [[nodiscard]] bool is_somebody_connecting() const;
  /// A connection of the process, by this matcher's number; null: there is none.
  [[nodiscard]] Client* find_of(matcher::ProcessId process);
  /// Finds or makes the process of a connection that says hello.
  void connect_process(Client& client, const Hello& hello);
  /// The process may forget where the step's data is, so the matcher will tell it again.
  void forget_announced(const LocalProcess& process, matcher::StepId step);

  /// Sends the names of destroyed segments first.
  void send(Client& client, MessageType type, std::uint32_t tag, std::vector<std::byte> fields,
            std::vector<SharedFile> files = {});
  void send_error(Client& client, std::uint32_t tag, int status, const std::string& text);

  /// Closes the connection at the end of the current turn.
  void hang_up(ClientId id, std::string reason);
  /// Called at the end of each turn of the loop.
  void end_troubled();
  /// Looks which messages are in the sockets by now. Afterwards handle_earlier() handles the earliest of
  /// them, if it was sent before the time, and returns false when there is none.
  void look_for_messages();
  [[nodiscard]] bool handle_earlier(std::uint64_t time);
  /// Takes what these processes (by their numbers in the operating system) have sent so far, and what has
  /// come over connections that are new.
  void take_sent(std::span<const std::uint32_t> processes);
  /// The same for the processes of the component.
  void take_sent_by(const std::string& component);
  /// Handles what the component's processes sent before they ended, and closes their connections.
  void drain_component(const std::string& component);

  /// The process has what it wanted to know by its open, or will never have it: the step is closed.
  void end_image_read(Client& client, std::uint32_t tag);

 private:
  void listen(boost::asio::posix::stream_descriptor& watch);
  void accept_clients();
  void turn_away();
  void take_sent_if(const std::function<bool(const LocalProcess&)>& is_concerned);
  void add(PacketSocket socket);
  void on_client(ClientId id);
  void drain(ClientId id, std::size_t max_messages);
  void end(ClientId id, const std::string& trouble,
           ClientHandler::EndKind kind = ClientHandler::EndKind::told);
  [[nodiscard]] std::uint64_t next_time(ClientId id) const;
  [[nodiscard]] std::vector<ClientId> ids() const;
  void announce_drops(Client& client);
  void note_failure(Client& client, std::uint32_t tag);
  void tell_ended_reads(Client& client);
  void collect_destroyed_segments();

  MatcherBase& base_;
  ClientHandler& handler_;
  std::string socket_path_;
  FileDescriptor listener_;
  boost::asio::posix::stream_descriptor listener_watch_;
  FileDescriptor door_;  ///< for processes that have become other users
  boost::asio::posix::stream_descriptor door_watch_;
  boost::asio::steady_timer accept_pause_;
  FileDescriptor spare_;  ///< given up for a moment to tell a process that no other descriptor is free
  LocalProcesses processes_;
  std::map<ClientId, Client> clients_;
  std::set<ClientId> troubled_;
  std::unique_ptr<ReadableSockets> readable_;  ///< null before look_for_messages()
  struct Waiting {
    ClientId client = 0;
    std::uint64_t time = 0;  ///< of its first message in the socket
  };
  std::vector<Waiting> waiting_;
  ClientId next_client_ = 1;
};

}  // namespace sluice::runtime
