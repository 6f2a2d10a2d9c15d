// Masters with subfiles or blobs. Arbitrary headers and maps are refused, or each element has a place in one
// of the files. The input is a list of parts, each after its length of two bytes: a master, and the files
// beside it. For blobs of processes these are the header_blob and data_blob of one file, as HDF5 would find
// them.
#include <algorithm>
#include <array>
#include <string>

#include "sluice/formats/cdf.hpp"
#include "sluice/storage/header_file.hpp"
#include "sluice/storage/memory_file_system.hpp"
#include "sluice/storage/process_blob_files.hpp"
#include "sluice/storage/split_dataset.hpp"
#include "support.hpp"

using namespace sluice;
using namespace sluice::storage;
using sluice::fuzz::require;

namespace {

constexpr const char* master = "x";
/// Which part is in which file.
struct Other {
  const char* path;
  std::size_t part;
};
constexpr std::array<Other, 5> others{
    {{"x.0000", 1}, {"x.0001", 2}, {"x.subfile_0.nc", 1}, {"x.subfile_1.nc", 2}, {"x.subfile_2.nc", 3}}};

std::vector<std::span<const std::byte>> parts_of(std::span<const std::byte> input) {
  std::vector<std::span<const std::byte>> parts;
  while (input.size() > 2) {
    const auto length = std::to_integer<std::size_t>(input[0]) | std::to_integer<std::size_t>(input[1]) << 8;
    input = input.subspan(2);
    parts.push_back(input.first(std::min(length, input.size())));
    input = input.subspan(parts.back().size());
  }
  return parts;
}

/// The first and the last elements of every variable, at most two in each dimension.
void ask_for_places(const formats::Header& header, const formats::Placement& placement,
                    const formats::FileSpace& space) {
  for (int id = 0; id < header.variable_count(); ++id) {
    const auto shape = header.shape(id);
    const auto place = placement.place_of(id);
    if (!place || shape.size() > 8) continue;
    for (const bool at_end : {false, true}) {
      std::vector<std::int64_t> start;
      std::vector<std::int64_t> count;
      std::int64_t bytes = place->element_bytes();
      for (const auto length : shape) {
        count.push_back(std::min<std::int64_t>(length, 2));
        start.push_back(at_end ? length - count.back() : 0);
        bytes *= count.back();
      }
      std::vector<formats::FileRun> runs;
      place->append({start, count, {}}, runs);
      for (const auto& run : runs) {
        bytes -= run.length_bytes;
        require(run.length_bytes > 0, "a run has bytes");
        static_cast<void>(space.locate(run.offset_bytes));
        static_cast<void>(space.locate(run.offset_bytes + run.length_bytes - 1));
      }
      require(bytes == 0, "the runs have as many bytes as the selection");
    }
  }
}

void open_process_blobs(const formats::Header& header, std::span<const std::span<const std::byte>> parts) {
  if (parts.size() != 3) return;
  LocatedBlobs located;
  located.header_bytes.assign(reinterpret_cast<const char*>(parts[1].data()), parts[1].size());
  located.data_bytes = static_cast<std::int64_t>(parts[2].size());
  auto dataset = describe_blobs(header, {located}, {master, others[0].path});
  const formats::BlobReader read = [&](int file, std::int64_t offset, std::span<std::byte> bytes) {
    require(file == 0 && offset >= 0 && offset + std::ssize(bytes) <= std::ssize(parts[2]),
            "what is read is in data_blob");
    std::copy_n(parts[2].begin() + offset, bytes.size(), bytes.begin());
  };
  dataset.contents =
      formats::read_blob_contents(dataset.dataset, 0, dataset.files.front(), others[0].path, read);
  for (int map = 1; map <= static_cast<int>(dataset.dataset.blobs.maps.size()); ++map)
    static_cast<void>(dataset.read_map(map, read));
  const auto files = formats::process_blob_space(dataset, std::ssize(parts[0]));
  const auto paths = dataset.paths;
  const formats::FileSpace space(files, paths);
  const formats::ProcessBlobPlacement placement(std::move(dataset), read, 1 << 20);
  ask_for_places(placement.dataset().dataset.header, placement, space);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto parts = parts_of(fuzz::as_bytes(data, size));
  if (parts.empty()) return 0;
  MemoryFileSystem files;
  files.open(master, OpenMode::create)->write(0, parts[0]);
  for (const auto& [path, part] : others) {
    if (part < parts.size()) files.open(path, OpenMode::create)->write(0, parts[part]);
  }
  fuzz::refuse_or([&] {
    const auto header = read_header(*files.open(master, OpenMode::read)).decoded.header;
    if (formats::process_blob_file_count(header) == 1) return open_process_blobs(header, parts);
    if (formats::process_blob_file_count(header) > 1) return;
    const auto dataset = open_split_dataset(files, master);
    ask_for_places(dataset->header(), dataset->placement(), dataset->space());
  });
  return 0;
}
