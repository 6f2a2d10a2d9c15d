#include "user_rights.hpp"

#include <fcntl.h>
#include <grp.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "memory_file.hpp"
#include "sluice/formats/error.hpp"

namespace sluice::runtime {

namespace {

std::vector<gid_t> groups_of_peer(int socket) {
  socklen_t bytes = 0;
  (void)::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, nullptr, &bytes);  // says how many there are
  std::vector<gid_t> groups(bytes / sizeof(gid_t));
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &bytes) != 0) groups.clear();
  return groups;
}

/// Of this thread: the C library's function is for all threads of the process.
void set_groups(const std::vector<gid_t>& groups) noexcept {
  (void)::syscall(SYS_setgroups, groups.size(), groups.data());
}

void set_user(uid_t user, gid_t group, const std::vector<gid_t>& groups) noexcept {
  set_groups(groups);
  (void)::setfsgid(group);
  (void)::setfsuid(user);
}

[[noreturn]] void refuse(int error_number, const std::string& path) {
  throw IoError(error_number == ENOENT ? NC_ENOENT : NC_EPERM, error_number, path, "change the name of");
}

}  // namespace

std::shared_ptr<const UserRights> UserRights::of_peer(int socket) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
    throw IoError(NC_EIO, errno, "a connection", "ask for the user of");
  if (peer.uid == ::geteuid()) return nullptr;
  return std::make_shared<const UserRights>(UserRights{peer.uid, peer.gid, groups_of_peer(socket)});
}

/// All users can see the name by which a socket was bound (/proc/net/unix), so it is not the way to it.
FileDescriptor listen_at_door(const std::string& door) {
  const std::size_t slash = door.rfind('/');
  if (slash == std::string::npos) return {};
  const FileDescriptor directory(::open(door.substr(0, slash).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return {};
  constexpr mode_t all_may_connect = 0666;
  FileDescriptor listener = listen_at(link_to(directory) + door.substr(slash));
  return ::chmod(door.c_str(), all_may_connect) == 0 ? std::move(listener) : FileDescriptor{};
}

std::optional<PacketSocket> accept_of_any_user(const FileDescriptor& listener) {
  for (;;) {
    FileDescriptor socket(::accept4(listener.number(), nullptr, nullptr, SOCK_CLOEXEC));
    if (socket) return PacketSocket(std::move(socket));
    if (errno == EAGAIN || errno == EWOULDBLOCK) return std::nullopt;
    const bool lacks_descriptors = errno == EMFILE || errno == ENFILE;
    if (errno != EINTR && errno != ECONNABORTED)
      throw IoError(lacks_descriptors ? NC_ENFILE : NC_EIO, errno, "a connection", "accept");
  }
}

ActingAs::ActingAs(const UserRights* rights) : is_acting_(rights != nullptr) {
  if (!is_acting_) return;
  const int count = ::getgroups(0, nullptr);
  own_groups_.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  (void)::getgroups(count, own_groups_.data());
  set_user(rights->user, rights->group, rights->groups);
  constexpr uid_t no_change = ~uid_t{0};
  if (static_cast<uid_t>(::setfsuid(no_change)) == rights->user) return;
  set_user(::geteuid(), ::getegid(), own_groups_);
  throw Error(NC_EPERM, "the matcher cannot act as user " + std::to_string(rights->user));
}

ActingAs::~ActingAs() {
  if (is_acting_) set_user(::geteuid(), ::getegid(), own_groups_);
}

SharedFile reopened_for(const UserRights* rights, const FileDescriptor& file, std::uint32_t flags) {
  const ActingAs user(rights);
  return reopened(file, flags);
}

SharedFile for_reader(const UserRights* rights, const SharedFile& file) {
  return rights == nullptr ? for_reader(file) : reopened_for(rights, *file, O_RDONLY);
}

FileDescriptor open_as(const UserRights* rights, const std::string& path, int flags) {
  const ActingAs user(rights);
  return FileDescriptor(::open(path.c_str(), flags | O_CLOEXEC));
}

void remove_as(const UserRights* rights, const std::string& path) {
  const ActingAs user(rights);
  (void)::unlink(path.c_str());
}

void note_user(const UserRights* rights, struct stat& facts) noexcept {
  facts.st_uid = rights == nullptr ? ::geteuid() : rights->user;
  facts.st_gid = rights == nullptr ? ::getegid() : rights->group;
}

void UserRights::expect_may_change(const std::string& path, uid_t owner) const {
  const std::string directory = path.substr(0, path.rfind('/') + 1);
  const ActingAs acting(this);
  struct stat facts {};
  if (::faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) != 0 ||
      ::stat(directory.c_str(), &facts) != 0)
    refuse(errno, path);
  const bool is_sticky = (facts.st_mode & S_ISVTX) != 0 && owner != no_user;
  if (is_sticky && user != facts.st_uid && user != owner)
    throw IoError(NC_EACCESS, EPERM, path, "change the name of");
}

}  // namespace sluice::runtime
