#include "process_blob_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>
#include <span>
#include <thread>

#include "agreement.hpp"
#include "hdf5_part.hpp"
#include "process_blob_partials.hpp"
#include "sluice/formats/cdf.hpp"
#include "sluice/formats/convert.hpp"
#include "sluice/formats/process_blobs.hpp"
#include "sluice/storage/hdf5_library.hpp"
#include "sluice/storage/posix_file_system.hpp"

namespace sluice::api {
namespace {

using formats::Blobs;
using formats::ElementRun;

/// Copies the data of a part that lies in the runs. The runs and the part are ascending.
void copy_common(const PendingPuts::Part& part, std::span<const ElementRun> runs, std::size_t element_bytes,
                 std::byte* to) {
  const std::byte* from = part.bytes.data();
  auto put = part.runs.begin();
  for (auto run = runs.begin(); run != runs.end() && put != part.runs.end();) {
    const std::int64_t put_end = put->offset + put->length;
    const std::int64_t run_end = run->offset + run->length;
    const std::int64_t first = std::max(put->offset, run->offset);
    const std::int64_t last = std::min(put_end, run_end);
    if (first < last)
      std::memcpy(to + static_cast<std::size_t>(first - run->offset) * element_bytes,
                  from + static_cast<std::size_t>(first - put->offset) * element_bytes,
                  static_cast<std::size_t>(last - first) * element_bytes);
    if (put_end <= run_end) {
      from += static_cast<std::size_t>(put->length) * element_bytes;
      ++put;
    }
    if (run_end <= put_end) {
      to += static_cast<std::size_t>(run->length) * element_bytes;
      ++run;
    }
  }
}

std::int64_t elements_of(std::span<const ElementRun> runs) {
  std::int64_t elements = 0;
  for (const auto& run : runs) elements += run.length;
  return elements;
}

/// Calls visit(record, runs) for all records of a variable in order. `runs` belong to each record, or to all
/// records together if the map includes the records.
template <class Visit>
void for_each_record(const formats::Header& header, int varid, bool are_in_one, std::vector<ElementRun> runs,
                     const Visit& visit) {
  const std::int64_t records = header.is_record_variable(varid) ? header.record_count : 1;
  const std::int64_t elements = header.elements_per_record(varid);
  std::size_t next = 0;
  for (std::int64_t record = 0; record < records; ++record) {
    if (!are_in_one) {
      visit(record, runs);
      continue;
    }
    // Divided at the ends of records.
    std::vector<ElementRun> part;
    const std::int64_t begin = record * elements;
    while (next < runs.size() && runs[next].offset < begin + elements) {
      const std::int64_t length = std::min(runs[next].length, begin + elements - runs[next].offset);
      part.push_back({runs[next].offset - begin, length});
      runs[next].offset += length;
      runs[next].length -= length;
      if (runs[next].length == 0) ++next;
    }
    visit(record, part);
  }
}

/// Encodes the blob of one process.
class BlobEncoder {
 public:
  BlobEncoder(const formats::Header& header, const Blobs& blobs, int process, PendingPuts& puts,
              bool given_up)
      : header_(header), blobs_(blobs), process_(process), puts_(puts), given_up_(given_up) {}

  std::vector<std::byte> encode() {
    bytes_ = formats::encode_blob_maps(header_, blobs_, process_);
    std::size_t size = bytes_.size();
    for (int id = 0; id < header_.variable_count(); ++id) size += bytes_of(id);
    bytes_.reserve(size);
    for (int id = 0; id < header_.variable_count(); ++id) append_variable(id);
    return std::move(bytes_);
  }

 private:
  [[nodiscard]] std::int64_t records_of(int varid) const {
    return header_.is_record_variable(varid) ? header_.record_count : 1;
  }

  [[nodiscard]] const formats::DecompositionMap* map_of(int varid) const {
    const int kept = blobs_.kept[static_cast<std::size_t>(varid)];
    return kept > 0 ? &blobs_.maps[static_cast<std::size_t>(kept) - 1] : nullptr;
  }

  /// The runs of this process in the variable: in each record, or with all records in one list if the map
  /// includes the records.
  [[nodiscard]] std::vector<ElementRun> runs_of(int varid) const {
    const int kept = blobs_.kept[static_cast<std::size_t>(varid)];
    if (const auto* map = map_of(varid)) return map->runs[static_cast<std::size_t>(process_)];
    if (kept == Blobs::whole && process_ == 0) return {{0, header_.elements_per_record(varid)}};
    return {};
  }

  [[nodiscard]] bool has_records_in_one(int varid) const {
    const auto* map = map_of(varid);
    return map != nullptr && formats::has_records(header_, *map);
  }

  [[nodiscard]] std::size_t bytes_of(int varid) const {
    const std::int64_t times = has_records_in_one(varid) ? 1 : records_of(varid);
    return static_cast<std::size_t>(elements_of(runs_of(varid)) * times) *
           formats::size_of(header_.variable(varid).type);
  }

  void append_variable(int varid) {
    for_each_record(header_, varid, has_records_in_one(varid), runs_of(varid),
                    [&](std::int64_t record, const std::vector<ElementRun>& runs) {
                      append_record(varid, record, runs);
                    });
  }

  void append_record(int varid, std::int64_t record, std::span<const ElementRun> runs) {
    const auto element_bytes = formats::size_of(header_.variable(varid).type);
    const std::int64_t elements = elements_of(runs);
    const std::size_t at = bytes_.size();
    bytes_.resize(at + static_cast<std::size_t>(elements) * element_bytes);
    const auto& parts = puts_.parts(header_);
    std::vector<PendingPuts::Key> copied;
    for (auto part = parts.lower_bound({varid, record, 0});
         part != parts.end() && part->first.varid == varid && part->first.record == record; ++part) {
      copy_common(part->second, runs, element_bytes, bytes_.data() + at);
      copied.push_back(part->first);
    }
    formats::copy_ordered(bytes_.data() + at, bytes_.data() + at, element_bytes, elements,
                          formats::ByteOrder::big);
    for (const auto& key : copied) {
      if (given_up_) puts_.remove(key);
    }
  }

  const formats::Header& header_;
  const Blobs& blobs_;
  int process_;
  PendingPuts& puts_;
  bool given_up_;
  std::vector<std::byte> bytes_;
};

/// The header of a blob file as E3SM's programs write it: the variables have no begin.
std::vector<std::byte> header_of(const ProcessBlobOutput& output, int file) {
  auto header = formats::blob_file_header(output.header, output.blobs, file);
  header.record_count = output.header.record_count;
  (void)formats::compute_layout(header, {}, nullptr);
  for (int id = 0; id < header.variable_count(); ++id) header.variable(id).begin = 0;
  return formats::encode_header(header, formats::native_byte_order);
}

/// Collective: reserves HDF5 for this communicator. Threads of one process may write datasets of several
/// communicators, in another order than threads of another process. So a process releases the lock if another
/// process did not get its lock.
class CollectiveLock {
 public:
  explicit CollectiveLock(const Communicator& comm) : lock_(storage::hdf5_mutex(), std::defer_lock) {
    for (auto patience = std::chrono::milliseconds(10);; patience *= 2) {
      // The first rank waits for the lock while it holds nothing else; communicators with the same first rank
      // take turns. The other ranks wait a limited time for a lock that may soon be released.
      if (comm.is_root()) lock_.lock();
      check_mpi(MPI_Barrier(comm.get()), "wait for the first process");
      const bool is_here = comm.is_root() || is_locked_within(std::min(patience, most_patience));
      int is_everywhere = is_here ? 1 : 0;
      check_mpi(MPI_Allreduce(MPI_IN_PLACE, &is_everywhere, 1, MPI_INT, MPI_MIN, comm.get()),
                "agree on a lock");
      if (is_everywhere != 0) return;
      if (is_here) lock_.unlock();
    }
  }

 private:
  static constexpr std::chrono::milliseconds most_patience{1000};

  /// Polls the lock: thread sanitizer cannot follow a wait with a time limit.
  bool is_locked_within(std::chrono::milliseconds patience) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!lock_.try_lock()) {
      if (std::chrono::steady_clock::now() >= end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }

  std::unique_lock<std::mutex> lock_;
};

/// Collective over the processes of a file.
void write_file(const Communicator& group, const std::string& path, const ProcessBlobOutput& output,
                const std::vector<std::byte>& header) {
  const auto mine = static_cast<std::uint64_t>(output.blob.size());
  std::uint64_t begin = 0;
  std::uint64_t all = 0;
  check_mpi(MPI_Exscan(&mine, &begin, 1, MPI_UINT64_T, MPI_SUM, group.get()), "add up sizes");
  check_mpi(MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, group.get()), "add up sizes");
  if (group.is_root()) begin = 0;
  const MPI_Comm comm = group.get();
  sluice_hdf5_file file{};
  file.path = path.c_str();
  file.comm = &comm;
  file.info = &output.info;
  file.header = header.data();
  file.header_bytes = header.size();
  file.data = output.blob.data();
  file.data_begin = begin;
  file.data_bytes = mine;
  file.all_bytes = all;
  std::array<char, 512> what{};
  const CollectiveLock lock(group);
  const int failure = hdf5_part().write(&file, what.data(), what.size());
  if (failure == 0) return;
  const bool is_full = failure == ENOSPC || storage::is_out_of_space(path, output.blob.size());
  throw Error(is_full ? NC_ENO_SPACE : failure == EDQUOT ? NC_EQUOTA : NC_EWRITE, path + ": " + what.data());
}

/// Checks the space before any write. HDF5 also reserves space before it writes data, but some file systems
/// cannot reserve. Throws NC_ENO_SPACE.
void check_space(const std::string& path, std::uint64_t bytes) {
  constexpr std::uint64_t more = 1 << 16;  // space for HDF5's own data
  if (storage::is_out_of_space(storage::directory_of(path), bytes + more))
    throw Error(NC_ENO_SPACE, "the disk has no space for the " + std::to_string(bytes) + " bytes of " + path);
}

void write_master(storage::File& file, const ProcessBlobOutput& output) {
  auto header = formats::blob_master_header(output.header, output.blobs);
  (void)formats::compute_layout(header, {}, nullptr);
  file.write(0, formats::encode_header(header));
  if (output.is_synced) file.sync();
}

/// The master that ncmpi_create made is empty until the first complete write.
void remove_empty(const std::string& path) {
  storage::PosixFileSystem system;
  if (system.open(path, storage::OpenMode::read)->size_bytes() == 0) system.remove(path);
}

}  // namespace

std::vector<std::byte> encode_blob(const formats::Header& header, const Blobs& blobs, int process,
                                   PendingPuts& puts, bool given_up) {
  return BlobEncoder(header, blobs, process, puts, given_up).encode();
}

std::vector<WrittenPart> read_blob(const formats::ProcessBlobDataset& dataset, int process,
                                   const formats::BlobReader& read) {
  const auto& [header, blobs] = dataset.dataset;
  const auto& contents = dataset.contents[static_cast<std::size_t>(process)];
  const int file = blobs.file_of(process);
  const auto order = dataset.files[static_cast<std::size_t>(file)].order;
  std::vector<std::vector<ElementRun>> requests;
  for (int map = 1; map <= static_cast<int>(blobs.maps.size()); ++map)
    requests.push_back(dataset.read_requests(map, process, read));
  std::vector<WrittenPart> parts;
  std::int64_t at = contents.data_begin;
  for (int id = 0; id < header.variable_count(); ++id) {
    if (formats::bytes_in_blob(dataset.dataset, id, process, contents).all == 0) continue;
    const int kept = blobs.kept[static_cast<std::size_t>(id)];
    const auto map = static_cast<std::size_t>(kept) - 1;
    const auto runs = kept > 0 ? requests[map] : std::vector<ElementRun>{{0, header.elements_per_record(id)}};
    const bool are_in_one = kept > 0 && formats::has_records(header, blobs.maps[map]);
    const auto element_bytes = formats::size_of(header.variable(id).type);
    const auto take = [&](std::int64_t record, const std::vector<ElementRun>& each) {
      const std::int64_t elements = elements_of(each);
      WrittenPart part{id, record, each, {}};
      part.bytes.resize(static_cast<std::size_t>(elements) * element_bytes);
      read(file, at, part.bytes);
      at += static_cast<std::int64_t>(part.bytes.size());
      if (order != formats::ByteOrder::big)
        formats::copy_swapped(part.bytes.data(), part.bytes.data(), element_bytes, elements);
      parts.push_back(std::move(part));
    };
    for_each_record(header, id, are_in_one, runs, take);
  }
  return parts;
}

void write_process_blobs(const Communicator& comm, const ProcessBlobOutput& output) {
  const int file = output.blobs.file_of(comm.rank());
  const auto& path = output.paths[static_cast<std::size_t>(file) + 1];
  const Communicator group = Communicator::part_of(comm, file);
  std::vector<std::byte> header;
  std::uint64_t all = output.blob.size();
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_UINT64_T, MPI_SUM, group.get()), "add up sizes");
  std::optional<ProcessBlobPartials> partials;
  try {
    together_telling(comm, [&] {
      header = header_of(output, file);
      if (group.is_root()) check_space(path, all + header.size());
    });
    partials.emplace(comm, group, output.paths, file);
    together_telling(comm, [&] {
      write_file(group, partials->blob_path(), output, header);
      if (comm.is_root()) write_master(partials->master(), output);
    });
    // The master comes last: a process that finds the new master also finds the new files.
    together_telling(comm, [&] {
      if (group.is_root()) partials->publish_blob(output.is_synced);
    });
    together_telling(comm, [&] {
      if (comm.is_root()) partials->publish_master();
    });
  } catch (...) {
    partials.reset();
    if (comm.is_root()) (void)outcome_of([&] { remove_empty(output.paths.front()); });
    // A process that gets the error may end the whole program.
    MPI_Barrier(comm.get());
    throw;
  }
}

}  // namespace sluice::api
