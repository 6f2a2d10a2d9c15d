#pragma once
// Creates, opens, inquiries and removals: finds the outcome of each group, or lets it wait.
#include <cstdint>
#include <string>

#include "dataset_table.hpp"
#include "group_outcomes.hpp"
#include "offer_book.hpp"
#include "read_offers.hpp"
#include "step_maker.hpp"

namespace sluice::matcher {

struct RegistryParts;

/// The process becomes a member of a group. The first member decides for all. Throws Error: NC_EPERM when
/// the rule does not name its component, NC_EINVAL. `follows`: Group::follows.
Group& join_group(RegistryParts& parts, const Ticket& ticket, Process& process, const Open& open,
                  const WrittenFile& follows);
/// A further process of the same component makes the same call. Throws Error(NC_EINVAL).
void join_further(RegistryParts& parts, Group& group, const Ticket& ticket, Process& process,
                  const Member& member);
/// All processes of a group that was offered a step create it.
Group& join_all(RegistryParts& parts, const OfferBook::Page& page, StepOffer offer, const Open& open);
/// All processes of a group that has taken the read of the step open it.
Group& join_read(RegistryParts& parts, const ReadOffers::Page& page, Step& step, const Open& open);
/// Sets the outcome of a waiting group, if there is one now.
void decide(RegistryParts& parts, Group& group);

}  // namespace sluice::matcher
