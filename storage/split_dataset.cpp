#include "sluice/storage/split_dataset.hpp"

#include <optional>

#include "sluice/formats/blobs.hpp"
#include "sluice/formats/subfiles.hpp"
#include "sluice/storage/blob_files.hpp"
#include "sluice/storage/header_file.hpp"
#include "sluice/storage/process_blob_files.hpp"

namespace sluice::storage {
namespace {

formats::FileDescription describe(FileSystem& system, const std::string& path) {
  auto decoded = read_header(*system.open(path, OpenMode::read)).decoded;
  formats::FileDescription description;
  description.layout = formats::layout_of(decoded.header, decoded.size_bytes);
  description.header = std::move(decoded.header);
  return description;
}

class Subfiles final : public SplitDataset {
 public:
  Subfiles(FileSystem& system, const std::string& path, formats::FileDescription master)
      : dataset_(formats::read_master(master.header, path)) {
    std::vector<formats::FileDescription> files{std::move(master)};
    paths_.push_back(path);
    for (int i = 0; i < dataset_.subfiling.subfiles(); ++i) {
      paths_.push_back(formats::subfile_path(path, i));
      files.push_back(describe(system, paths_.back()));
      formats::check_subfile(dataset_, i, files.back().header, paths_.back());
    }
    space_ = formats::FileSpace(files, paths_);
    placement_.emplace(dataset_.subfiling, files, space_);
  }

  [[nodiscard]] const formats::Header& header() const override { return dataset_.header; }
  [[nodiscard]] const formats::FileSpace& space() const override { return space_; }
  [[nodiscard]] const std::vector<std::string>& paths() const override { return paths_; }
  [[nodiscard]] const formats::Placement& placement() const override { return *placement_; }

 private:
  formats::SubfiledHeader dataset_;
  std::vector<std::string> paths_;
  formats::FileSpace space_;
  std::optional<formats::SubfilePlacement> placement_;
};

class BlobFiles final : public SplitDataset {
 public:
  BlobFiles(FileSystem& system, const std::string& path, formats::FileDescription master) {
    const int count = formats::blob_file_count(master.header);
    std::vector<formats::FileDescription> files{std::move(master)};
    paths_.push_back(path);
    for (int i = 0; i < count; ++i) {
      paths_.push_back(formats::blob_file_path(path, i));
      files.push_back(describe(system, paths_.back()));
    }
    dataset_ = formats::read_blob_headers(files, paths_);
    space_ = formats::FileSpace(files, paths_);
    placement_.emplace(dataset_.header, dataset_.blobs, files, space_,
                       map_loader(system, dataset_, files, paths_), most_map_bytes);
  }

  [[nodiscard]] const formats::Header& header() const override { return dataset_.header; }
  [[nodiscard]] const formats::FileSpace& space() const override { return space_; }
  [[nodiscard]] const std::vector<std::string>& paths() const override { return paths_; }
  [[nodiscard]] const formats::Placement& placement() const override { return *placement_; }

 private:
  formats::BlobHeader dataset_;
  std::vector<std::string> paths_;
  formats::FileSpace space_;
  std::optional<formats::BlobPlacement> placement_;
};

class ProcessBlobs final : public SplitDataset {
 public:
  ProcessBlobs(FileSystem& system, const std::string& path, const formats::FileDescription& master) {
    const int count = formats::process_blob_file_count(master.header);
    std::vector<std::string> paths{path};
    std::vector<LocatedBlobs> located;
    for (int i = 0; i < count; ++i) {
      paths.push_back(formats::blob_file_path(path, i));
      located.push_back(locate_blobs(system, paths.back()));
    }
    auto dataset = describe_blobs(master.header, located, paths);
    const auto read = blob_reader(system, dataset);
    for (int i = 0; i < count; ++i) {
      const auto file = static_cast<std::size_t>(i);
      for (auto& contents :
           formats::read_blob_contents(dataset.dataset, i, dataset.files[file], paths[file + 1], read))
        dataset.contents.push_back(std::move(contents));
    }
    const auto space = formats::process_blob_space(dataset, system.open(path, OpenMode::read)->size_bytes());
    space_ = formats::FileSpace(space, paths);
    placement_.emplace(std::move(dataset), read, most_map_bytes);
  }

  [[nodiscard]] const formats::Header& header() const override {
    return placement_->dataset().dataset.header;
  }
  [[nodiscard]] const formats::FileSpace& space() const override { return space_; }
  [[nodiscard]] const std::vector<std::string>& paths() const override { return placement_->dataset().paths; }
  [[nodiscard]] const formats::Placement& placement() const override { return *placement_; }

 private:
  formats::FileSpace space_;
  std::optional<formats::ProcessBlobPlacement> placement_;
};

}  // namespace

std::unique_ptr<SplitDataset> open_split_dataset(FileSystem& system, const std::string& master) {
  auto description = describe(system, master);
  if (formats::subfile_count(description.header) > 0)
    return std::make_unique<Subfiles>(system, master, std::move(description));
  if (formats::blob_file_count(description.header) > 0)
    return std::make_unique<BlobFiles>(system, master, std::move(description));
  if (formats::process_blob_file_count(description.header) > 0)
    return std::make_unique<ProcessBlobs>(system, master, description);
  throw Error(NC_EINVAL, master + " is an ordinary file: it has all its data itself");
}

}  // namespace sluice::storage
