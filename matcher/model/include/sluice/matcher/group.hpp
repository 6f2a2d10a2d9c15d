#pragma once
#include <cstdint>
#include <list>
#include <optional>
#include <string>

#include "sluice/matcher/by_number.hpp"
#include "sluice/matcher/dataset_key.hpp"
#include "sluice/matcher/segment_pool.hpp"
#include "sluice/matcher/status_report.hpp"

namespace sluice::matcher {

struct Component;
struct Step;

/// Identifies the request that an answer belongs to. Opaque to the registry, which returns it with the
/// answer.
struct Ticket {
  std::uint64_t connection = 0;
  std::uint32_t tag = 0;
  std::uint32_t matcher = 0;  ///< rank of the matcher through which the request came
  bool operator==(const Ticket&) const = default;
};

/// One of several processes that make the same request.
struct Caller {
  Ticket ticket;
  ProcessId process{};
  std::uint32_t rank = 0;  ///< in a call of a group: Member::rank
};

enum class GroupPurpose : std::uint8_t {
  create,
  open_write,
  open_read,
  inquire,  ///< describes the dataset that a reader would find; opens nothing
  remove,
};

/// The processes of one communicator that make one create or open call, or the one process that inquires or
/// deletes. The members arrive one by one, in any order. The outcome is decided once for all of them. The
/// group lives until each member has closed or ended, or has received the answer to its inquiry.
struct Group {
  enum class Outcome : std::uint8_t { waiting, step, file, described, removed, refused };
  /// The event that a group waits for before its outcome is known.
  enum class WaitsFor : std::uint8_t {
    publication,
    own_step,
    memory,
    readers,  ///< create, open_write: until no process has the file open that is to be written again
    queue,    ///< create, open_write: until a reader has read a step (when-full: wait)
    file,     ///< until the file that it follows has been published or given up
    members,  ///< until all members have come: some may follow a file of another matcher
  };

  struct MemberState {
    ProcessId process{};
    std::optional<Ticket> ticket;  ///< set while the member waits for the answer
    bool is_finished = false;      ///< has closed, was refused, or has ended
    bool has_died = false;         ///< has ended before it had closed
    std::uint64_t since_ms = 0;    ///< when it has asked
    std::uint64_t opened_ms = 0;   ///< when it has got the answer
  };

  std::uint64_t id = 0;
  std::uint64_t serial = 0;  ///< unique; later groups have greater ones
  Component* component = nullptr;
  GroupPurpose purpose = GroupPurpose::open_read;
  DatasetKey key;
  std::uint32_t size = 1;
  bool no_clobber = false;
  bool is_import = false;    ///< create: begins with the contents of an existing file
  bool goes_on = false;      ///< create: CreateRequest::goes_on
  bool is_in_place = false;  ///< create: CreateRequest::is_in_place
  bool is_on_disk = false;   ///< open, inquire: the file exists on disk
  std::uint8_t version = 1;  ///< create: the requested version; described: the dataset's version
  /// For writers: the path of the file that the dataset stands for, or is in. When a file is the outcome: the
  /// path of that file.
  std::string path;
  std::uint64_t continues = 0;    ///< open_write: OpenRequest::continues
  bool is_look = false;           ///< open_read: OpenRequest::is_look
  bool wants_newest = false;      ///< open_read: OpenRequest::wants_newest
  bool is_behind_memory = false;  ///< open_read: OpenRequest::is_behind_memory
  WrittenFile follows = {};       ///< an open, inquiry: CreateRequest::follows
  bool exceeds_queue = false;     ///< create, open_write: no longer waits for the queue
  bool is_offered = false;        ///< open_read: it has taken an offered read
  bool spans_nodes = false;
  std::uint32_t node = 0;  ///< node of the first member: its memory holds the control block

  Outcome outcome = Outcome::waiting;
  WaitsFor waits_for = WaitsFor::publication;
  Step* step = nullptr;
  int status = 0;                                ///< refused
  std::string text;                              ///< refused
  ByNumber<std::uint32_t, MemberState> members;  ///< the members that have arrived
  std::uint32_t finished = 0;
  std::uint32_t synced =
      0;  ///< writers of a step in progress: members that have synced since the last publication
  std::uint64_t seen_publication = 0;  ///< open_read: Step::publications at the last look of a member

  /// The queue in which the group waits; null: the group does not wait.
  std::list<Group*>* queue = nullptr;
  std::list<Group*>::iterator place_in_queue{};
  std::list<Group*>::iterator place_in_all{};

  [[nodiscard]] bool is_waiting() const noexcept { return outcome == Outcome::waiting; }
  [[nodiscard]] bool writes() const noexcept {
    return purpose == GroupPurpose::create || purpose == GroupPurpose::open_write;
  }
  [[nodiscard]] bool has_all_arrived() const noexcept { return members.size() == size; }
  /// By rank.
  [[nodiscard]] std::vector<ProcessId> processes() const {
    std::vector<ProcessId> found;
    for (const auto& [rank, member] : members) found.push_back(member.process);
    return found;
  }
};

}  // namespace sluice::matcher
