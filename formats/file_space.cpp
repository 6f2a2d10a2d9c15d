#include "sluice/formats/file_space.hpp"

#include <algorithm>
#include <string>

#include "sluice/formats/error.hpp"
#include "variable_sizes.hpp"

namespace sluice::formats {
namespace {

void check_variables(const FileDescription& file, const std::string& path) {
  const auto& [header, layout] = file;
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

}  // namespace

FileSpace::FileSpace(std::span<const FileDescription> files, std::span<const std::string> paths) {
  std::int64_t fixed_end = 0;
  std::int64_t record_end = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    check_variables(files[i], paths[i]);
    const auto& layout = files[i].layout;
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

Header FileSpace::placed_header(const FileDescription& description, int file) const {
  const auto i = static_cast<std::size_t>(file);
  const auto& header = description.header;
  Header placed;
  placed.version = header.version;
  for (const auto& dimension : header.dimensions())
    placed.add_dimension({{}, dimension.length, dimension.is_record});
  for (int id = 0; id < header.variable_count(); ++id) {
    const auto& variable = header.variable(id);
    Variable copy;
    copy.name = variable.name;
    copy.type = variable.type;
    copy.dimids = variable.dimids;
    copy.begin = header.is_record_variable(id)
                     ? layout_.record_begin + record_begins_[i] + (variable.begin - parts_[i].record_begin)
                     : fixed_begins_[i] + (variable.begin - parts_[i].data_begin);
    placed.add_variable(std::move(copy));
  }
  return placed;
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
