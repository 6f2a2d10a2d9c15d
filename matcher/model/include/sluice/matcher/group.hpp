#pragma once
#include <cstdint>
#include <list>
#include <optional>
#include <string>

#include "sluice/matcher/by_number.hpp"
#include "sluice/matcher/open.hpp"
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

/// The processes of one communicator that make one create or open call, or the one process that inquires or
/// deletes. The members arrive one by one, in any order. The outcome is decided once for all of them. The
/// group lives until each member has closed or ended, or has received the answer to its inquiry.
/// Its call is the base: `member` is that of the first one. When a file is the outcome, `path` is that of the
/// file; `version` is the dataset's when it was described.
struct Group : Open {
  enum class Outcome : std::uint8_t { waiting, step, file, described, removed, refused };
  /// The event that a group waits for before its outcome is known.
  enum class WaitsFor : std::uint8_t {
    publication,
    own_step,
    memory,
    readers,  ///< create, write: until no process has the file open that is to be written again
    queue,    ///< create, write: until a reader has read a step (when-full: wait)
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

  std::uint64_t serial = 0;  ///< unique; later groups have greater ones
  Component* component = nullptr;
  /// A file of that name had been closed before the call, and was not published yet. So it comes first.
  WrittenFile follows = {};
  bool exceeds_queue = false;  ///< create, write: no longer waits for the queue
  bool is_offered = false;     ///< read: it has taken an offered read
  std::uint32_t node = 0;      ///< node of the first member: its memory holds the control block

  Outcome outcome = Outcome::waiting;
  WaitsFor waits_for = WaitsFor::publication;
  Step* step = nullptr;
  int status = 0;                                ///< refused
  std::string text;                              ///< refused
  ByNumber<std::uint32_t, MemberState> members;  ///< the members that have arrived
  std::uint32_t finished = 0;
  std::uint32_t synced =
      0;  ///< writers of a step in progress: members that have synced since the last publication
  std::uint64_t seen_publication = 0;  ///< read: Step::publications at the last look of a member

  /// The queue in which the group waits; null: the group does not wait.
  std::list<Group*>* queue = nullptr;
  std::list<Group*>::iterator place_in_queue{};
  std::list<Group*>::iterator place_in_all{};

  [[nodiscard]] bool is_waiting() const noexcept { return outcome == Outcome::waiting; }
  [[nodiscard]] bool has_all_arrived() const noexcept { return members.size() == member.size; }
  /// By rank.
  [[nodiscard]] std::vector<ProcessId> processes() const {
    std::vector<ProcessId> found;
    for (const auto& [rank, one] : members) found.push_back(one.process);
    return found;
  }
};

}  // namespace sluice::matcher
