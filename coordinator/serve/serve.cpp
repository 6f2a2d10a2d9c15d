#include "serve.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "format.hpp"
#include "live_run.hpp"
#include "sluice/formats/error.hpp"
#include "sluice/runtime/session.hpp"
#include "web_server.hpp"

namespace sluice::coordinator {
namespace {

using runtime::FileDescriptor;

/// 128 bits that nobody can guess.
std::string new_token() {
  constexpr std::size_t digits = 32;
  std::array<char, digits + 1> token{};
  std::snprintf(token.data(), token.size(), "%016" PRIx64 "%016" PRIx64, runtime::random_number(),
                runtime::random_number());
  return token.data();
}

void listen_at(const FileDescriptor& listening, const sockaddr* address, socklen_t bytes,
               const std::string& name) {
  constexpr int backlog = 64;
  if (!listening || ::bind(listening.number(), address, bytes) != 0 ||
      ::listen(listening.number(), backlog) != 0)
    throw IoError(NC_EACCESS, errno, name, "listen at");
}

/// `port` becomes the one that was found.
FileDescriptor listen_on_loopback(std::uint16_t& port) {
  FileDescriptor listening(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  (void)::setsockopt(listening.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  socklen_t bytes = sizeof address;
  listen_at(listening, reinterpret_cast<const sockaddr*>(&address), bytes, "port " + std::to_string(port));
  (void)::getsockname(listening.number(), reinterpret_cast<sockaddr*>(&address), &bytes);
  port = ntohs(address.sin_port);
  return listening;
}

FileDescriptor listen_at_socket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    throw Error(NC_EINVAL, path + " is too long for a socket: name one in /tmp");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  FileDescriptor listening(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  constexpr mode_t only_mine = 0177;
  const mode_t usual = ::umask(only_mine);
  try {
    listen_at(listening, reinterpret_cast<const sockaddr*>(&address), sizeof address, path);
  } catch (...) {
    ::umask(usual);
    throw;
  }
  ::umask(usual);
  return listening;
}

std::string own_login() {
  const passwd* const entry = ::getpwuid(::geteuid());
  return std::string(entry != nullptr ? entry->pw_name : "USER") + "@" + host_name();
}

void print_address(const RunRecord& run, const ServeOptions& options, const std::string& token) {
  constexpr std::uint16_t usual_port = 8800;
  const bool is_local = options.socket.empty();
  const std::string port = std::to_string(is_local ? options.port : usual_port);
  const std::string target =
      is_local ? "127.0.0.1:" + port : std::filesystem::absolute(options.socket).string();
  std::cout << (is_local ? "" : "through the tunnel below: ") << "http://127.0.0.1:" << port << "/" << token
            << "/\n"
            << "from another machine, first: ssh -L " << port << ":" << target << " " << own_login() << "\n"
            << "Whoever has this address can read the fields of " << run.name << "; ^C ends it.\n"
            << std::flush;
}

}  // namespace

void serve_run(const RunRecord& run, const ServeOptions& options) {
  ServeOptions found = options;
  FileDescriptor listening =
      found.socket.empty() ? listen_on_loopback(found.port) : listen_at_socket(found.socket);
  LiveRun live(run);
  const auto end = [&](int signal) {
    if (!found.socket.empty()) ::unlink(found.socket.c_str());
    std::signal(signal, SIG_DFL);
    ::raise(signal);  // whatever the other thread waits for
  };
  const WebSite site{new_token(), [&](const WebRequest& request) { return live.answer(request); },
                     [&] { return live.news(); }, end};
  print_address(run, found, site.token);
  serve_site(std::move(listening), site);
}

}  // namespace sluice::coordinator
