#pragma once
#include <memory>
#include <string>
#include <vector>

#include "sluice/formats/attribute_view.hpp"
#include "sluice/formats/subfiles.hpp"

namespace sluice::formats {

/// Reads what a master says of its subfiles while its header is decoded (decode_header). Throws
/// FormatError(NC_ENOTNC) then where the attributes do not fit together.
class MasterReader final : public AttributeTaker {
 public:
  /// `path` is for messages.
  explicit MasterReader(std::string path);
  ~MasterReader() override;

  [[nodiscard]] bool begin_variables(const Header& header) override;
  [[nodiscard]] bool take(const AttributeView& attribute) override;
  void end_variable(const Header& header, const Variable& variable) override;

  /// Instead of begin_variables, where the number of subfiles is known.
  void begin(const Header& header, int subfiles);

  /// Whether the header that was decoded is a master's; one as PnetCDF's page on subfiling shows it is not
  /// known by then: read_master reads it.
  [[nodiscard]] bool is_master() const noexcept { return subfiling_.subfiles() > 0; }
  /// Once: what the decoded header, which the attributes have been taken out of, makes with them.
  [[nodiscard]] SubfiledHeader dataset(Header master);

 private:
  struct Names;

  std::string path_;
  std::unique_ptr<Names> names_;
  Subfiling subfiling_;
  std::vector<std::vector<int>> dimids_;   ///< by variable, of divided ones
  std::vector<AttributeView> attributes_;  ///< of the next variable
};

}  // namespace sluice::formats
