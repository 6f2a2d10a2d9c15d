#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "group_outcomes.hpp"
#include "offer_maker.hpp"
#include "publication.hpp"

namespace sluice::matcher {

struct RegistryParts;

/// Answers the members of groups, and ends a group when its last member has finished.
class Memberships {
 public:
  explicit Memberships(RegistryParts& parts) : parts_(parts) {}

  /// Sends the outcome to the members that wait for it. May end the group.
  void answer_members(Group& group);
  /// The same for some of them, or for one.
  void answer_members(Group& group, std::span<const std::uint32_t> ranks);
  void answer_member(Group& group, std::uint32_t rank) { answer_members(group, std::span(&rank, 1)); }
  /// The member has closed, or has ended. May end the group.
  void finish(Group& group, std::uint32_t rank, const FileUse& use = {});

  /// Ends all memberships of the process. Returns true when the process was writing.
  bool end_process(Process& process, const std::string& reason);
  /// Ends its waits for files to read that came by this connection, each alone: nobody takes the answers.
  void drop_waits(Process& process, std::uint64_t connection);
  /// The component has exited: missing members will not arrive.
  void end_component(const Component& component);

 private:
  /// Answers to members of one group.
  struct Answers {
    std::vector<Ticket> tickets;
    std::vector<std::uint32_t> finished;  ///< ranks that have finished with the group then
  };
  void add_answer(Answers& answers, const Group& group, std::uint32_t rank, Group::MemberState& member);
  void send(const Answers& answers, Group& group);
  void record_wait(const Group& group, Group::MemberState& member);
  void record_use(const Group& group, const Group::MemberState& member, const Process& process,
                  const FileUse& use);
  void answer(std::span<const Ticket> tickets, const Group& group);
  void finish_group(Group& group);

  RegistryParts& parts_;
};

}  // namespace sluice::matcher
