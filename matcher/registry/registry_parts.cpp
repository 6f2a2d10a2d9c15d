#include "registry_parts.hpp"

#include <utility>

namespace sluice::matcher {

RegistryParts::RegistryParts(RegistryOptions options, SegmentMemory& segments,
                             RegistryAnswers& registry_answers)
    : answers(registry_answers),
      now_ms([this, clock = std::move(options.now_ms)] { return held_ms ? *held_ms : clock(); }),
      packing(options.packing),
      history(now_ms),
      rules(std::move(options.rules)),
      pools(options, segments),
      processes(options.components),
      datasets(options.most_past_files, options.least_folded_files),
      names(rules, std::move(options.directory)),
      published({now_ms, rules, datasets, names}),
      jobs(std::move(options.job_readers)),
      sequences(rules, processes, jobs),
      continued(rules),
      kept(answers, rules, names),
      readers(rules, processes, datasets, jobs, sequences),
      uses(answers, rules, datasets, now_ms),
      gatherings(now_ms, rules, processes, names),
      copies(now_ms),
      logs({answers, rules, pools, datasets, names}),
      drains({answers, rules, datasets, names, logs, history}),
      reads(options.offers),
      retention({answers, rules, datasets, names, readers, sequences, reads}, options),
      spare_images(datasets, options.nodes),
      offers(options.offers, reads),
      memory(pools, retention, spare_images, offers, !options.spill_directory.empty()),
      offer_maker(*this),
      grants(*this, std::move(options.spill_directory)),
      memory_waits(*this),
      get_waits(answers, processes),
      images(*this),
      groups(rules, names),
      looks(answers, processes),
      hopeless(*this),
      progress(*this) {}

MatcherPlace RegistryParts::place_of(const Ticket& ticket, const Process& process) const noexcept {
  MatcherPlace place = process.place;
  if (processes.writer_of({ticket.matcher, ticket.connection}) != nullptr) place.index = 0;
  return place;
}

}  // namespace sluice::matcher
