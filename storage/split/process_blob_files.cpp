#include "sluice/storage/process_blob_files.hpp"

#include <array>
#include <mutex>
#include <span>

#include "sluice/formats/cdf.hpp"
#include "sluice/storage/hdf5_library.hpp"

namespace sluice::storage {
namespace {

/// The open files of blob_reader's function; the copies of the function share them.
class BlobFiles {
 public:
  BlobFiles(FileSystem& system, const formats::ProcessBlobDataset& dataset)
      : system_(system), paths_(dataset.paths), files_(dataset.paths.size()) {
    for (const auto& file : dataset.files) data_offsets_.push_back(file.data_offset);
  }

  void read(int file, std::int64_t offset, std::span<std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    const auto i = static_cast<std::size_t>(file);
    auto& open = files_[i];
    if (!open) open = system_.open(paths_[i + 1], OpenMode::read);
    read_exactly(*open, data_offsets_[i] + offset, bytes);
  }

 private:
  std::mutex mutex_;
  FileSystem& system_;
  std::vector<std::string> paths_;
  std::vector<std::int64_t> data_offsets_;
  std::vector<std::unique_ptr<File>> files_;
};

}  // namespace

LocatedBlobs locate_blobs(FileSystem& system, const std::string& path) {
  const auto& library = hdf5_library();
  const auto file = system.open(path, OpenMode::read);
  sluice_hdf5_places places{};
  std::array<char, 512> what{};
  const auto locate = [&] {
    const std::lock_guard lock(hdf5_mutex());
    return library.locate(path.c_str(), &places, what.data(), what.size());
  };
  if (locate() != 0) throw FormatError(NC_ENOTNC, path, 0, what.data());
  const auto size = static_cast<std::uint64_t>(file->size_bytes());
  const auto is_inside = [&](std::uint64_t offset, std::uint64_t bytes) {
    return bytes <= size && offset <= size - bytes;
  };
  if (!is_inside(places.header_offset, places.header_bytes) ||
      !is_inside(places.data_offset, places.data_bytes))
    throw FormatError(NC_ENOTNC, path, size, "the file ends within its data: it was truncated");
  LocatedBlobs located;
  located.data_offset = static_cast<std::int64_t>(places.data_offset);
  located.data_bytes = static_cast<std::int64_t>(places.data_bytes);
  located.header_bytes.resize(static_cast<std::size_t>(places.header_bytes));
  read_exactly(*file, static_cast<std::int64_t>(places.header_offset),
               std::as_writable_bytes(std::span(located.header_bytes)));
  return located;
}

formats::ProcessBlobFile described_blobs(const LocatedBlobs& located, const std::string& path) {
  formats::ProcessBlobFile file;
  const auto bytes = std::as_bytes(std::span(located.header_bytes));
  const auto order = formats::byte_order_of(bytes);
  if (!order) throw FormatError(NC_ENOTNC, path, 0, "header_blob is not a CDF-5 header");
  file.order = *order;
  file.header = formats::decode_metadata(bytes, path + " (header_blob)", *order);
  if (file.header.version != formats::Version::cdf5)
    throw FormatError(NC_ENOTNC, path, 0, "header_blob is not a CDF-5 header");
  file.data_offset = located.data_offset;
  file.data_bytes = located.data_bytes;
  return file;
}

formats::ProcessBlobDataset describe_blobs(const formats::Header& master,
                                           const std::vector<LocatedBlobs>& located,
                                           const std::vector<std::string>& paths) {
  formats::ProcessBlobDataset result;
  result.paths = paths;
  std::vector<formats::FileDescription> headers{{master, {}}};
  for (std::size_t i = 0; i < located.size(); ++i) {
    result.files.push_back(described_blobs(located[i], paths[i + 1]));
    headers.push_back({result.files.back().header, {}});
    if (result.files.back().order != result.files.front().order)
      throw FormatError(NC_ENOTNC, paths[i + 1], 0, "its byte order differs from the first file's");
  }
  result.dataset = formats::read_blob_headers(headers, paths);
  for (std::size_t i = 0; i < result.files.size(); ++i) {
    const auto& header = result.files[i].header;
    for (int map = 1; map <= static_cast<int>(result.dataset.blobs.maps.size()); ++map)
      (void)formats::list_number_bytes(header, map, paths[i + 1]);
  }
  return result;
}

formats::BlobReader blob_reader(FileSystem& system, const formats::ProcessBlobDataset& dataset) {
  // The copies of the function share this object.
  return [files = std::make_shared<BlobFiles>(system, dataset)](
             int file, std::int64_t offset, std::span<std::byte> bytes) { files->read(file, offset, bytes); };
}

}  // namespace sluice::storage
