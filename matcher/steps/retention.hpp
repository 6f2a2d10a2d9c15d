#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "consumed_steps.hpp"
#include "dataset_names.hpp"
#include "dataset_table.hpp"
#include "file_rules.hpp"
#include "read_offers.hpp"
#include "reader_book.hpp"
#include "sluice/matcher/registry_requests.hpp"

namespace sluice::matcher {

/// The lifetime of steps. Frees steps that are not needed, and knows the order in which the memory and disk
/// space of the others may be reclaimed.
class Retention {
 public:
  struct Parts {
    RegistryAnswers& answers;
    const FileRules& rules;
    DatasetTable& datasets;
    const DatasetNames& names;
    ReaderBook& readers;
    StepSequences& sequences;
    ReadOffers& reads;
  };
  Retention(const Parts& parts, const RegistryOptions& options);

  /// Adds a new step.
  void add(Step& step) { unconsumed_.emplace(step.id, &step); }
  /// Call after a change of the processes that need the step. May erase the step.
  void review(Step& step);
  /// Takes back the image of the step on the node. May erase the step.
  void drop_image(Step& step, std::uint32_t node);
  /// Call after a process of the component has connected or ended.
  void review_steps_read_by(const Component& component);
  /// The component has failed, and is started again.
  void note_reader_restart(const Component& component);
  /// The step is made, perhaps by a writer that was started again.
  void note_made(Step& step, const Component& writer) { parts_.readers.note_created_again(step, writer); }
  /// A file was opened for writing again. Usually each step of the file adds a record, so other files will be
  /// opened, too.
  void note_continued(std::uint32_t rule);
  /// The newest step is no longer the newest one.
  void supersede(Dataset& dataset);
  /// The same for a stream: its readers may still take the step.
  void leave_in_stream(Dataset& dataset);

  /// The erase_…() functions erase one step with data on the node. They return false when there is none. This
  /// function: the first consumed step.
  bool erase_consumed(std::uint32_t node) { return erase_if_any(consumed_.first_on(node, Medium::memory)); }
  /// The oldest consumed step that is not the last of its rule.
  bool erase_spare(std::uint32_t node) {
    return erase_if_any(consumed_.first_spare_on(node, Medium::memory));
  }
  /// Whether there are consumed steps without data beyond `most` that can go.
  [[nodiscard]] bool has_without_data(std::size_t most) const {
    return consumed_.first_spare_without_data(most) != nullptr;
  }
  /// The oldest consumed steps without data, which nothing else ever removes, beyond `most`.
  void erase_without_data(std::size_t most) {
    while (erase_if_any(consumed_.first_spare_without_data(most))) continue;
  }
  /// The oldest consumed step on the node's disk; the last step of a rule only with `even_last`.
  bool erase_spilled(std::uint32_t node, bool even_last);
  /// The first step that a reader might open again, when there is no space for it anywhere.
  bool erase_doubtful(std::uint32_t node, Medium medium);
  bool erase_doubtful(std::uint32_t node) {
    return erase_doubtful(node, Medium::memory) || erase_doubtful(node, Medium::disk);
  }
  /// The first step that nobody is likely to ask for: all who might wait, perhaps for who asks for memory.
  bool erase_given_up(std::uint32_t node);
  /// Whether the node has a step that was read, and that nobody has to have.
  [[nodiscard]] bool has_read(std::uint32_t node) const;
  /// The oldest of these: the disk has its reserve only.
  bool erase_read(std::uint32_t node);
  /// The same, of steps whose data is on the disk.
  bool erase_read_on_disk(std::uint32_t node);
  /// One step on the disk of any node: the least needed one.
  bool erase_on_disk();

  /// Bytes of consumed steps in the node's memory.
  [[nodiscard]] std::uint64_t consumed_bytes(std::uint32_t node) const {
    return consumed_.bytes_on(node, Medium::memory);
  }
  /// Whether the node has more bytes of consumed steps than should stay readable.
  [[nodiscard]] bool has_surplus(std::uint32_t node) const { return consumed_bytes(node) > retain_bytes_; }
  /// Whether only its logs have the step of a stream, for a run that goes on where this one ends.
  [[nodiscard]] bool is_left_in_logs(const Step& step) const { return is_for_resume(step) && is_past(step); }
  /// The steps that a process waits for, or may open.
  [[nodiscard]] const std::map<StepId, Step*>& unconsumed() const noexcept { return unconsumed_; }

 private:
  [[nodiscard]] bool is_in_use(const Step& step) const;
  [[nodiscard]] bool is_for_resume(const Step& step) const;
  [[nodiscard]] bool is_past(const Step& step) const;
  void keep(Step& step);
  void erase(Step& step);
  bool erase_if_any(Step* step);
  [[nodiscard]] Step* first_given_up(const std::function<bool(const Step&)>& is_meant) const;
  [[nodiscard]] Step* first_read(std::uint32_t node) const;
  bool erase_for_reserve(Step* step);
  bool erase_given_up(const std::function<bool(const Step&)>& is_meant);
  void free_disk(const Step& step);
  void tell_of_doubtful(const Step& step, const std::string& why);
  [[nodiscard]] std::string no_space() const;
  [[nodiscard]] std::string remedy_for(const Step& step) const;

  Parts parts_;
  std::uint32_t nodes_;
  std::uint64_t retain_bytes_;
  std::string spill_directory_;
  ConsumedSteps consumed_;  ///< Claim::none
  ConsumedSteps doubtful_;
  std::map<StepId, Step*> unconsumed_;  ///< all other steps
  bool has_told_of_doubtful_ = false;
};

}  // namespace sluice::matcher
