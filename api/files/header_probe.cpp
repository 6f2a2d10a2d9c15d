#include "header_probe.hpp"

#include <array>
#include <span>
#include <vector>

#include "agreement.hpp"
#include "sluice/storage/blobs_without_master.hpp"
#include "sluice/storage/header_file.hpp"
#include "sluice/storage/posix_file_system.hpp"

namespace sluice::api {
namespace {

/// A file's header in transit from the rank that reads it to the other ranks.
struct Look {
  std::string path;
  formats::Detail detail = formats::Detail::all;
  formats::AttributeTaker* taker = nullptr;
  std::string header_bytes{};
  std::int64_t record_count = 0;
  std::int64_t file_bytes = 0;
  formats::DecodedHeader header{};

  void read(std::int64_t chunk_bytes) {
    const auto file = storage::PosixFileSystem().open(path, storage::OpenMode::read);
    auto found = storage::read_header(*file, chunk_bytes, detail, taker);
    header_bytes.assign(reinterpret_cast<const char*>(found.bytes.data()), found.bytes.size());
    record_count = found.decoded.header.record_count;
    file_bytes = file->size_bytes();
    header = std::move(found.decoded);
  }

  /// Collective: rank 0 reads. Returns whether the file is on a local file system.
  [[nodiscard]] bool read_on_root(const Communicator& comm, std::int64_t chunk_bytes) {
    return flag_of_root(comm, [&] {
      read(chunk_bytes);
      return storage::is_on_local_file_system(path);
    });
  }

  /// Collective: copies the header that `teller` has read to all ranks.
  void share(const Communicator& comm, int teller) {
    broadcast(comm, header_bytes, teller);
    std::array<std::int64_t, 2> numbers{record_count, file_bytes};
    if (comm.size() > 1)
      check_mpi(MPI_Bcast(numbers.data(), 2, MPI_INT64_T, teller, comm.get()),
                "broadcast the number of records");
    record_count = numbers[0];
    file_bytes = numbers[1];
    run_collectively(comm, [&] {
      if (comm.rank() == teller) return;
      const auto bytes = std::as_bytes(std::span(header_bytes));
      // The size of the file is not known here; the teller has checked the header against it.
      auto decoded = formats::decode_header(bytes, true, -1, path, detail);
      if (!decoded) throw FormatError(NC_ENOTNC, path, bytes.size(), "the header ends here");
      header = std::move(*decoded);
      // A file that was being streamed takes its record count from its size.
      header.header.record_count = record_count;
    });
  }
};

}  // namespace

HeaderProbe look_together(const Communicator& comm, const std::string& path, std::int64_t chunk_bytes) {
  Look look{.path = path};
  const bool is_local = look.read_on_root(comm, chunk_bytes);
  look.share(comm, 0);
  return {std::move(look.header), is_local, false, look.file_bytes};
}

HeaderProbe make_up_master_together(const Communicator& comm, const std::string& path) {
  Look look{.path = path};
  HeaderProbe result;
  result.is_made_up = true;
  bool is_local = false;
  together_telling(comm, [&] {
    if (!comm.is_root()) return;
    storage::PosixFileSystem system;
    auto& [header, size_bytes] = look.header;
    header = storage::made_up_master(system, path);
    const auto bytes = formats::encode_header(header);
    look.header_bytes.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    look.record_count = header.record_count;
    size_bytes = std::ssize(bytes);
    is_local = storage::is_on_local_file_system(path);
  });
  look.share(comm, 0);
  result.is_local = broadcast_flag(comm, is_local);
  result.header = std::move(look.header);
  return result;
}

MasterLook look_for_master(const Communicator& comm, const std::string& path, std::int64_t chunk_bytes,
                           formats::MasterReader& master) {
  Look look{.path = path, .taker = &master};
  const bool is_local = look.read_on_root(comm, chunk_bytes);
  const bool is_master = broadcast_flag(comm, master.is_master());
  look.taker = nullptr;
  if (!is_master) look.share(comm, 0);
  return {{std::move(look.header), is_local, false, look.file_bytes}, is_master};
}

std::vector<HeaderProbe> look_at_all(const Communicator& comm, const std::vector<std::string>& paths,
                                     std::int64_t chunk_bytes, formats::Detail detail) {
  std::vector<Look> looks;
  for (const auto& path : paths) looks.push_back({.path = path, .detail = detail});
  const auto ranks = static_cast<std::size_t>(comm.size());
  together_telling(comm, [&] {
    for (auto i = static_cast<std::size_t>(comm.rank()); i < paths.size(); i += ranks)
      looks[i].read(chunk_bytes);
  });
  std::vector<HeaderProbe> result;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    looks[i].share(comm, static_cast<int>(i % ranks));
    result.push_back({std::move(looks[i].header), false, false, looks[i].file_bytes});
  }
  return result;
}

}  // namespace sluice::api
