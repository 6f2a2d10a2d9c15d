#include "memberships.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "registry_parts.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::matcher {

namespace {
bool is_discarded(const Group& group) {
  return group.step != nullptr &&
         (group.step->state == StepState::discarded || (group.step->is_cut && group.writes()));
}

/// Answers to members of one group.
struct Answers {
  std::vector<Ticket> tickets;
  std::vector<std::uint32_t> finished;  ///< ranks that have finished with the group then
};

void record_wait(RegistryParts& parts, const Group& group, Group::MemberState& member) {
  member.opened_ms = parts.history.now_ms();
  const Process* const process = parts.processes.find(member.process);
  if (process == nullptr || member.opened_ms == member.since_ms) return;
  parts.history.add(Activity::Kind::wait_open, *process, group.key.rule, parts.names.of(group.key),
                    member.since_ms);
}

void add_answer(RegistryParts& parts, Answers& answers, const Group& group, std::uint32_t rank,
                Group::MemberState& member) {
  if (member.is_finished) return;
  const bool ends_with_answer = !group.is_waiting() && group.outcome != Group::Outcome::step;
  if (ends_with_answer || (member.ticket && is_discarded(group))) answers.finished.push_back(rank);
  if (!member.ticket) return;
  answers.tickets.push_back(*std::exchange(member.ticket, std::nullopt));
  record_wait(parts, group, member);
  if (Process* process = parts.processes.find(member.process))
    ProcessTable::change(*process, [&] { --process->waits; });
}

void answer_tickets(RegistryParts& parts, std::span<const Ticket> tickets, const Group& group) {
  if (group.outcome == Group::Outcome::step) {
    return group.purpose == Purpose::create ? parts.answers.created_all(tickets, *group.step)
                                            : parts.answers.opened_all(tickets, *group.step);
  }
  for (const Ticket& ticket : tickets) {
    if (group.outcome == Group::Outcome::refused) {
      parts.answers.refused(ticket, group.status, group.text);
    } else if (group.outcome == Group::Outcome::file) {
      parts.answers.opened_file(ticket, group.path);
    } else if (group.outcome == Group::Outcome::removed) {
      parts.drains.answer_removal(ticket, group.key);
    } else {
      parts.answers.described(ticket, group.version);
    }
  }
}

/// May end the group.
void send_answers(RegistryParts& parts, const Answers& answers, Group& group) {
  if (is_discarded(group)) {
    for (const Ticket& ticket : answers.tickets) parts.answers.refused(ticket, NC_EIO, group.step->reason);
  } else if (!answers.tickets.empty()) {
    answer_tickets(parts, answers.tickets, group);
  }
  for (const std::uint32_t rank : answers.finished) finish_member(parts, group, rank);
}

void record_use(RegistryParts& parts, const Group& group, const Group::MemberState& member,
                const Process& process, const FileUse& use) {
  if (group.step == nullptr || member.ticket || !RunHistory::shows(process)) return;
  const std::uint64_t put_bytes = use.counters.put_bytes, get_bytes = use.counters.get_bytes;
  const Activity::Kind reading = use.counters.opens > 0 ? Activity::Kind::open : Activity::Kind::read;
  parts.history.add(group.writes() ? Activity::Kind::write : reading, process, group.key.rule,
                    group.step->name, member.opened_ms, put_bytes + get_bytes + use.counters.opened_bytes);
  parts.history.add_calls({Activity::Kind::put, group.key.rule, group.step->name, put_bytes}, process,
                          use.times.puts);
  parts.history.add_calls({Activity::Kind::get, group.key.rule, group.step->name, get_bytes}, process,
                          use.times.gets);
}

void finish_group(RegistryParts& parts, Group& group) {
  Step* const step = group.step;
  const auto ended = parts.groups.remove(group);
  if (step == nullptr) return;
  NodeBytes read_on_disk;  // the review below may erase the step
  if (!group.writes()) read_on_disk = parts.grants.bytes_on_disk(*step);
  if (!group.writes()) {
    std::erase(step->readers, &group);
    if (step->readers.empty()) parts.memory_waits.drop_inbound_on(*step);
    parts.readers.note_read(*step, group);
    if (parts.readers.has_read(*step, *group.component)) parts.answers.read(*step, group.component->name);
    if (group.is_offered) parts.reads.end_read(step->id, group.processes());
    parts.offer_maker.note_read(*step, group);
  } else {
    step->writers = nullptr;
    if (step->state == StepState::in_progress) end_written(parts, *step);
    step->control.release();
    parts.offers.end_step(step->id);
    parts.reads.end_hidden(step->key.rule, step->id);
    parts.offer_maker.note_written(*step, group);
  }
  parts.retention.review(*step);
  for (const auto& [node, bytes] : read_on_disk) parts.grants.keep_reserve(node);
}

}  // namespace

void answer_members(RegistryParts& parts, Group& group) {
  Answers answers;
  constexpr std::size_t ahead = 8;
  auto soon = group.members.begin();
  const auto expect_next = [&] {
    if (soon != group.members.end()) parts.processes.expect((soon++)->second.process);
  };
  for (std::size_t i = 0; i < ahead; ++i) expect_next();
  for (auto& [rank, member] : group.members) {
    expect_next();
    add_answer(parts, answers, group, rank, member);
  }
  send_answers(parts, answers, group);
}

void answer_members(RegistryParts& parts, Group& group, std::span<const std::uint32_t> ranks) {
  Answers answers;
  for (const std::uint32_t rank : ranks) add_answer(parts, answers, group, rank, group.members.at(rank));
  send_answers(parts, answers, group);
}

void finish_member(RegistryParts& parts, Group& group, std::uint32_t rank, const FileUse& use) {
  Group::MemberState& member = group.members.at(rank);
  member.is_finished = true;
  if (group.writes() && group.step != nullptr && !group.step->packed &&
      group.step->logs[group.step->first_own_log + rank]->synced->point.has_value())
    --group.synced;
  if (Process* process = parts.processes.find(member.process)) {
    record_use(parts, group, member, *process, use);
    process->memberships.erase(group.serial);
  }
  if (++group.finished == group.member.size) finish_group(parts, group);
}

bool end_memberships(RegistryParts& parts, Process& process, const std::string& reason) {
  bool was_writing = false;
  while (!process.memberships.empty()) {
    const auto [group_pointer, rank] = process.memberships.back().value;
    Group& group = *group_pointer;
    group.members.at(rank).ticket.reset();
    group.members.at(rank).has_died = true;
    if (group.writes() && group.is_waiting()) {
      refuse(parts, group, NC_EIO, reason);  // finishes all its members, including this one
      answer_members(parts, group);
      continue;
    }
    if (group.writes() && group.step != nullptr) {
      was_writing = true;
      if (!group.step->control.empty())
        parts.pools.of(group.step->control.id()).memory().mark_gone(group.step->control.id(), rank);
      if (group.step->state == StepState::in_progress) end_by_death(parts, *group.step, reason);
    }
    finish_member(parts, group, rank);
  }
  return was_writing;
}

void drop_waits(RegistryParts& parts, Process& process, std::uint64_t connection) {
  std::vector<Group*> dropped;
  for (const auto& membership : process.memberships) {
    const auto [group, rank] = membership.value;
    const auto& ticket = group->members.at(rank).ticket;
    const bool waits = group->purpose == Purpose::read && group->member.size == 1 && group->is_waiting();
    if (waits && ticket && ticket->connection == connection) dropped.push_back(group);
  }
  for (Group* const group : dropped) {
    group->members.begin()->second.ticket.reset();
    ProcessTable::change(process, [&] { --process.waits; });
    finish_member(parts, *group, group->members.begin()->first);
  }
}

void end_groups_of(RegistryParts& parts, const Component& component) {
  for (Group* group : parts.groups.of_component(component)) {  // members that never arrived, and will not
    if (group->writes() && group->step != nullptr && group->step->state == StepState::in_progress) {
      end_by_death(parts, *group->step, component.name + " " + component.reason);
    }
    group->finished = group->member.size;
    finish_group(parts, *group);
  }
}

}  // namespace sluice::matcher
