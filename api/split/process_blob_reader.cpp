#include "process_blob_reader.hpp"

#include <cstring>
#include <utility>

#include "agreement.hpp"
#include "hdf5_part.hpp"
#include "sluice/storage/blob_files.hpp"
#include "sluice/storage/posix_file_system.hpp"
#include "sluice/storage/process_blob_files.hpp"

namespace sluice::api {
namespace {

/// Integers in transit to other ranks.
class Numbers {
 public:
  void add(std::int64_t number) { append(&number, sizeof number); }
  void append(const void* bytes, std::size_t size) { text.append(static_cast<const char*>(bytes), size); }
  std::int64_t take() {
    std::int64_t number = 0;
    std::memcpy(&number, text.data() + taken_, sizeof number);
    taken_ += sizeof number;
    return number;
  }
  [[nodiscard]] std::string rest() const { return text.substr(taken_); }

  std::string text;

 private:
  std::size_t taken_ = 0;
};

bool is_mine(const Communicator& comm, std::size_t i) {
  return static_cast<int>(i) % comm.size() == comm.rank();
}

void share(const Communicator& comm, std::vector<Numbers>& told) {
  for (std::size_t i = 0; i < told.size(); ++i)
    broadcast(comm, told[i].text, static_cast<int>(i) % comm.size());
}

std::vector<storage::LocatedBlobs> locate_together(const Communicator& comm,
                                                   const std::vector<std::string>& paths) {
  std::vector<Numbers> told(paths.size() - 1);
  storage::PosixFileSystem system;
  together_telling(comm, [&] {
    for (std::size_t i = 0; i < told.size(); ++i) {
      if (!is_mine(comm, i)) continue;
      const auto located = storage::locate_blobs(system, paths[i + 1]);
      told[i].add(located.data_offset);
      told[i].add(located.data_bytes);
      told[i].append(located.header_bytes.data(), located.header_bytes.size());
    }
  });
  share(comm, told);
  std::vector<storage::LocatedBlobs> result;
  for (auto& each : told) {
    auto& located = result.emplace_back();
    located.data_offset = each.take();
    located.data_bytes = each.take();
    located.header_bytes = each.rest();
  }
  return result;
}

void read_contents_together(const Communicator& comm, formats::ProcessBlobDataset& dataset,
                            const formats::BlobReader& read) {
  std::vector<Numbers> told(dataset.files.size());
  together_telling(comm, [&] {
    for (std::size_t i = 0; i < told.size(); ++i) {
      if (!is_mine(comm, i)) continue;
      const auto contents = formats::read_blob_contents(dataset.dataset, static_cast<int>(i),
                                                        dataset.files[i], dataset.paths[i + 1], read);
      for (const auto& each : contents) {
        told[i].add(each.data_begin);
        for (const auto& map : each.maps) {
          for (const auto number : {map.requests, map.elements, map.list_begin}) told[i].add(number);
        }
      }
    }
  });
  share(comm, told);
  const auto& blobs = dataset.dataset.blobs;
  for (int process = 0; process < blobs.processes; ++process) {
    auto& from = told[static_cast<std::size_t>(blobs.file_of(process))];
    auto& contents = dataset.contents.emplace_back();
    contents.data_begin = from.take();
    for (std::size_t map = 0; map < blobs.maps.size(); ++map) {
      formats::BlobMapPart part;
      part.requests = from.take();
      part.elements = from.take();
      part.list_begin = from.take();
      contents.maps.push_back(part);
    }
  }
}

FileSet read_only(const std::vector<std::string>& paths, MPI_Info info) {
  return {paths, MPI_MODE_RDONLY, info};
}

}  // namespace

formats::ProcessBlobDataset look_at_process_blobs(const Communicator& comm, const formats::Header& master,
                                                  const std::vector<std::string>& paths) {
  // All ranks or none: the text names the missing library.
  together_telling(comm, [] { (void)hdf5_part(); });
  const auto located = locate_together(comm, paths);
  formats::ProcessBlobDataset dataset;
  together_telling(comm, [&] { dataset = storage::describe_blobs(master, located, paths); });
  storage::PosixFileSystem system;
  const auto read = storage::blob_reader(system, dataset);
  read_contents_together(comm, dataset, read);
  together_telling(comm, [&] {
    for (std::size_t map = 0; map < dataset.dataset.blobs.maps.size(); ++map) {
      if (is_mine(comm, map)) (void)dataset.read_map(static_cast<int>(map) + 1, read);
    }
    (void)formats::process_blob_space(dataset, 0);
  });
  return dataset;
}

ProcessBlobReader::ProcessBlobReader(const Communicator& comm, formats::ProcessBlobDataset dataset,
                                     const FileOptions& options, MPI_Info info)
    : files_(read_only(dataset.paths, info)),
      read_([this, offsets = dataset.files](int file, std::int64_t offset, std::span<std::byte> bytes) {
        files_.file(file + 1).read(offsets[static_cast<std::size_t>(file)].data_offset + offset, bytes);
      }),
      placement_(std::move(dataset), read_, storage::most_map_bytes),
      transfer_(comm, files_, options) {
  const auto space = formats::process_blob_space(placement_.dataset(), files_.file(0).size_bytes());
  files_.use_space(formats::FileSpace(space, files_.paths()));
}

void ProcessBlobReader::get(const formats::Header& header, std::span<Access> accesses, Mode mode) {
  transfer_.get(header, placement_, accesses, mode);
}

}  // namespace sluice::api
