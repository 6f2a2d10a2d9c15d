#pragma once
#include <memory>
#include <string>
#include <vector>

#include "sluice/formats/attribute_view.hpp"
#include "sluice/formats/subfiles.hpp"

namespace sluice::formats {

/// Takes from a subfile's header, during decoding, the facts about its place among the subfiles: its index
/// and the ranges of its variables. Files of old releases of PnetCDF may lack these facts.
class SubfileIdentity final : public AttributeTaker {
 public:
  /// `dataset` outlives this object.
  SubfileIdentity(const SubfiledHeader& dataset, int subfile);
  ~SubfileIdentity() override;

  [[nodiscard]] bool begin_variables(const Header& header) override;
  [[nodiscard]] bool take(const AttributeView& attribute) override;
  void end_variable(const Header& header, const Variable& variable) override;

  /// Throws FormatError(NC_ENOTNC) if the file's facts belong to another subfile.
  void check(const std::string& path) const;

 private:
  struct Names;
  void check_range(const AttributeView& attribute, int varid, const Division& division);

  const SubfiledHeader& dataset_;
  int subfile_;
  std::unique_ptr<Names> names_;
  std::vector<AttributeView> attributes_;  ///< attributes of the next variable
  std::string mistake_;
};

}  // namespace sluice::formats
