#include "sluice/storage/split_dataset.hpp"

#include <optional>

#include "sluice/formats/blobs.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/formats/subfile_identity.hpp"
#include "sluice/formats/subfiles.hpp"
#include "sluice/storage/blob_files.hpp"
#include "sluice/storage/blobs_without_master.hpp"
#include "sluice/storage/header_file.hpp"
#include "sluice/storage/process_blob_files.hpp"

namespace sluice::storage {
namespace {

formats::FileDescription describe(FileSystem& system, const std::string& path,
                                  formats::SubfileIdentity* identity = nullptr) {
  const auto detail = identity != nullptr ? formats::Detail::structure : formats::Detail::all;
  const auto file = system.open(path, OpenMode::read);
  auto decoded = read_header(*file, default_header_chunk_bytes, detail, identity).decoded;
  formats::FileDescription description;
  description.layout = formats::layout_of(decoded.header, decoded.size_bytes);
  description.header = std::move(decoded.header);
  description.file_bytes = file->size_bytes();
  return description;
}

class Subfiles final : public SplitDataset {
 public:
  Subfiles(FileSystem& system, const std::string& path, formats::FileDescription master)
      : dataset_(formats::read_master(master.header, path)) {
    const int variables = master.header.variable_count();
    add_file(path, std::move(master), formats::shares_in_master(dataset_.subfiling, variables));
    const auto names = subfile_names(system, path);
    for (int i = 0; i < dataset_.subfiling.subfiles(); ++i) {
      const auto subfile = formats::subfile_path(path, i, names);
      formats::SubfileIdentity identity(dataset_, i);
      auto found = describe(system, subfile, &identity);
      formats::check_subfile(dataset_, i, found.header, subfile);
      identity.check(subfile);
      std::vector<formats::Share> shares(found.header.variables().size(), formats::Share::in_all);
      add_file(subfile, std::move(found), std::move(shares));
    }
    std::vector<formats::Layout> layouts;
    for (const auto& file : sections_) layouts.push_back(file.layout);
    space_ = formats::FileSpace(layouts);
    placement_.emplace(dataset_.header, dataset_.subfiling, sections_, space_);
  }

  [[nodiscard]] const formats::Header& header() const override { return dataset_.header; }
  [[nodiscard]] const formats::FileSpace& space() const override { return space_; }
  [[nodiscard]] const std::vector<std::string>& paths() const override { return paths_; }
  [[nodiscard]] const formats::Placement& placement() const override { return *placement_; }

  void check_complete() const override {
    std::vector<formats::FileEnd> ends;
    for (std::size_t i = 0; i < files_.size(); ++i)
      ends.push_back(
          formats::find_end(files_[i], dataset_.header.record_count, shares_[i], files_[i].file_bytes));
    formats::check_ends(ends, paths_);
  }
  [[nodiscard]] std::int64_t whole_bytes(int file, std::int64_t records) const override {
    const auto i = static_cast<std::size_t>(file);
    return formats::end_of_data(files_[i], records, shares_[i]);
  }

 private:
  void add_file(const std::string& path, formats::FileDescription file, std::vector<formats::Share> shares) {
    paths_.push_back(path);
    sections_.push_back(formats::sections_of(file.header, file.layout.header_size));
    formats::check_sections(file.header, sections_.back().layout, path);
    file.layout = sections_.back().layout;
    files_.push_back(std::move(file));
    shares_.push_back(std::move(shares));
  }

  formats::SubfiledHeader dataset_;
  std::vector<std::string> paths_;
  std::vector<formats::FileDescription> files_;
  std::vector<std::vector<formats::Share>> shares_;  ///< by file and variable
  std::vector<formats::FileSections> sections_;
  formats::FileSpace space_;
  std::optional<formats::SubfilePlacement> placement_;
};

/// The paths of the master and its blob files. Without a master, the first blob file takes its place; no data
/// is read from that entry.
std::vector<std::string> blob_paths(const std::string& master, int count, bool has_master) {
  std::vector<std::string> paths{has_master ? master : formats::blob_file_path(master, 0)};
  for (int i = 0; i < count; ++i) paths.push_back(formats::blob_file_path(master, i));
  return paths;
}

class BlobFiles final : public SplitDataset {
 public:
  BlobFiles(FileSystem& system, const std::string& path, formats::FileDescription master, bool has_master)
      : paths_(blob_paths(path, formats::blob_file_count(master.header), has_master)) {
    std::vector<formats::FileDescription> files{std::move(master)};
    for (std::size_t i = 1; i < paths_.size(); ++i) {
      files.push_back(describe(system, paths_[i]));
    }
    dataset_ = formats::read_blob_headers(files, paths_);
    files_ = files;
    const auto master_bytes = system.open(paths_.front(), OpenMode::read)->size_bytes();
    files.front() = formats::room_for_holes(dataset_.header, master_bytes);
    space_ = formats::FileSpace(files, paths_);
    placement_.emplace(dataset_.header, dataset_.blobs, files, space_,
                       map_loader(system, dataset_, files, paths_), most_map_bytes);
  }

  [[nodiscard]] const formats::Header& header() const override { return dataset_.header; }
  [[nodiscard]] const formats::FileSpace& space() const override { return space_; }
  [[nodiscard]] const std::vector<std::string>& paths() const override { return paths_; }
  [[nodiscard]] const formats::Placement& placement() const override { return *placement_; }

  void check_complete() const override { formats::check_blob_ends(dataset_, files_, paths_); }

 private:
  formats::BlobHeader dataset_;
  std::vector<std::string> paths_;
  std::vector<formats::FileDescription> files_;
  formats::FileSpace space_;
  std::optional<formats::BlobPlacement> placement_;
};

class ProcessBlobs final : public SplitDataset {
 public:
  ProcessBlobs(FileSystem& system, const std::string& path, const formats::FileDescription& master,
               bool has_master) {
    const int count = formats::process_blob_file_count(master.header);
    const auto paths = blob_paths(path, count, has_master);
    std::vector<LocatedBlobs> located;
    for (int i = 1; i <= count; ++i)
      located.push_back(locate_blobs(system, paths[static_cast<std::size_t>(i)]));
    auto dataset = describe_blobs(master.header, located, paths);
    const auto read = blob_reader(system, dataset);
    for (int i = 0; i < count; ++i) {
      const auto file = static_cast<std::size_t>(i);
      for (auto& contents :
           formats::read_blob_contents(dataset.dataset, i, dataset.files[file], paths[file + 1], read))
        dataset.contents.push_back(std::move(contents));
    }
    const auto master_bytes = system.open(paths.front(), OpenMode::read)->size_bytes();
    const auto space = formats::process_blob_space(dataset, master_bytes);
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

formats::SubfileNames subfile_names(FileSystem& system, const std::string& master) {
  using enum formats::SubfileNames;
  const auto exists = [&](formats::SubfileNames names) {
    return system.exists(formats::subfile_path(master, 0, names));
  };
  return !exists(with_suffix) && exists(without_suffix) ? without_suffix : with_suffix;
}

std::unique_ptr<SplitDataset> open_split_dataset(FileSystem& system, const std::string& master) {
  const bool has_master = !are_blobs_without_master(system, master);
  formats::FileDescription description;
  if (has_master) {
    description = describe(system, master);
  } else {
    description.header = made_up_master(system, master);
    description.layout = formats::layout_of(description.header, formats::encoded_size(description.header));
  }
  if (formats::subfile_count(description.header) > 0)
    return std::make_unique<Subfiles>(system, master, std::move(description));
  if (formats::blob_file_count(description.header) > 0)
    return std::make_unique<BlobFiles>(system, master, std::move(description), has_master);
  if (formats::process_blob_file_count(description.header) > 0)
    return std::make_unique<ProcessBlobs>(system, master, description, has_master);
  throw Error(NC_EINVAL, master + " is an ordinary file: its data is not divided into several files");
}

}  // namespace sluice::storage
