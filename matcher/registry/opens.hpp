#pragma once
#include <cstdint>
#include <string>

#include "dataset_table.hpp"
#include "group_outcomes.hpp"
#include "offer_book.hpp"
#include "read_offers.hpp"
#include "step_maker.hpp"

namespace sluice::matcher {

struct RegistryParts;

/// Creates, opens, inquiries and removals: finds the outcome of each group, or lets it wait.
class Opens {
 public:
  explicit Opens(RegistryParts& parts) : parts_(parts) {}

  /// The process becomes a member of a group. The first member decides for all. Throws Error: NC_EPERM when
  /// the rule does not name its component, NC_EINVAL. `follows`: Group::follows.
  Group& join(const Ticket& ticket, Process& process, const Open& open, const WrittenFile& follows);
  /// A further process of the same component makes the same call. Throws Error(NC_EINVAL).
  void join_further(Group& group, const Ticket& ticket, Process& process, const Member& member);
  /// All processes of a group that was offered a step create it.
  Group& join_all(const OfferBook::Page& page, StepOffer offer, const Open& open);
  /// All processes of a group that has taken the read of the step open it.
  Group& join_read(const ReadOffers::Page& page, Step& step, const Open& open);
  /// Sets the outcome of a waiting group, if there is one now.
  void decide(Group& group);

 private:
  void add_member(Group& group, const Ticket& ticket, Process& process, std::uint32_t rank);
  Group& join_at_once(const Process& first, const std::vector<ProcessId>& members, const Open& open);
  [[nodiscard]] bool has_to_wait_behind_file(const Group& group) const;
  [[nodiscard]] bool has_to_change_place(const Group& group, const Dataset& dataset) const;
  [[nodiscard]] static bool is_being_changed(const Dataset& dataset);
  [[nodiscard]] bool is_optional(const Group& group) const;
  void await_publication(Group& group);
  [[nodiscard]] bool may_follow_others(const Group& group) const;
  void decide_create(Group& group);
  void decide_open_write(Group& group);
  void decide_open_read(Group& group);
  void decide_newest(Group& group);
  void decide_next_of_stream(Group& group);
  void decide_again(Group& group);
  /// The step of a stream that the job of the group's component is for; null: it has no job for that file.
  [[nodiscard]] Step* step_of_job(const Group& group) const;
  void refuse_for_good(Group& group);
  [[nodiscard]] bool has_to_wait_for_queue(const Group& group);
  [[nodiscard]] bool is_of_former_run(const Step* step, const DatasetKey& key) const;
  void decide_inquire(Group& group);
  [[nodiscard]] static bool is_closed_by_caller(const Group& group, const Dataset& dataset);
  void decide_remove(Group& group);
  [[nodiscard]] bool refuse_other_path(Group& group);
  [[nodiscard]] bool is_from_before(const Group& group) const;
  void refuse_recycled(Group& group);
  [[nodiscard]] std::string recycled_text(const Group& group) const;

  RegistryParts& parts_;
};

}  // namespace sluice::matcher
