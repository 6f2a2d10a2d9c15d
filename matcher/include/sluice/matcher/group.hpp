#pragma once
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <string>

#include "sluice/matcher/dataset_key.hpp"
#include "sluice/matcher/segment_pool.hpp"

namespace sluice::matcher {

struct Component;
struct Step;

/// What a request is answered to: opaque to the registry, given back with the answer.
struct Ticket {
  std::uint64_t connection = 0;
  std::uint32_t tag = 0;
  std::uint32_t matcher = 0;  ///< rank of the matcher that it came by
  bool operator==(const Ticket&) const = default;
};

enum class GroupPurpose : std::uint8_t {
  create,
  open_write,
  open_read,
  inquire,  ///< about the dataset as a reader would find it; opens nothing
  remove,
};

/// The processes of one communicator that make one create or open call, or the one that inquires or deletes.
/// Its members arrive one by one, in any order; what they get is decided once, and the group lives until each
/// of them has closed (or is gone), or has been told what it wanted to know.
struct Group {
  enum class Outcome : std::uint8_t { waiting, step, file, described, removed, refused };
  /// What a group waits for before its outcome is known.
  enum class WaitsFor : std::uint8_t {
    publication,
    own_step,
    memory,
    readers,  ///< create, open_write: until nobody has the file open that is to be written again
  };

  struct MemberState {
    ProcessId process{};
    std::optional<Ticket> ticket;  ///< while it waits for the answer
    bool is_finished = false;      ///< has closed, was refused, or is gone
    std::uint64_t since_ms = 0;
  };

  std::uint64_t id = 0;
  Component* component = nullptr;
  GroupPurpose purpose = GroupPurpose::open_read;
  DatasetKey key;
  std::uint32_t size = 1;
  bool no_clobber = false;
  bool is_import = false;       ///< create: of what a file has that was there before
  bool is_on_disk = false;      ///< open, inquire: the file is there
  std::uint8_t version = 1;     ///< create: asked for; described: that of the dataset
  std::string path;             ///< to be written: of the file that the dataset stands for, or is in; or the
                                ///< file that is the outcome
  std::uint64_t continues = 0;  ///< open_write: OpenRequest::continues
  bool spans_nodes = false;
  std::uint32_t node = 0;  ///< of the member that came first: its memory holds the control block

  Outcome outcome = Outcome::waiting;
  WaitsFor waits_for = WaitsFor::publication;
  Step* step = nullptr;
  int status = 0;                                ///< refused
  std::string text;                              ///< refused
  std::map<std::uint32_t, MemberState> members;  ///< by rank; those that have arrived
  std::uint32_t finished = 0;
  std::uint32_t synced =
      0;  ///< of a step in progress: members that have synced since the last publication, and go on
  std::uint64_t seen_publication = 0;  ///< open_read: Step::publications when one of it looked last

  /// Where it is among those that wait; null: it does not.
  std::list<Group*>* queue = nullptr;
  std::list<Group*>::iterator place_in_queue{};
  std::list<Group*>::iterator place_in_all{};

  [[nodiscard]] bool is_waiting() const noexcept { return outcome == Outcome::waiting; }
  [[nodiscard]] bool writes() const noexcept {
    return purpose == GroupPurpose::create || purpose == GroupPurpose::open_write;
  }
  [[nodiscard]] bool has_all_arrived() const noexcept { return members.size() == size; }
};

}  // namespace sluice::matcher
