#pragma once
#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "dataset.hpp"
#include "definition_replay.hpp"
#include "program_library.hpp"
#include "sluice/formats/header.hpp"
#include "sluice/runtime/file_descriptor.hpp"

namespace sluice::api::netcdf {

/// The netCDF-4 side of a carried dataset. Its shadow is a file in memory, by the program's netCDF, with all
/// definitions. What the classic model has is described in the coupled dataset: atomic variables of all
/// groups, by their full names, whose first dimension may grow; their values go there. The values of all
/// others are in the shadow, whose bytes are an attribute of the coupled dataset.
class DescribedDataset {
 public:
  using ChangedAttributes = std::map<AttributePlace, std::string>;
  /// Where the values of a variable are.
  static constexpr int in_shadow = -1;

  /// `coupled`: id at api/dataset.
  DescribedDataset(ProgramLibrary library, int coupled);

  /// Makes the shadow, or opens it from the bytes of a step. Return a status.
  int create_shadow(int mode, int* shadow);
  int open_shadow(std::span<const std::byte> bytes, int mode, int* shadow);

  /// A shadow that is written gets the attributes' values of the coupled dataset. Throws Error.
  void take_changed();
  /// The shadow is that of another coupled dataset from now on, if it has the same bytes, and names.
  [[nodiscard]] bool serve(int coupled);
  /// Of a dataset that is created; null: it is not replayed, and not recorded. Shared with later datasets.
  std::shared_ptr<DefinitionReplay> replay;
  /// Of a dataset that is only read: its shadow is not as it was when it was opened, or must not be kept.
  bool is_altered = false;

  /// Variables, by group and id, that have values here, which the shadow does not know.
  std::set<std::array<int, 2>> with_values;

  /// Definitions have changed.
  void note_change() noexcept { has_changed_ = true; }
  [[nodiscard]] bool has_changed() const noexcept { return has_changed_; }
  /// The coupled dataset gets the definitions that it does not have yet. Returns a status.
  int describe();
  /// A shadow leaves define mode as by a put: nc_enddef would fix fill values of variables without data.
  /// Returns a status.
  static int end_definitions(const ProgramLibrary& library, int shadow);
  /// The coupled dataset gets all definitions and attributes, and stays in define mode until add_bytes(): it
  /// gets the bytes of the shadow, which has been synced, or closed. Return a status.
  int describe_wholly();
  int add_bytes();
  /// Values of the shadow have changed: where readers or recovery may come at any time, they get them.
  /// Returns a status.
  int show_values();

  /// Adds to a call of describe() or add_bytes() how a later dataset gets what it has brought about. False:
  /// it cannot, because the shadow has values.
  [[nodiscard]] bool record(RecordedCall& call);

  /// The dimension of the records is as long in the shadow as in the coupled dataset, so that its values can
  /// be read. Returns a status.
  int lengthen_shadow();

  /// The id of the variable at the coupled dataset, or in_shadow. `group`: lower half of an id.
  [[nodiscard]] int find(int group, int varid) const;
  /// The shadow's id of the dimension whose length is the number of records; -1: none.
  [[nodiscard]] int record_dimension() const noexcept { return record_dimension_; }
  /// Whether variables whose values are in the shadow may have that dimension.
  [[nodiscard]] bool has_records_in_shadow() const noexcept { return has_records_in_shadow_; }

 private:
  int look_for_viewers(bool* may_come) const;

  int become(const formats::Header& header, const ChangedAttributes& changed);
  std::string change(formats::Header& header, const ChangedAttributes& changed) const;
  int define(bool renews_attributes);
  void define_all(Dataset& coupled, bool renews_attributes);
  void find_all(const formats::Header& header);
  [[nodiscard]] bool is_fixed(int dimid) const;
  [[nodiscard]] bool is_describable(const formats::Header& header, const formats::Variable& variable) const;
  void define_dimensions(Dataset& coupled, int group, const std::string& prefix);
  int add_dimension(Dataset& coupled, int id, formats::Dimension dimension);
  int add_variable(Dataset& coupled, formats::Variable variable);
  bool put_fill_value(int group, int varid, std::size_t record) const;

  ProgramLibrary library_;
  int coupled_;
  int shadow_ = -1;
  runtime::FileDescriptor file_;  ///< the shadow
  bool has_changed_ = true;
  bool has_defined_ = false;                         ///< the last call has changed the coupled dataset
  std::shared_ptr<const formats::Header> recorded_;  ///< what it has made of it; shared with later datasets
  std::string names_;  ///< of a coupled dataset that is read: equal names have equal ids
  int record_dimension_ = -1;
  bool has_records_in_shadow_ = false;
  std::map<int, int> dimensions_;                ///< the shadow's id, and that of the coupled dataset
  std::map<std::array<int, 2>, int> variables_;  ///< group and id, and the id at the coupled dataset
};

}  // namespace sluice::api::netcdf
