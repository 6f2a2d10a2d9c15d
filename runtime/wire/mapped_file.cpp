#include "sluice/runtime/mapped_file.hpp"

#include "sluice/formats/error.hpp"

namespace sluice::runtime {

Mapping MappedFile::map(const SegmentExtent& extent, Mapping::Access access) {
  const std::uint64_t number = extent.offset_bytes / window_bytes;
  const bool is_within = extent.file != 0 && extent.bytes < window_bytes &&
                         (extent.offset_bytes + extent.bytes - 1) / window_bytes == number &&
                         extent.bytes != 0;
  const auto file = descriptor();
  if (!is_within) return Mapping(*file, extent, access);
  if (!is_in_file(extent, sealed_bytes_)) sealed_bytes_ = check_extent(*file, extent);
  if (const auto known = windows_.find(number); known != windows_.end()) {
    if (auto window = known->second.lock()) return Mapping(extent, access, recent_ = window);
  }
  std::erase_if(windows_, [](const auto& entry) { return entry.second.expired(); });
  std::shared_ptr<MappedWindow> window;  // shared by the mappings of its segments
  try {
    window = std::make_shared<MappedWindow>(*file, number * window_bytes, window_bytes, access);
  } catch (const IoError&) {  // little address space is left: map only the needed part
    return Mapping(*file, extent, access);
  }
  windows_[number] = window;
  return Mapping(extent, access, recent_ = window);
}

}  // namespace sluice::runtime
