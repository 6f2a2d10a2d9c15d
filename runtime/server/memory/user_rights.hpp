#pragma once
#include <sys/stat.h>
#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sluice/runtime/packet_socket.hpp"

namespace sluice::runtime {

inline constexpr uid_t no_user = ~uid_t{0};

/// Another user, whom a process of a run of root has become. The matcher works for it with its rights.
struct UserRights {
  uid_t user = 0;
  gid_t group = 0;
  std::vector<gid_t> groups;

  /// Of the process at the other end of a socket; null: it is of this process's user. Throws IoError.
  [[nodiscard]] static std::shared_ptr<const UserRights> of_peer(int socket);
  /// The user may make, replace or remove a name in its directory. `owner`: of the file that has the name, or
  /// no_user. Throws IoError: NC_EPERM, NC_ENOENT; NC_EACCESS where the directory is sticky.
  void expect_may_change(const std::string& path, uid_t owner) const;
};

/// A socket by which all users may connect who know the path. Empty: there is none; on other machines than
/// the coordinator's there is no directory for it. Throws IoError.
[[nodiscard]] FileDescriptor listen_at_door(const std::string& door);
/// accept_connection() of any user.
[[nodiscard]] std::optional<PacketSocket> accept_of_any_user(const FileDescriptor& listener);

/// As long as it lives, the kernel lets this thread use files as that user may. Null: as ever. Throws
/// Error(NC_EPERM) where this process cannot do that.
class ActingAs {
 public:
  explicit ActingAs(const UserRights* rights);
  ~ActingAs();
  ActingAs(const ActingAs&) = delete;
  ActingAs& operator=(const ActingAs&) = delete;

 private:
  bool is_acting_;
  std::vector<gid_t> own_groups_;
};

// The same for one call. Null: this process's user.

/// reopened(), as far as the user may open it.
[[nodiscard]] SharedFile reopened_for(const UserRights* rights, const FileDescriptor& file,
                                      std::uint32_t flags);
/// What such a reader gets of a published file: for_reader().
[[nodiscard]] SharedFile for_reader(const UserRights* rights, const SharedFile& file);
/// By open(2) with O_CLOEXEC.
[[nodiscard]] FileDescriptor open_as(const UserRights* rights, const std::string& path, int flags);
void remove_as(const UserRights* rights, const std::string& path);
/// The user's numbers, for a file that it makes.
void note_user(const UserRights* rights, struct stat& facts) noexcept;

}  // namespace sluice::runtime
