#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "registry_outlet.hpp"
#include "sluice/matcher/registry_requests.hpp"
#include "sluice/runtime/node_map.hpp"

namespace sluice::runtime {

/// Which matchers know of a step, and what they know: each is sent only what has changed.
class InformedMatchers {
 public:
  /// Both must outlive this object.
  InformedMatchers(const NodeMap& nodes, RegistryOutlet& outlet) : nodes_(nodes), outlet_(outlet) {}

  /// Sends the step's view. `tag`: of the query; 0: the matcher did not ask, and hears only of changes.
  void tell(std::uint32_t matcher, std::uint32_t tag, const matcher::Step& step);
  /// The matcher fetches data of the step from other nodes.
  void note_fetch(std::uint32_t matcher, const matcher::Step& step);
  /// The step is published: tells the matchers that probably want it next, and those whose gets may wait.
  void announce(const matcher::Step& step);
  /// The step is written by the C library, at this matcher, which hears of the step's end.
  void note_file(std::uint32_t matcher, const matcher::Step& step);
  /// The step is begun or published: tells a matcher that has an earlier one as its file.
  void tell_outdated(const matcher::Step& step);
  /// The matcher that has the step as a file; nothing: none has.
  [[nodiscard]] std::optional<std::uint32_t> matcher_with_file(matcher::StepId step) const;
  /// The newest step of the key that a matcher has as a file; 0: there is none.
  [[nodiscard]] matcher::StepId newest_file(const matcher::DatasetKey& key) const;
  /// Tells all who know of the step that it is no more.
  void erase(matcher::StepId step);

 private:
  /// The revisions of a step that a matcher has been sent.
  struct SentRevisions {
    std::uint64_t revision = 0;
    std::uint64_t header_revision = 0;
  };
  /// The view of a published step, encoded for all matchers that are told.
  struct SharedView {
    matcher::StepId step = 0;
    std::uint64_t revision = 0;
    bool has_header = true;
    SharedMessage message;
  };
  [[nodiscard]] SharedMessage shared_view(const matcher::Step& step, bool has_header);

  const NodeMap& nodes_;
  RegistryOutlet& outlet_;
  SharedView newest_;  ///< the last one that was sent
  /// Many processes of a matcher open a step one after the other.
  struct Told {
    std::uint32_t matcher = 0;
    matcher::StepId step = 0;  ///< 0: nobody was told
    std::uint64_t revision = 0;
  };
  Told last_;
  std::map<matcher::StepId, std::map<std::uint32_t, SentRevisions>> sent_;
  /// A step that is written by the C library.
  struct FileStep {
    std::uint32_t matcher = 0;  ///< has the file
    matcher::DatasetKey key;
  };
  std::map<matcher::StepId, FileStep> file_steps_;
  std::map<matcher::DatasetKey, matcher::StepId> newest_files_;
  /// By rule: the nodes to which data of its last steps was brought.
  std::map<std::uint32_t, std::set<std::uint32_t>> fetched_by_;
};

}  // namespace sluice::runtime
