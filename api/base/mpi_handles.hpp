#pragma once
// Owners of MPI objects. Destructors free the object that they still own, and do nothing after MPI_Finalize.
#include <mpi.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "sluice/formats/error.hpp"

namespace sluice::api {

/// The error of a failed MPI call: its error class and text.
class MpiError : public Error {
 public:
  MpiError(Status status, int code, const std::string& what) : Error(status, what), code_(code) {}
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
};

/// Throws MpiError unless `code` is MPI_SUCCESS. `action` names the attempted action ("open file x.nc"). The
/// status follows the MPI error class (NC_ENOENT, NC_EACCESS, NC_ENO_SPACE, …); `otherwise` is the status for
/// classes without one.
void check_mpi(int code, const std::string& action, Status otherwise = NC_EMPI);

/// Whether MPI can be called: MPI is initialized and not finalized.
[[nodiscard]] bool is_mpi_active() noexcept;

/// A function that returns when the request is complete.
using RequestWait = std::function<void(MPI_Request&)>;

/// A communicator that this object owns, or shares with other Communicator objects. MPI returns errors on it
/// instead of aborting.
class Communicator {
 public:
  Communicator() = default;
  /// A duplicate of the user's communicator. Collective. The first duplicate is kept as an attribute of the
  /// user's communicator, and later calls return it, because duplicating takes several messages between all
  /// ranks. It lasts until the user's communicator and all objects that use the duplicate are gone. If
  /// threads may use MPI at the same time, each call makes a new duplicate, because collective calls on two
  /// datasets would otherwise mix. `wait` waits for the other ranks outside MPI, if given. Throws MpiError.
  [[nodiscard]] static Communicator duplicate_of(MPI_Comm user, const RequestWait& wait = {});
  /// The ranks of `whole` that give the same color, in the same order. Collective. Throws MpiError.
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
  /// Frees the communicator in its destructor.
  struct Handle {
    explicit Handle(MPI_Comm owned) noexcept : comm(owned) {}
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    ~Handle();
    const MPI_Comm comm;
  };
  /// The handle shared by the user's communicator and all datasets opened with it.
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

/// An MPI info object that this object owns; MPI_INFO_NULL when empty.
class InfoHandle {
 public:
  InfoHandle() = default;
  /// A copy of the user's info, which can be MPI_INFO_NULL. Throws MpiError.
  [[nodiscard]] static InfoHandle duplicate_of(MPI_Info user);
  /// Takes ownership of an info object that the caller got from MPI.
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
  /// Gives up ownership: the caller frees the info object.
  [[nodiscard]] MPI_Info release() noexcept { return std::exchange(info_, MPI_INFO_NULL); }
  /// Sets a key; creates the info object first if there is none.
  void set(const std::string& key, const std::string& value);
  [[nodiscard]] std::map<std::string, std::string> entries() const;

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

/// MPI's name of this node. Throws MpiError.
[[nodiscard]] std::string processor_name();

}  // namespace sluice::api
