#include "sluice/runtime/huge_page_files.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "segment_file.hpp"
#include "sluice/matcher/segment_pool.hpp"
#include "sluice/runtime/packet_socket.hpp"
#include "sluice/runtime/segment.hpp"

namespace sluice::runtime {

using matcher::huge_page_bytes;

namespace {

/// The tmpfs has no limit of its own: `staging.memory` is the limit.
FileDescriptor mount_tmpfs() noexcept {
  const FileDescriptor context(::fsopen("tmpfs", FSOPEN_CLOEXEC));
  if (!context) return {};
  struct Option {
    const char* name;
    const char* value;
  };
  constexpr std::array<Option, 4> options{
      {{"huge", "within_size"}, {"size", "0"}, {"nr_inodes", "0"}, {"mode", "0700"}}};
  for (const auto& [name, value] : options) {
    if (::fsconfig(context.number(), FSCONFIG_SET_STRING, name, value, 0) != 0) return {};
  }
  if (::fsconfig(context.number(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) return {};
  constexpr unsigned attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;
  return FileDescriptor(::fsmount(context.number(), FSMOUNT_CLOEXEC, attributes));
}

bool write_file(const char* path, std::string_view text) noexcept {
  const FileDescriptor file(::open(path, O_WRONLY | O_CLOEXEC));
  return file && ::write(file.number(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

/// Makes this process root of a user namespace that contains only this user: files belong to the same user
/// inside and outside.
bool enter_own_namespace() {
  const auto same = [](unsigned id) { return std::to_string(id) + ' ' + std::to_string(id) + " 1\n"; };
  const std::string users = same(::geteuid());
  const std::string groups = same(::getegid());
  return ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && write_file("/proc/self/setgroups", "deny") &&
         write_file("/proc/self/uid_map", users) && write_file("/proc/self/gid_map", groups);
}

/// Uses a child, because a process stays in the namespace that it has entered.
FileDescriptor mount_in_namespace() {
  const SocketPair line = connected_pair();
  const pid_t child = ::fork();
  if (child < 0) return {};
  if (child == 0) {
    try {
      if (enter_own_namespace()) {
        if (const FileDescriptor root = mount_tmpfs())
          line.second.send(OutgoingMessage(MessageType::segment, 0, {}, std::array{root.number()}));
      }
    } catch (const std::exception&) {
      // Nothing was sent: this is the answer, too.
    }
    ::_exit(0);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  ReceivedMessage message;
  const bool is_there = line.first.try_receive(message) == PacketSocket::Outcome::received;
  return is_there && message.descriptors.size() == 1 ? std::move(message.descriptors[0]) : FileDescriptor();
}

}  // namespace

std::optional<HugePageFiles> HugePageFiles::make() noexcept {
  try {
    FileDescriptor root = mount_tmpfs();
    if (!root) root = mount_in_namespace();
    if (!root) return std::nullopt;
    HugePageFiles files(std::move(root));
    if (files.has_huge_pages()) return files;
  } catch (const std::exception&) {
    // Continue without huge pages.
  }
  return std::nullopt;
}

FileDescriptor HugePageFiles::create(std::uint64_t bytes) const {
  FileDescriptor file(::openat(root_.number(), ".", O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600));
  if (!file) fail_segment("create a file with huge pages for");
  set_segment_size(file, bytes);
  return file;
}

/// Tests with one byte: touching it takes a whole huge page.
bool HugePageFiles::has_huge_pages() const {
  const FileDescriptor file = create(huge_page_bytes);
  const Mapping mapping(file, {huge_page_bytes}, Mapping::Access::read_write);
  mapping.writable()[0] = std::byte{1};
  struct stat facts {};
  constexpr std::uint64_t block_bytes = 512;
  return ::fstat(file.number(), &facts) == 0 &&
         static_cast<std::uint64_t>(facts.st_blocks) * block_bytes >= huge_page_bytes;
}

}  // namespace sluice::runtime
