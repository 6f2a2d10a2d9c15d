#include "doorbell.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "sluice/formats/error.hpp"

namespace sluice::runtime {

namespace {

sockaddr_un address_of(const std::string& path) noexcept {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof address.sun_path - 1));
  return address;
}

}  // namespace

Doorbell::Doorbell(std::string own, std::vector<std::string> paths)
    : own_(std::move(own)),
      paths_(std::move(paths)),
      socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  const sockaddr_un address = address_of(own_);
  if (own_.size() >= sizeof address.sun_path) throw IoError(NC_EIO, ENAMETOOLONG, own_, "listen at");
  if (!socket_ || ::bind(socket_.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    throw IoError(NC_EIO, errno, own_, "listen at");
}

Doorbell::~Doorbell() {
  ::unlink(own_.c_str());
}

void Doorbell::quiet() const noexcept {
  char rings[64];
  while (::recv(socket_.number(), rings, sizeof rings, MSG_DONTWAIT) > 0) continue;
}

void Doorbell::ring(std::uint32_t rank) const noexcept {
  if (rank >= paths_.size() || paths_[rank].empty()) return;
  const sockaddr_un address = address_of(paths_[rank]);
  const char ring = 1;
  (void)::sendto(socket_.number(), &ring, sizeof ring, MSG_DONTWAIT | MSG_NOSIGNAL,
                 reinterpret_cast<const sockaddr*>(&address), sizeof address);
}

}  // namespace sluice::runtime
