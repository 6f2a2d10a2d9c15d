#pragma once
#include <memory>
#include <string>
#include <vector>

#include "sluice/formats/attribute_view.hpp"
#include "sluice/formats/subfiles.hpp"

namespace sluice::formats {

/// Reads a master's description of its subfiles while its header is decoded (decode_header). The decoding
/// throws FormatError(NC_ENOTNC) if the attributes contradict each other.
class MasterReader final : public AttributeTaker {
 public:
  /// `path` is for messages.
  explicit MasterReader(std::string path);
  ~MasterReader() override;

  [[nodiscard]] bool begin_variables(const Header& header) override;
  [[nodiscard]] bool take(const AttributeView& attribute) override;
  void end_variable(const Header& header, const Variable& variable) override;

  /// Replaces begin_variables if the number of subfiles is known.
  void begin(const Header& header, int subfiles);

  /// Whether the decoded header is a master's. A master in the form of PnetCDF's page on subfiling is not yet
  /// detected then: read_master reads it.
  [[nodiscard]] bool is_master() const noexcept { return subfiling_.subfiles() > 0; }
  /// Builds the dataset from the decoded header, without the attributes taken out of it, and these
  /// attributes. Call this once.
  [[nodiscard]] SubfiledHeader dataset(Header master);

 private:
  struct Names;

  std::string path_;
  std::unique_ptr<Names> names_;
  Subfiling subfiling_;
  std::vector<std::vector<int>> dimids_;   ///< for each divided variable
  std::vector<AttributeView> attributes_;  ///< attributes of the next variable
};

}  // namespace sluice::formats
