#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sluice/formats/header.hpp"
#include "sluice/formats/layout.hpp"

namespace sluice::formats {

/// The header of one of several files, and the positions of its data.
struct FileDescription {
  Header header;
  Layout layout;
  std::int64_t file_bytes = 0;  ///< size of an existing file
};

/// Throws FormatError(NC_ENOTNC) if a file's variables lie outside its sections, which a damaged header can
/// cause. `path` is for that message.
void check_sections(const Header& header, const Layout& layout, const std::string& path);

/// The data sections of several files as one range of offsets without gaps, so that one collective access
/// serves all files. The fixed-size sections of all files come first, one after the other. Then come the
/// first records of all files, then the second records, …. Headers are not part of the space.
class FileSpace {
 public:
  FileSpace() = default;
  /// The space of files with these layouts. Throws Error(NC_EVARSIZE) if the offsets exceed 63 bits.
  explicit FileSpace(std::span<const Layout> files);
  /// The same, after check_sections of each file.
  FileSpace(std::span<const FileDescription> files, std::span<const std::string> paths);

  /// The file's variables with the positions of their data in the space, and the dimensions without their
  /// names. With layout(), append_runs and PlainPlace can use this header.
  [[nodiscard]] Header placed_header(const FileDescription& description, int file) const;
  /// The offset in the space for an offset in one of a file's sections.
  [[nodiscard]] std::int64_t placed(int file, std::int64_t offset_bytes, bool is_record) const {
    const auto i = static_cast<std::size_t>(file);
    return is_record ? layout_.record_begin + record_begins_[i] + (offset_bytes - parts_[i].record_begin)
                     : fixed_begins_[i] + (offset_bytes - parts_[i].data_begin);
  }
  /// The layout for placed headers.
  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }

  /// The file and offset of a place in the space, and the number of following bytes that are contiguous in
  /// both.
  struct Place {
    int file = 0;
    std::int64_t offset_bytes = 0;
    std::int64_t length_bytes = 0;
  };
  /// Throws Error(NC_EINVAL) after the end of the space.
  [[nodiscard]] Place locate(std::int64_t offset_bytes) const;

 private:
  struct Part {
    std::int64_t data_begin = 0;
    std::int64_t record_begin = 0;
    std::int64_t record_size = 0;
  };
  std::vector<Part> parts_;
  std::vector<std::int64_t> fixed_begins_;   ///< begin of each file in the space, and the end
  std::vector<std::int64_t> record_begins_;  ///< begin of each file within a record, and the end
  Layout layout_;
};

}  // namespace sluice::formats
