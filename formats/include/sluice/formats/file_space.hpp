#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sluice/formats/header.hpp"
#include "sluice/formats/layout.hpp"

namespace sluice::formats {

/// The header of one file of several, and where its data is.
struct FileDescription {
  Header header;
  Layout layout;
  std::int64_t file_bytes = 0;  ///< of a file that is there
};

/// Throws FormatError(NC_ENOTNC) where a file's variables lie outside of its sections, which a damaged header
/// can say; `path` is for that message.
void check_sections(const Header& header, const Layout& layout, const std::string& path);

/// The data sections of several files as one range of offsets without gaps, so that one collective access
/// serves all of them: the fixed-size sections of all files one behind the other, then the first record of
/// all files, the second, … Headers are not part of it.
class FileSpace {
 public:
  FileSpace() = default;
  /// Of files laid out like that. Throws Error(NC_EVARSIZE) where they are beyond 63 bits.
  explicit FileSpace(std::span<const Layout> files);
  /// The same, with check_sections of each.
  FileSpace(std::span<const FileDescription> files, std::span<const std::string> paths);

  /// The file's variables, and the dimensions without their names, with their data where it is in the space.
  /// With layout() it is what append_runs and PlainPlace take.
  [[nodiscard]] Header placed_header(const FileDescription& description, int file) const;
  /// Where in the space an offset is that one of the files has in one of its sections.
  [[nodiscard]] std::int64_t placed(int file, std::int64_t offset_bytes, bool is_record) const {
    const auto i = static_cast<std::size_t>(file);
    return is_record ? layout_.record_begin + record_begins_[i] + (offset_bytes - parts_[i].record_begin)
                     : fixed_begins_[i] + (offset_bytes - parts_[i].data_begin);
  }
  /// Of placed headers.
  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }

  /// Where an offset is, and how many bytes follow it there that follow it in the space.
  struct Place {
    int file = 0;
    std::int64_t offset_bytes = 0;
    std::int64_t length_bytes = 0;
  };
  /// Throws Error(NC_EINVAL) behind the end.
  [[nodiscard]] Place locate(std::int64_t offset_bytes) const;

 private:
  struct Part {
    std::int64_t data_begin = 0;
    std::int64_t record_begin = 0;
    std::int64_t record_size = 0;
  };
  std::vector<Part> parts_;
  std::vector<std::int64_t> fixed_begins_;   ///< of each file in the space, and the end
  std::vector<std::int64_t> record_begins_;  ///< of each file within a record, and the end
  Layout layout_;
};

}  // namespace sluice::formats
