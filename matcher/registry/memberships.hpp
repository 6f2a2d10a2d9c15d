#pragma once
// Answers the members of groups, and ends a group when its last member has finished.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "group_outcomes.hpp"
#include "offer_maker.hpp"
#include "publication.hpp"

namespace sluice::matcher {

struct RegistryParts;

/// Sends the outcome to the members that wait for it. May end the group.
void answer_members(RegistryParts& parts, Group& group);
/// The same for some of them, or for one.
void answer_members(RegistryParts& parts, Group& group, std::span<const std::uint32_t> ranks);
inline void answer_member(RegistryParts& parts, Group& group, std::uint32_t rank) {
  answer_members(parts, group, std::span(&rank, 1));
}
/// The member has closed, or has ended. May end the group.
void finish_member(RegistryParts& parts, Group& group, std::uint32_t rank, const FileUse& use = {});

/// Ends all memberships of the process. Returns true when the process was writing.
bool end_memberships(RegistryParts& parts, Process& process, const std::string& reason);
/// Ends its waits for files to read that came by this connection, each alone: nobody takes the answers.
void drop_waits(RegistryParts& parts, Process& process, std::uint64_t connection);
/// The component has exited: missing members will not arrive.
void end_groups_of(RegistryParts& parts, const Component& component);

}  // namespace sluice::matcher
