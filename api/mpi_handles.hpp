#pragma once
// Owners of MPI objects. Destructors free what is still owned, and do nothing once MPI has been finalized.
#include <mpi.h>

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "sluice/formats/error.hpp"

namespace sluice::api {

/// An MPI call that failed: its error class and text.
class MpiError : public Error {
 public:
  MpiError(Status status, int code, const std::string& what) : Error(status, what), code_(code) {}
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
};

/// Throws MpiError unless `code` is MPI_SUCCESS. `action` says what was being done ("open file x.nc"); the
/// status is that of the MPI error class (NC_ENOENT, NC_EACCESS, NC_ENO_SPACE, …), `otherwise` for classes
/// that have none of their own.
void check_mpi(int code, const std::string& action, Status otherwise = NC_EMPI);

/// Whether MPI can be called: initialized and not finalized.
[[nodiscard]] bool is_mpi_active() noexcept;

/// A communicator that this object owns, or shares with others of its kind. Errors on it return.
class Communicator {
 public:
  Communicator() = default;
  /// A duplicate of the user's communicator. Collective. The first one is kept with the user's communicator
  /// (as an attribute) and is what later calls give, because duplicating takes several messages between all
  /// ranks; it lasts until the user's communicator and all objects that have it are gone. Where threads may
  /// use MPI at the same time each call makes one of its own: collective calls on two datasets would meet in
  /// it otherwise. Throws MpiError.
  [[nodiscard]] static Communicator duplicate_of(MPI_Comm user);
  /// Those of `whole` that give the same color, in the same order. Collective. Throws MpiError.
  [[nodiscard]] static Communicator part_of(const Communicator& whole, int color);

  Communicator(Communicator&&) noexcept = default;
  Communicator& operator=(Communicator&&) noexcept = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator() = default;

  [[nodiscard]] MPI_Comm get() const noexcept { return handle_ ? handle_->comm : MPI_COMM_NULL; }
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] bool is_root() const noexcept { return rank_ == 0; }

 private:
  /// Frees the communicator at its end.
  struct Handle {
    explicit Handle(MPI_Comm owned) noexcept : comm(owned) {}
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    ~Handle();
    const MPI_Comm comm;
  };
  /// Shared by the datasets that were opened by one communicator of the user's, and that communicator.
  using SharedHandle = std::shared_ptr<const Handle>;

  explicit Communicator(SharedHandle handle);
  [[nodiscard]] static SharedHandle adopt(MPI_Comm comm);
  [[nodiscard]] static SharedHandle kept_with(MPI_Comm user);
  static void keep_with(MPI_Comm user, const SharedHandle& handle);
  static int forget(MPI_Comm user, int key, void* kept, void* unused) noexcept;
  [[nodiscard]] static int attribute_key();

  SharedHandle handle_;
  int rank_ = 0;
  int size_ = 1;
};

/// An info object that this object owns; MPI_INFO_NULL when empty.
class InfoHandle {
 public:
  InfoHandle() = default;
  /// A copy of the user's info (which may be MPI_INFO_NULL). Throws MpiError.
  [[nodiscard]] static InfoHandle duplicate_of(MPI_Info user);
  /// Takes over an info object that the caller got from MPI.
  [[nodiscard]] static InfoHandle adopt(MPI_Info info) noexcept;

  InfoHandle(InfoHandle&& other) noexcept : info_(std::exchange(other.info_, MPI_INFO_NULL)) {}
  InfoHandle& operator=(InfoHandle&& other) noexcept {
    std::swap(info_, other.info_);
    return *this;
  }
  InfoHandle(const InfoHandle&) = delete;
  InfoHandle& operator=(const InfoHandle&) = delete;
  ~InfoHandle();

  [[nodiscard]] MPI_Info get() const noexcept { return info_; }
  /// Gives it away: the caller frees it.
  [[nodiscard]] MPI_Info release() noexcept { return std::exchange(info_, MPI_INFO_NULL); }
  /// Makes an info object first where there is none.
  void set(const std::string& key, const std::string& value);
  [[nodiscard]] std::map<std::string, std::string> entries() const;

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

/// MPI's name of this node. Throws MpiError.
[[nodiscard]] std::string processor_name();

}  // namespace sluice::api
