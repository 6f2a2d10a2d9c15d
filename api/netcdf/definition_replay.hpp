#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "program_library.hpp"

namespace sluice::api::netcdf {

class DescribedDataset;

/// An attribute: the group and the variable of the shadow, and its name.
using AttributePlace = std::tuple<int, int, std::string>;

/// A call, and what it returned and gave.
struct RecordedCall {
  std::string question;
  int status = 0;
  std::string results = {};  ///< of an attribute that may change: its values
  bool is_change = true;     ///< of the shadow: later inquiries may have other answers
  std::function<int(const ProgramLibrary&, int shadow)> repeat = {};
  /// Gives the coupled dataset what it has then, but for attributes that have changed since.
  std::function<int(DescribedDataset&, const std::map<AttributePlace, std::string>&)> describe = {};
  std::size_t bytes = 0;  ///< about the memory that the functions take
};

/// The replay of definitions: as long as each call of a new dataset equals the one at its place in an earlier
/// dataset, its results are those of that one, and there is no shadow. From the first other call on, there is
/// a shadow, and the calls are recorded for later datasets, with answers to the inquiries between them.
class DefinitionReplay {
 public:
  /// Equal calls have equal results only within one kind.
  explicit DefinitionReplay(std::string kind);

  /// Whether all calls so far were those of an earlier dataset.
  [[nodiscard]] bool is_replaying() const noexcept { return earlier_ != nullptr; }
  /// A question at this place: its beginning, to which its arguments are added.
  [[nodiscard]] std::string question(int group, const char* function) const;

  /// The next call of an earlier dataset that began with the same calls; null: there is none.
  [[nodiscard]] const RecordedCall* next(const std::string& question);
  /// The same for a call that sets an attribute to `own.results`, which may be other values than in the
  /// earlier dataset. Returns the status of that.
  [[nodiscard]] std::optional<int> next_attribute(const AttributePlace& place, const RecordedCall& own);
  /// While it replays: the attributes whose values are others than in the earlier dataset.
  [[nodiscard]] const std::map<AttributePlace, std::string>& changed_attributes() const noexcept {
    return changed_;
  }
  /// The answer to an inquiry at this place; null: it is not known.
  [[nodiscard]] const RecordedCall* find(const std::string& question) const;

  /// Ends the replay: makes all calls so far for that new shadow. Returns a status.
  int repeat(const ProgramLibrary& library, int shadow);

  /// While it does not replay: what came of a call, or of an inquiry, of which a later dataset may have the
  /// results.
  void add(RecordedCall call);
  void add_inquiry(RecordedCall inquiry);
  /// What follows is not recorded, and later datasets do not have the record.
  void give_up() noexcept { is_recording_ = false; }
  /// The dataset is closed: later ones may have its record.
  static void keep(const std::shared_ptr<const DefinitionReplay>& replay);

 private:
  [[nodiscard]] bool begins_like(const DefinitionReplay& other, std::size_t calls) const;
  void count(const RecordedCall& call);

  std::string kind_;
  std::shared_ptr<const DefinitionReplay> earlier_;  ///< shared with other datasets; null: not replaying
  std::size_t position_ = 0;                         ///< in the calls of the earlier dataset
  std::map<std::size_t, std::shared_ptr<const RecordedCall>> own_;  ///< calls that differ, by position
  std::map<AttributePlace, std::string> changed_;
  std::uint32_t changes_ = 0;
  bool is_recording_ = true;
  std::vector<std::shared_ptr<const RecordedCall>> calls_;   // shared with records that begin alike
  std::unordered_map<std::string, RecordedCall> inquiries_;  // a question begins with the changes before it
  std::size_t bytes_ = 0;
};

}  // namespace sluice::api::netcdf
