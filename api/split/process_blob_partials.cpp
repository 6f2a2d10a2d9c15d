#include "process_blob_partials.hpp"

#include <array>
#include <cerrno>
#include <utility>

#include "agreement.hpp"

namespace sluice::api {

ProcessBlobPartials::ProcessBlobPartials(const Communicator& comm, const Communicator& group,
                                         const std::vector<std::string>& paths, int file)
    : target_(paths[static_cast<std::size_t>(file) + 1]) {
  for (int first = 1;;) {
    int number = first;
    together_telling(comm, [&] {
      if (!comm.is_root()) return;
      master_ = std::make_unique<storage::PartialFile>(files_, paths.front(), first);
      number = master_->number();
    });
    check_mpi(MPI_Bcast(&number, 1, MPI_INT, 0, comm.get()), "share the number of partial files");
    blob_path_ = storage::partial_path(target_, number);
    int is_taken = 1;
    together_telling(comm, [&] {
      if (group.is_root()) is_taken = take_blob(number) ? 1 : 0;
    });
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, &is_taken, 1, MPI_INT, MPI_MIN, comm.get()),
              "agree on partial files");
    if (is_taken != 0) return;
    remove_blob();
    first = number + 1;
  }
}

ProcessBlobPartials::~ProcessBlobPartials() {
  remove_blob();
}

/// Returns false if another user has a file of that name. One of this user is a leftover: who holds the
/// master's partial file has the others of that number, too.
bool ProcessBlobPartials::take_blob(int number) {
  const auto path = storage::partial_path(target_, number);
  if (files_.owner_of(path) == files_.user()) files_.remove(path);
  try {
    files_.open(path, storage::OpenMode::create_private)->close();
  } catch (const IoError& error) {
    if (error.error_number() == EEXIST) return false;
    throw;
  }
  has_blob_ = true;
  return true;
}

void ProcessBlobPartials::remove_blob() noexcept {
  if (!std::exchange(has_blob_, false)) return;
  try {
    files_.remove(blob_path_);
  } catch (const Error&) {
    // The next process that makes this file removes it.
  }
}

void ProcessBlobPartials::publish_blob(bool is_synced) {
  const auto file = files_.open(blob_path_, storage::OpenMode::update);
  if (is_synced) file->sync();
  file->take_permissions_of(target_);
  files_.rename(blob_path_, target_);
  has_blob_ = false;
  if (is_synced) files_.sync_directory(storage::directory_of(target_));
}

}  // namespace sluice::api
