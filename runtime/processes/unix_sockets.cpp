#include "unix_sockets.hpp"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <span>

#include "sluice/storage/file_descriptor.hpp"

namespace sluice::runtime {

namespace {

using storage::FileDescriptor;

/// sock_diag(7): what is asked for one socket.
struct Question {
  nlmsghdr head{};
  unix_diag_req body{};
};

/// The number of bytes of the answer; 0: none has come.
std::size_t ask_kernel(std::uint32_t socket, std::span<char> answer) {
  const FileDescriptor line(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!line) return 0;
  Question question;
  question.head = {sizeof question, SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 0, 0};
  question.body.sdiag_family = AF_UNIX;
  question.body.udiag_states = ~0U;
  question.body.udiag_ino = socket;
  question.body.udiag_show = UDIAG_SHOW_PEER;
  question.body.udiag_cookie[0] = question.body.udiag_cookie[1] = ~0U;  // any
  const auto sent = ::send(line.number(), &question, sizeof question, 0);
  if (sent != static_cast<ssize_t>(sizeof question)) return 0;
  const auto received = ::recv(line.number(), answer.data(), answer.size(), MSG_DONTWAIT);  // it is there
  return received < 0 ? 0 : static_cast<std::size_t>(received);
}

}  // namespace

/// A socket for datagrams that is connected takes them from the other end alone.
std::optional<std::uint32_t> other_end_of(std::uint32_t socket) {
  alignas(nlmsghdr) std::array<char, 1024> answer{};
  const std::size_t bytes = ask_kernel(socket, answer);
  const auto* const head = reinterpret_cast<const nlmsghdr*>(answer.data());
  if (!NLMSG_OK(head, bytes) || head->nlmsg_type != SOCK_DIAG_BY_FAMILY) return std::nullopt;
  const auto* const facts = static_cast<const unix_diag_msg*>(NLMSG_DATA(head));
  if (facts->udiag_ino != socket || facts->udiag_state == TCP_LISTEN) return std::nullopt;
  std::optional<std::uint32_t> other;
  auto left = static_cast<unsigned>(NLMSG_PAYLOAD(head, sizeof *facts));
  for (const auto* fact = reinterpret_cast<const rtattr*>(facts + 1); RTA_OK(fact, left);
       fact = RTA_NEXT(fact, left)) {
    if (fact->rta_type != UNIX_DIAG_PEER || RTA_PAYLOAD(fact) < sizeof(std::uint32_t)) continue;
    std::memcpy(&other.emplace(), RTA_DATA(fact), sizeof(std::uint32_t));
  }
  return other;
}

bool has_time_limit(pid_t process, int socket) {
  const FileDescriptor of_process(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  if (!of_process) return true;
  const FileDescriptor copy(static_cast<int>(::syscall(SYS_pidfd_getfd, of_process.number(), socket, 0)));
  if (!copy) return true;
  for (const int direction : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    timeval limit{};
    socklen_t size = sizeof limit;
    if (::getsockopt(copy.number(), SOL_SOCKET, direction, &limit, &size) != 0) return true;
    if (limit.tv_sec != 0 || limit.tv_usec != 0) return true;
  }
  return false;
}

}  // namespace sluice::runtime
