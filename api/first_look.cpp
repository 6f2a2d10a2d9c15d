#include "first_look.hpp"

#include <span>
#include <vector>

#include "agreement.hpp"
#include "sluice/storage/header_file.hpp"
#include "sluice/storage/posix_file_system.hpp"

namespace sluice::api {
namespace {

/// What the rank that read a file tells the others.
struct Told {
  std::string header_bytes;
  std::int64_t record_count = 0;
};

/// Collective: the header that `teller` has read, on all ranks.
void share_header(const Communicator& comm, const std::string& path, int teller, Told& told,
                  formats::DecodedHeader& header) {
  broadcast(comm, told.header_bytes, teller);
  if (comm.size() > 1)
    check_mpi(MPI_Bcast(&told.record_count, 1, MPI_INT64_T, teller, comm.get()),
              "broadcast the number of records");
  together(comm, [&] {
    if (comm.rank() == teller) return;
    const auto bytes = std::as_bytes(std::span(told.header_bytes));
    // The size of the file is not known here; the teller has checked against it.
    auto decoded = formats::decode_header(bytes, true, -1, path);
    if (!decoded) throw FormatError(NC_ENOTNC, path, bytes.size(), "the header ends here");
    header = std::move(*decoded);
    // That of a file that was being streamed follows from its size.
    header.header.record_count = told.record_count;
  });
}

void read_header(const std::string& path, std::int64_t chunk_bytes, Told& told,
                 formats::DecodedHeader& header) {
  const auto file = storage::PosixFileSystem().open(path, storage::OpenMode::read);
  auto read = storage::read_header(*file, chunk_bytes);
  told.header_bytes.assign(reinterpret_cast<const char*>(read.bytes.data()), read.bytes.size());
  told.record_count = read.decoded.header.record_count;
  header = std::move(read.decoded);
}

}  // namespace

FirstLook look_together(const Communicator& comm, const std::string& path, std::int64_t chunk_bytes) {
  FirstLook look;
  Told told;
  look.is_local = flag_of_root(comm, [&] {
    read_header(path, chunk_bytes, told, look.header);
    return storage::is_on_local_file_system(path);
  });
  share_header(comm, path, 0, told, look.header);
  return look;
}

std::vector<formats::DecodedHeader> look_at_all(const Communicator& comm,
                                                const std::vector<std::string>& paths,
                                                std::int64_t chunk_bytes) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  std::vector<Told> told(paths.size());
  std::vector<formats::DecodedHeader> headers(paths.size());
  together_telling(comm, [&] {
    for (auto i = static_cast<std::size_t>(comm.rank()); i < paths.size(); i += ranks)
      read_header(paths[i], chunk_bytes, told[i], headers[i]);
  });
  for (std::size_t i = 0; i < paths.size(); ++i)
    share_header(comm, paths[i], static_cast<int>(i % ranks), told[i], headers[i]);
  return headers;
}

}  // namespace sluice::api
