#pragma once
#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "call_values.hpp"
#include "definition_replay.hpp"
#include "described_dataset.hpp"
#include "dispatch_table.hpp"
#include "group_puts.hpp"
#include "program_library.hpp"
#include "read_block.hpp"

namespace sluice::api::netcdf {

/// A dataset that a program has open by netCDF, and that is coupled by hyperslabs.
///
/// All that is defined goes to two places: to the coupled dataset, which readers get; and to the *shadow*, a
/// dataset of the program's netCDF in memory, without data. The shadow answers inquiries and makes the
/// checks, so rules and errors of definitions are netCDF's own.
struct CarriedDataset {
  ProgramLibrary library;
  std::string file;  ///< what the path leads to
  int mode = 0;      ///< the program's flags, and those of the format
  bool is_writable = false;
  bool is_parallel = false;  ///< it belongs to a communicator that the program has named
  int shadow = -1;           ///< id at the program's netCDF
  int coupled = no_coupled;  ///< id at api/dataset
  bool in_define_mode = false;
  int forks = 0;                                     ///< of the process before it had the dataset
  int status_of_close = 0;                           ///< a close that has failed: netCDF keeps the id
  bool has_placed_variables = false;                 ///< it has left define mode with variables
  std::vector<std::byte> header = {};                ///< a reader's shadow is opened from these bytes
  std::unique_ptr<DescribedDataset> described = {};  ///< of a netCDF-4 dataset
  /// By the coupled dataset's variable and the type in memory. Nothing: values may still change.
  std::optional<std::map<std::array<int, 2>, ReadBlock>> read_blocks = {};
  GroupPuts group_puts = {};  ///< of a parallel one

  static constexpr int no_coupled = -1;
  /// The shadow is the file itself: in a forked child.
  [[nodiscard]] bool is_plain() const noexcept { return coupled == no_coupled; }
  /// Bytes that the shadow has between its header and where data would begin, so that definitions may follow.
  /// CDF-1 has little space before its variables have to begin.
  [[nodiscard]] std::size_t space_after_header() const noexcept {
    constexpr std::size_t much = std::size_t{1} << 20, little = std::size_t{1} << 16;
    return (mode & (mode::offset64 | mode::data64)) != 0 ? much : little;
  }
  /// Of a netCDF-4 dataset that is created; else null. While it replays, there is no shadow.
  [[nodiscard]] DefinitionReplay* replay() const noexcept {
    return described == nullptr ? nullptr : described->replay.get();
  }
  [[nodiscard]] bool is_replaying() const noexcept { return replay() != nullptr && replay()->is_replaying(); }
  /// The attribute, where the shadow has other values. Throws Error.
  [[nodiscard]] std::optional<formats::Attribute> changed_attribute(int group, int varid,
                                                                    const char* name) const;
  /// A forked child has no connection to the matcher. It reads what its parent has open from an image of the
  /// file, which is the shadow then. Returns a status.
  int follow_fork() noexcept;
  /// There is a shadow afterwards. Returns a status.
  int make_real() noexcept;
  /// The same where attributes of the replay have other values than before: a call could not go on with them.
  int settle_attributes() noexcept;
  /// A call by which the coupled dataset learns what the shadow has, or the same as in an earlier dataset.
  /// `repeat`: changes another shadow in the same way; null: it need not. Returns a status.
  int describe_by(const char* name, const std::function<int()>& real,
                  const std::function<int(const ProgramLibrary&, int)>& repeat = nullptr,
                  bool is_change = true);
  /// The coupled dataset gets the definitions that it does not have yet. Returns a status.
  int describe();

  /// Calls a function of the program's netCDF for the shadow.
  template <class... Parameters>
  int ask(const char* name, Parameters... parameters) noexcept {
    const int status = make_real();
    return status != 0 ? status : library.call<int, Parameters...>(name, shadow, parameters...);
  }
};

/// A group of a carried dataset: what the functions of the table are called for. It calls functions of the
/// program's netCDF for the shadow.
struct CarriedGroup {
  CarriedDataset& dataset;
  int group;

  /// The shadow's id.
  [[nodiscard]] int shadow() const noexcept { return (dataset.shadow & ~group_bits) | group; }
  CarriedDataset* operator->() const noexcept { return &dataset; }

  /// A call that neither changes definitions nor is remembered.
  template <class... Arguments>
  int ask(const char* name, const Arguments&... arguments) const noexcept {
    const int status = dataset.make_real();
    return status != 0 ? status : call(name, arguments...);
  }
  /// A call that changes definitions. Its arguments are those of call_values.hpp.
  template <class... Arguments>
  int define(const char* name, const Arguments&... arguments) const noexcept {
    DefinitionReplay* const replay = dataset.replay();
    if (replay == nullptr) return call(name, arguments...);
    std::string question = question_of(name, arguments...);
    if (replay->is_replaying()) {
      if (const RecordedCall* const known = replay->next(question)) return give(*known, arguments...);
      if (const int status = dataset.make_real(); status != 0) return status;
    }
    const int status = call(name, arguments...);
    RecordedCall made = record_of(std::move(question), status, arguments...);
    made.repeat = repetition_of(group, name, arguments...);
    replay->add(std::move(made));
    return status;
  }
  /// A call that sets an attribute to values of which others are replayed, too: `values` are its last
  /// argument.
  template <class List, class... Arguments>
  int define_attribute(const AttributePlace& place, const char* name, const List& values,
                       const Arguments&... arguments) const noexcept {
    DefinitionReplay* const replay = dataset.replay();
    if (replay == nullptr) return call(name, arguments..., values);
    RecordedCall own{question_of(name, arguments...)};
    own.results.assign(static_cast<const char*>(values.data), values.bytes());
    own.repeat = repetition_of(group, name, arguments..., values);
    if (replay->is_replaying()) {
      if (const auto status = replay->next_attribute(place, own)) return *status;
      if (const int status = dataset.make_real(); status != 0) return status;
    }
    own.status = call(name, arguments..., values);
    const int status = own.status;
    replay->add(std::move(own));
    return status;
  }
  /// A call that changes definitions, and that is never replayed.
  template <class... Arguments>
  int define_anew(const char* name, const Arguments&... arguments) const noexcept {
    const int status = ask(name, arguments...);
    if (dataset.replay() != nullptr) dataset.replay()->give_up();
    return status;
  }
  /// A call that changes nothing. Its arguments are those of call_values.hpp.
  template <class... Arguments>
  int inquire(const char* name, const Arguments&... arguments) const noexcept {
    DefinitionReplay* const replay = dataset.replay();
    if (replay == nullptr) return call(name, arguments...);
    std::string question = question_of(name, arguments...);
    if (replay->is_replaying()) {
      if (const RecordedCall* const known = replay->find(question)) return give(*known, arguments...);
      if (const int status = dataset.make_real(); status != 0) return status;
    }
    constexpr int out_of_range = -60;  // NC_ERANGE: there are results, but perhaps not all
    const int status = call(name, arguments...);
    if (status != out_of_range) replay->add_inquiry(record_of(std::move(question), status, arguments...));
    return status;
  }

 private:
  template <class... Arguments>
  int call(const char* name, const Arguments&... arguments) const {
    return dataset.library.call(name, shadow(), parameter_of(arguments)...);
  }
  template <class... Arguments>
  std::string question_of(const char* name, const Arguments&... arguments) const {
    std::string question = dataset.replay()->question(group, name);
    (add_question(question, arguments), ...);
    return question;
  }
  /// A function that fails leaves its results as they were.
  template <class... Arguments>
  static RecordedCall record_of(std::string question, int status, const Arguments&... arguments) {
    RecordedCall record{std::move(question), status};
    if (status == 0) (add_answer(record.results, arguments), ...);
    return record;
  }
  template <class... Arguments>
  static int give(const RecordedCall& earlier, const Arguments&... arguments) {
    [[maybe_unused]] const char* from = earlier.results.data();
    if (earlier.status == 0) (give_answer(from, arguments), ...);
    return earlier.status;
  }
};

/// How often the process, and those that it descends from, were forked.
[[nodiscard]] int forks_so_far() noexcept;
/// The dataset of an id that the program's netCDF has given out, of any group; null: it is not carried.
[[nodiscard]] CarriedDataset* find_carried(int ncid) noexcept;
/// The dataset of that file that this process writes and has defined, and not with others; null: there is
/// none.
[[nodiscard]] std::shared_ptr<CarriedDataset> find_written(const std::string& file);
/// Keeps the dataset for that id until remove_carried(). One dataset may have several ids.
void add_carried(int ncid, std::shared_ptr<CarriedDataset> dataset);
void remove_carried(int ncid) noexcept;
/// The ids of all datasets that are open.
[[nodiscard]] std::vector<int> carried_ids();
/// Whether the dataset of the id has other ids, too.
[[nodiscard]] bool has_other_ids(int ncid) noexcept;

}  // namespace sluice::api::netcdf
