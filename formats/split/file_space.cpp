#include "sluice/formats/file_space.hpp"

#include <algorithm>
#include <string>

#include "sluice/formats/error.hpp"
#include "variable_sizes.hpp"

namespace sluice::formats {

namespace {

std::vector<Layout> checked_layouts(std::span<const FileDescription> files,
                                    std::span<const std::string> paths) {
  std::vector<Layout> layouts;
  for (std::size_t i = 0; i < files.size(); ++i) {
    check_sections(files[i].header, files[i].layout, paths[i]);
    layouts.push_back(files[i].layout);
  }
  return layouts;
}

}  // namespace

void check_sections(const Header& header, const Layout& layout, const std::string& path) {
  for (int id = 0; id < header.variable_count(); ++id) {
    const auto& variable = header.variable(id);
    const bool is_record = header.is_record_variable(id);
    const std::int64_t begin = is_record ? layout.record_begin : layout.header_extent;
    const std::int64_t end =
        is_record ? checked_sum(layout.record_begin, layout.record_size) : layout.record_begin;
    const std::int64_t variable_end = checked_sum(variable.begin, data_bytes(header, id));
    if (variable.begin < begin || variable_end > end)
      throw FormatError(NC_ENOTNC, path, 0, "the variable " + variable.name + " lies outside of its section");
  }
}

FileSpace::FileSpace(std::span<const Layout> files) {
  std::int64_t fixed_end = 0;
  std::int64_t record_end = 0;
  for (const auto& layout : files) {
    parts_.push_back({layout.header_extent, layout.record_begin, layout.record_size});
    fixed_begins_.push_back(fixed_end);
    record_begins_.push_back(record_end);
    fixed_end = checked_sum(fixed_end, layout.record_begin - layout.header_extent);
    record_end = checked_sum(record_end, layout.record_size);
  }
  fixed_begins_.push_back(fixed_end);
  record_begins_.push_back(record_end);
  layout_.record_begin = fixed_end;
  layout_.record_size = record_end;
}

FileSpace::FileSpace(std::span<const FileDescription> files, std::span<const std::string> paths)
    : FileSpace(checked_layouts(files, paths)) {}

Header FileSpace::placed_header(const FileDescription& description, int file) const {
  const auto& header = description.header;
  Header result;
  result.version = header.version;
  for (const auto& dimension : header.dimensions())
    result.add_dimension({{}, dimension.length, dimension.is_record});
  for (int id = 0; id < header.variable_count(); ++id) {
    const auto& variable = header.variable(id);
    Variable copy;
    copy.name = variable.name;
    copy.type = variable.type;
    copy.dimids = variable.dimids;
    copy.begin = placed(file, variable.begin, header.is_record_variable(id));
    result.add_variable(std::move(copy));
  }
  return result;
}

FileSpace::Place FileSpace::locate(std::int64_t offset_bytes) const {
  const auto part_of = [](const std::vector<std::int64_t>& begins, std::int64_t offset) {
    return static_cast<std::size_t>(std::upper_bound(begins.begin(), begins.end(), offset) - begins.begin()) -
           1;
  };
  if (offset_bytes < layout_.record_begin) {
    const std::size_t i = part_of(fixed_begins_, offset_bytes);
    return {static_cast<int>(i), parts_[i].data_begin + (offset_bytes - fixed_begins_[i]),
            fixed_begins_[i + 1] - offset_bytes};
  }
  if (layout_.record_size == 0)
    throw Error(NC_EINVAL, "an offset is behind the end of all files: this is a mistake in Sluice");
  const std::int64_t record = (offset_bytes - layout_.record_begin) / layout_.record_size;
  const std::int64_t within = (offset_bytes - layout_.record_begin) % layout_.record_size;
  const std::size_t i = part_of(record_begins_, within);
  return {static_cast<int>(i),
          parts_[i].record_begin + record * parts_[i].record_size + (within - record_begins_[i]),
          record_begins_[i + 1] - within};
}

}  // namespace sluice::formats
